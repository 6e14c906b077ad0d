/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the loop has to show and who serves it may read: the last interval, those of the last minutes, how
 * the capture does. The loop posts, once an interval; it is never kept waiting for more than a few pointers
 * to be copied, since readers take references and read without the lock. What was posted never changes.
 */
#ifndef SERVICE_BOARD_H
#define SERVICE_BOARD_H

#include "util/blob.h"

/* The most that the intervals kept may take, whatever the time they are kept for. */
#define BOARD_BYTES_MAX (32u << 20)

struct board;

/* Keeps intervals for @history_s. Returns 0 or a negative errno. */
int board_new(double history_s, struct board **ret);
void board_free(struct board *b);	/* takes NULL */

/* Readable when something was posted; for the one thread that serves. */
int board_fd(const struct board *b);

/* --- the loop's side ----------------------------------------------------------------------- */

/* The number that the next interval will have. They count from 1. */
u64 board_next(const struct board *b);

/*
 * An interval: @snapshot as /api/snapshot shows it and @event as /api/stream sends it; both taken over, and
 * either may be NULL (no memory: the ones before stay). @mono_ns is the time of its end.
 */
void board_post(struct board *b, struct blob *snapshot, struct blob *event, u64 mono_ns);

/* What is true of all intervals from now on: the devices and the rest of the stream's first event. Taken over. */
void board_post_run(struct board *b, struct blob *run);

/* An interval lost IOs, or may have: @what is a sentence on it, said for a while. It is copied. */
void board_post_loss(struct board *b, const char *what, u64 mono_ns);

/* No interval will follow. @why is copied. */
void board_post_stop(struct board *b, const char *why);

/* --- the readers' side --------------------------------------------------------------------- */

/* The caller's references; NULL before the first. */
struct blob *board_snapshot(struct board *b, u64 *ret_number);
struct blob *board_run(struct board *b, u64 *ret_number);

/*
 * The event of interval *@number, or the first one kept after it, whose number *@number then is. NULL when
 * there is none yet.
 */
struct blob *board_event(struct board *b, u64 *number);

/* The oldest and the newest that are kept; 0 and 0 when none is. */
void board_span(struct board *b, u64 *ret_first, u64 *ret_last);

#define BOARD_WORDS 256

/* Is all well? Else says why not. @interval_s: how often intervals should come. */
bool board_healthy(struct board *b, double interval_s, char why[BOARD_WORDS]);

#endif
