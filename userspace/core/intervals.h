/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture, interval by interval: its counts at the end of the last two, and the frames between them. */
#ifndef CORE_INTERVALS_H
#define CORE_INTERVALS_H

#include "core/capture.h"
#include "core/frame.h"
#include "core/slow.h"

/* --- the latency from which an IO is slow: a given time, or a percentile of recent IOs --- */

#define SLOW_INTERVALS 10
#define SLOW_SCALE 4		/* of the histograms for the percentile, which is thus right to 2.2 % */

struct slow_limits {
	struct slow_wanted wanted;
	u64 *from_ns;			/* [watch][op], of wholes; UINT64_MAX: no IO is slow */
	/* If decided by percentile, the last intervals: */
	u32 turn, scale;
	struct slow_past {
		struct hist hist;
		u64 max_ns;
	} *past;			/* [watch][op][interval]; only wholes use theirs */
	struct hist sum;
	u64 *cells;
};

/* Makes room for @room watches. Returns 0 or -ENOMEM. Call slow_limits_uninit() in both cases; it works on all 0. */
int slow_limits_init(struct slow_limits *l, const struct slow_wanted *wanted, u32 room, u32 scale);
void slow_limits_uninit(struct slow_limits *l);

/* Starts the @n watches from @first on, without a past. */
void slow_limits_enter(struct slow_limits *l, u32 first, u32 n);

/*
 * Called after each interval. By percentile, the limit of an op of a device and stage is the latency that this share
 * of its IOs of the last SLOW_INTERVALS intervals did not exceed. There is no limit until it has had an IO.
 */
void slow_limits_follow(struct slow_limits *l, const struct frames *interval);

/* What a watch had counted in the replaced capture, less what this one had counted by then. Modulo 2^64. */
struct past {
	u64 started, kernel_ios, accounts[BLKLAT_ACCOUNTS], ios[BLKLAT_OPS];
};

struct intervals {
	struct capture *capture;	/* borrowed */
	struct past *past;		/* [watch]; NULL: it replaces none */
	u64 past_skipped;
	struct snapshot snapshots[2];
	u32 now;			/* index of the newer one */
	struct slow_limits slow;	/* all 0 if slow IOs are not wanted */
	struct frames frames;		/* of the interval that intervals_next() ended last */
	u32 numbers;			/* of watches that have been given, see struct frame */
};

/*
 * Nothing is read yet: a live capture has counted from 0 since it was opened, and the first interval begins there.
 * Returns 0 or -ENOMEM. Call intervals_uninit() in both cases.
 */
int intervals_init(struct intervals *in, struct capture *c);
void intervals_uninit(struct intervals *in);	/* also if all is 0 */

/* Starts the capture's @n watches from @first on, as live_ops.add has them: at 0, now, with new numbers. */
void intervals_enter(struct intervals *in, u32 first, u32 n);

/*
 * Called after intervals_init() if the capture replaces that of @from: watches with a device, stage and part that
 * @from has, too, get the same numbers. From now on @from gives no new numbers.
 */
void intervals_continue(struct intervals *in, const struct intervals *from);

/* Reads and discards what was counted so far: the next interval begins here. Returns the engine's result. */
int intervals_begin(struct intervals *in, struct problem *p);

/*
 * The same in place of @from, which has just been read; after intervals_continue(). The accounts of watches whose
 * number @from has, too, go on from there. IOs in flight there, but not here, are counted as lost (overwritten).
 * Returns the engine's result or -ENOMEM.
 */
int intervals_replace(struct intervals *in, const struct intervals *from, struct problem *p);

/*
 * Reads, and makes the frames of the interval that ends here. Returns the engine's result; after an error the
 * interval goes on.
 */
int intervals_next(struct intervals *in, const struct percentiles *ps, struct problem *p);

/* The time of the last read, or of intervals_init() if there was none (CLOCK_MONOTONIC). */
static inline u64 intervals_read_ns(const struct intervals *in)
{
	return in->snapshots[in->now].mono_ns;
}

/* The first deadline after the last read, on the grid since the start. A read is always slightly later than its own. */
static inline u64 intervals_deadline_ns(u64 start_ns, u64 read_ns, double interval_s)
{
	u64 interval_ns = interval_s * NSEC_PER_SEC;

	return start_ns + ((read_ns - start_ns) / interval_ns + 1) * interval_ns;
}

#endif
