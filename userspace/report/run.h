/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole run, as charts and findings need it, made from its frames interval by interval. It owns
 * copies of everything it refers to, so the capture can be closed once the run is finished. Pure.
 */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "core/frame.h"
#include "core/origin.h"
#include "core/sink.h"
#include "report/active.h"
#include "report/phases.h"
#include "report/series_run.h"

/* The part of a run that the user asked for, in seconds since its start. */
struct asked_window {
	bool from, to;			/* whether these bounds are given */
	double from_s, to_s;
};

/* What of the frames becomes a run. */
struct collect_how {
	struct asked_window asked;	/* the run only has the intervals in here */
	/*
	 * Up to this many consecutive intervals become one of the run's; 0, 1: none are merged. A merged interval has
	 * the sum of the counts and bins, and the IOs in flight of its end. Intervals are not merged across a mark,
	 * unless a single interval contained it; nor across a gap, nor when a device goes. So all totals, and the
	 * contents of each phase, are the same for any value.
	 */
	u32 merged;
};

/* In seconds since the run's start. */
struct stall {
	double from_s, to_s;
};

/* A watch in a run. As in core/snapshot.h, it is followed by its parts. */
struct watch_run {
	const struct watch *watch;	/* the run's copy */
	/*
	 * All intervals together: merged bins, sums, extremes, and the percentiles run_of_total. The accounting is that
	 * at the end, since the capture began. interval_s is the time for which the watch was there. Rates (IOPS, bytes
	 * per second, queue depth) are over the run's active window.
	 */
	const struct frame *total;
	struct accounting account;	/* only for the window asked for; all 0 for a part */
	struct series_run ops[BLKLAT_OPS];
	struct percentiles_run all_ops;	/* an owner's, of the merged bins of all of its ops; else not begun */
	/* [interval], like the next four; 0 before the device came and once it is gone */
	double *queue_depth;
	double *busy;
	u64 *in_flight;
	u64 *oldest_ns;
	/* [n_halts] when IOs were in flight and none ended, as the looks between the reads have it */
	struct stall *halts;
	u32 n_halts, halts_room;
	u64 *lost;			/* cumulative in the window asked for; kept once the device is gone; part: 0 */
	u32 first_there, n_there;	/* the interval in which it came, and intervals until it was gone */
	bool gone;
};

/*
 * A series takes some bytes for each interval, and a heat. The memory of all heats is bounded: the more
 * wholes, or parts, there are, the fewer columns each heat has.
 */
struct run {
	struct origin origin;		/* texts "" where unknown */
	struct device_table devices;
	char *engine;
	u32 scale;
	double interval_s;		/* as recorded; times merged, the length of most of the run's */
	u32 merged;			/* 1: not merged */
	bool glanced;			/* as in struct capture */
	u32 n;				/* intervals */
	double *start_s;		/* since origin.start_mono_ns if that is known, else since the first interval */
	double *length_s;		/* > 0 */
	double duration_s;		/* sum of the lengths */
	u32 n_watches;
	struct watch_run *watches;
	struct phases phases;
	struct slow_ios slow;		/* see slow_run_add(); most is 0 if none were looked for */
	u64 skipped_unexplained;	/* over the same time as account of the watches; see struct frames */
	struct asked_window asked;	/* the run has only intervals in this window */
	struct active_window active;	/* known once it is finished */

	/* Private. */
	const struct watch *given;
	const struct frame **frames;	/* [watch], of the interval being added; NULL: none */
	struct watch *copies;
	struct frames total;
	bool left_out;			/* intervals before the window asked for; at the end of the last one: */
	struct accounting *before;	/* [watch] */
	u64 skipped_before;
	struct budget budget;		/* what it takes, including room for more intervals */
	double seen_s;			/* end of the last interval placed, whether it was taken or not */
	u32 n_wholes;
	struct op_frame scratch;	/* for all ops of a frame */
	u32 room;
};

/* Where an interval lies on the run's axis. */
struct run_span {
	double start_s, length_s;
};

/*
 * Begins an empty run of frames as @from says, which is borrowed until run_finish(). @r is all 0,
 * but for what the run may take (budget). Returns 0 or -ENOMEM.
 */
int run_init(struct run *r, const struct run_info *from, const struct collect_how *how);

/*
 * Finds where the next interval lies. Returns false if it must not be added: it has no length, or its
 * middle lies outside of the window asked for. Must be called for each interval, in order.
 */
bool run_place(struct run *r, const struct frames *interval, struct run_span *ret);

/*
 * Adds an interval. Its frames may leave out watches whose device is gone. Returns 0; or -ENOMEM or -E2BIG (it would
 * take more than its budget). Then the run has the intervals before, and is good for nothing but run_uninit().
 */
int run_add_at(struct run *r, const struct run_span *where, const struct frames *interval);

/* Adds an interval's halts. Returns 0 or -ENOMEM. */
int run_add_halts(struct run *r, const struct run_span *where, const struct frames *interval);

/* Adds an interval's slow IOs, by the time of their ends. Returns the same. */
int run_add_slow(struct run *r, const struct frames *interval);

/*
 * To be called after the last interval: computes the active window, and percentiles and rates of the
 * totals. Afterwards the source is no longer needed.
 */
void run_finish(struct run *r);

/* @r may be all 0. */
void run_uninit(struct run *r);

#define RUN_NAME 128

/*
 * What run @i of @n is called among them: its label, its file or the end of its path, the first that no other has;
 * else "run 2".
 */
void run_name(const struct run *runs, u32 n, u32 i, char *ret, size_t size);

/* For each whole @w of a run. */
#define run_for_each_whole(w, r) \
	for (const struct watch_run *w = (r)->watches; w < (r)->watches + (r)->n_watches; w++) \
		if (w->watch->part) {} else

/* How many watches behind whole @i are parts of it. */
u32 run_parts(const struct run *r, u32 i);

/* The IOs of all ops; and of them those in interval @i. */
u64 watch_run_ios(const struct watch_run *w);
u64 watch_run_ios_in(const struct watch_run *w, u32 i);

/* When interval @i ends; and when the run ends (0 if it has no interval). */
double run_end_of(const struct run *r, u32 i);
double run_end(const struct run *r);

/* IOs per second in interval @i; @ios is an array of a series, or NULL: 0. */
double run_iops(const struct run *r, const u64 *ios, u32 i);

/* Whether it is an owner's (--by cgroup or process). */
bool watch_run_is_owner(const struct watch_run *w);

/*
 * A sink that collects the frames into a run instead of writing them. If asked to, it merges several
 * intervals into one.
 */

/*
 * Begins @into, which has to be all 0. The sink's summary finishes it; the caller has to uninit it in
 * any case. Returns 0 or -ENOMEM; the sink's interval and summary may also return -E2BIG.
 */
int collect_open(const struct run_info *info, const struct collect_how *how, struct run *into, struct sink **ret);

#endif
