/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares what the loop publishes with the thread that serves: the last interval, those of the last minutes, and the
 * state of the capture. The loop posts once an interval. It never waits longer than it takes to copy a few pointers, as
 * readers take references and then read without the lock. What was posted never changes.
 */
#ifndef SERVICE_BOARD_H
#define SERVICE_BOARD_H

#include "util/blob.h"

/* The most memory that kept intervals may take, however long they should be kept. */
#define BOARD_BYTES_MAX (32u << 20)

struct board;

/* Keeps intervals for @history_s. Returns 0 or a negative errno. */
int board_new(double history_s, struct board **ret);
void board_free(struct board *b);	/* takes NULL */

/* Becomes readable when something was posted; for the only thread that serves. */
int board_fd(const struct board *b);

/* --- the loop's side ----------------------------------------------------------------------- */

/* The number of the next interval. Numbers begin at 1. */
u64 board_next(const struct board *b);

/*
 * Posts an interval: @snapshot as /api/snapshot shows it and @event as /api/stream sends it. Takes
 * ownership of both. Either may be NULL if there was no memory: the previous one then stays. @mono_ns
 * is the time at which the interval ended.
 */
void board_post(struct board *b, struct blob *snapshot, struct blob *event, u64 mono_ns);

/* Posts what holds for all intervals from now on: devices and the rest of the stream's first event. Takes ownership. */
void board_post_run(struct board *b, struct blob *run);

/* A notable share of the IOs was lost, or may be. @what is a sentence about it, which is shown for a while. It is copied. */
void board_post_loss(struct board *b, const char *what, u64 mono_ns);

/* There will be no more intervals. @why is copied. */
void board_post_stop(struct board *b, const char *why);

/* --- the readers' side --------------------------------------------------------------------- */

/* Return references that the caller owns; NULL before the first post. */
struct blob *board_snapshot(struct board *b, u64 *ret_number);
struct blob *board_run(struct board *b, u64 *ret_number);

/*
 * The event of interval *@number, or the first one kept after it; *@number is then set to that one's
 * number. NULL if there is none yet.
 */
struct blob *board_event(struct board *b, u64 *number);

/* The oldest and the newest number kept; both are 0 if none is. */
void board_span(struct board *b, u64 *ret_first, u64 *ret_last);

#define BOARD_WORDS 256

/* Is the capture on time, and with @losses complete? If not, @why says what is wrong. @interval_s: how often intervals should come. */
bool board_well(struct board *b, double interval_s, bool losses, char why[BOARD_WORDS]);

#endif
