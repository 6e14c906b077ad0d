/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the live page, /api, /healthz and /readyz show: the last interval, those of the last minutes, and the state of
 * the capture: each interval is made JSON once, for all readers of streams, and a snapshot only if it is
 * asked for.
 */
#ifndef SERVICE_FEED_H
#define SERVICE_FEED_H

#include "core/sink.h"
#include "util/blob.h"

/* The most memory that kept intervals may take, however long they should be kept. */
#define FEED_BYTES_MAX (32u << 20)

#define FEED_WORDS 256

struct feed_config {
	double interval_s;		/* how often an interval should come */
	double history_s;		/* for how long they are kept */
	bool bins;			/* /api/snapshot has every bin, as with --bins */
};

/* To be read by the server: */
struct feed {
	struct feed_config cfg;
	char boot[24];			/* distinguishes this process's numbers from another's */
	struct blob *run;		/* the first event of a stream, for the intervals from now on; NULL: none yet */
	u64 runs;			/* so many so far */
	u64 first, next;		/* numbers of the oldest kept and of the next interval, from 1 on */
	/* its own: */
	struct blob *snapshot;		/* of the last interval; NULL: not asked for yet */
	const struct frames *frames;	/* the last interval; NULL: none, or it is detached */
	const struct run_info *info;	/* the run that it follows */
	bool told;			/* it was described */
	u64 skipped;			/* the highest unexplained number so far */
	struct health_tally skips;	/* skipped program runs beside the IOs of all watches */
	u64 start_mono_ns;
	s64 start_wall_ns;
	struct kept *kept;		/* a ring: interval number i at i & (room - 1) */
	u64 room;
	size_t bytes;
	u64 last_ns;			/* when the last interval came, or the capture began */
	u64 loss_ns;			/* 0: none */
	char loss[FEED_WORDS];		/* a notable share of the IOs was lost, or may be: a sentence */
	char stop[FEED_WORDS / 2];	/* "": it goes on */
};

/* Returns 0 or -ENOMEM. */
int feed_init(struct feed *f, const struct feed_config *cfg);
void feed_uninit(struct feed *f);	/* takes a struct that is all 0 */

/*
 * A run has begun, or its devices have changed: to be called before its next interval, which describes it. @run stays
 * there until the next call. Then an interval; without memory it is not kept.
 */
void feed_begin(struct feed *f, const struct run_info *run);
void feed_add(struct feed *f, const struct frames *fs);

/* There will be no more intervals. @why is copied. */
void feed_stop(struct feed *f, const char *why);

/*
 * The event of interval *@number, or the first one kept after it; *@number is then set to that one's
 * number. NULL if there is none yet. Borrowed.
 */
struct blob *feed_event(const struct feed *f, u64 *number);

/* The last interval, as /api/snapshot shows it. Borrowed. NULL: there was none, or there is no memory. */
struct blob *feed_snapshot(struct feed *f);

/* To be called before the frames of the last interval go, or its run. */
void feed_detach(struct feed *f);

/* Is the capture on time, and with @losses complete? If not, @why says what is wrong. */
bool feed_well(const struct feed *f, bool losses, char why[FEED_WORDS]);

#endif
