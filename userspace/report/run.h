/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole run, as charts and findings need it, made from its frames interval by interval. It owns copies of all
 * that it refers to, so the capture can be closed once the run is finished. Pure.
 */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "core/frame.h"
#include "core/origin.h"
#include "report/phases.h"
#include "report/series_run.h"
#include "report/slow_run.h"

/* The part of a run that the user asked for, in seconds since its start. */
struct asked_window {
	bool from, to;			/* whether there is such a bound */
	double from_s, to_s;
};

/* Where the frames come from. Borrowed until run_finish(). */
struct run_source {
	const struct origin *origin;		/* NULL: unknown */
	const struct device_table *devices;	/* with the watches' devices; NULL: unknown */
	const struct watch *watches;		/* to which the frames will point */
	u32 n_watches;
	const char *engine;
	u32 scale;
	double interval_s;			/* as asked for */
	u64 max_bytes;				/* most memory that the run may take; 0: no limit */
	bool slow;				/* intervals have slow IOs */
	u32 merged;				/* how many of its intervals may be one of the run; 0, 1: none is merged */
	struct asked_window asked;
};

/* In a run's list, too, the parts of a watch follow it (core/watch.h). */
struct watch_run {
	const struct watch *watch;	/* the run's copy */
	/*
	 * All intervals together: merged bins, sums, extremes, and the percentiles run_of_total. The accounting is that
	 * of the end, since the capture began, and interval_s the time for which the watch was there. Rates (IOPS, bytes per second, queue depth) are over
	 * the run's active window.
	 */
	const struct frame *total;
	struct accounting account;	/* of what was asked for alone; all 0 of a part */
	struct series_run ops[BLKLAT_OPS];
	double *queue_depth;		/* [interval], as are the next three; 0 once the device is gone */
	u64 *in_flight;
	u64 *oldest_ns;
	u64 *lost;			/* cumulative, since what was asked for began; keeps its value once the device is gone; 0 in a part */
	u32 n_there;			/* intervals until it was gone */
	bool gone;
};

/* What a run's rates are over, see report/active.h. */
struct active_window {
	u32 first, n;			/* intervals; n is 0 if the run has none */
	double from_s, to_s;		/* where the first begins and the last ends */
	u32 left_out;			/* of its ends, how many intervals that held only part of the load */
};

/*
 * A series takes some bytes for each interval, and that of a whole a heat. All heats together are bounded: the more
 * wholes there are, the fewer columns each has.
 */
struct run {
	struct origin origin;		/* texts "" where unknown */
	struct device_table devices;
	char *engine;
	u32 scale;
	double interval_s;		/* as recorded; most of the run's are so many times as long: */
	u32 merged;			/* 1: as recorded */
	u32 n;				/* intervals */
	double *start_s;		/* since origin.start_mono_ns if that is known, else since the first interval */
	double *length_s;		/* > 0 */
	double duration_s;		/* sum of the lengths */
	u32 n_watches;
	struct watch_run *watches;
	struct phases phases;
	struct slow_ios slow;		/* see report/slow_run.h; most is 0 where none were looked for */
	u64 skipped_unexplained;	/* as is account of the watches; see struct frames */
	struct asked_window asked;	/* it has only intervals within this one */
	struct active_window active;	/* known once it is finished */

	/* Private. */
	const struct watch *given;
	const struct frame **frames;	/* [watch], of the interval that is being added; NULL: it has none */
	struct watch *copies;
	struct frames total;
	bool left_out;			/* something, before what was asked for; of the last interval of that: */
	struct accounting *before;	/* [watch] */
	u64 skipped_before;
	u64 max_bytes;
	bool full;			/* an interval was refused for it */
	double seen_s;			/* where the last interval ended that was placed, taken or not */
	u32 n_wholes;
	u32 n_series, n_heats;		/* of what had an IO */
	u32 heat_columns;		/* that each has at most */
	u32 room;
};

/* Where an interval lies, on the run's axis. */
struct run_span {
	double start_s, length_s;
};

/* Begins an empty run. Returns 0 or -ENOMEM. */
int run_init(struct run *r, const struct run_source *from);

/*
 * Where the next interval lies. False: it has no length, or its middle lies outside of what was asked for, and it is not to be
 * added. To be asked of each, in their order.
 */
bool run_place(struct run *r, const struct frames *interval, struct run_span *ret);

/*
 * Adds an interval. Frames may leave out watches whose device is gone. Returns 0; or -ENOMEM, or -E2BIG (it would take
 * more than max_bytes), and the run stays as it was.
 */
int run_add_at(struct run *r, const struct run_span *where, const struct frames *interval);

/* Both, in one. */
int run_add(struct run *r, const struct frames *interval);

/* The same of an interval's slow IOs, by when they ended. */
int run_add_slow(struct run *r, const struct frames *interval);

/* To be called after the last interval: computes the active window, the totals' percentiles and rates. The source is no longer needed. */
void run_finish(struct run *r);

/* The memory that it takes, with room for intervals to come. */
u64 run_bytes(const struct run *r);

/* @r may be all 0. */
void run_uninit(struct run *r);

/* How many watches behind whole @i are its parts. */
u32 run_parts(const struct run *r, u32 i);

/* IOs of all ops. */
u64 watch_run_ios(const struct watch_run *w);

/* When interval @i ends; when the run does (0 if it has no interval). */
double run_end_of(const struct run *r, u32 i);
double run_end(const struct run *r);

/* IOs per second in interval @i; @ios is an array of a series, or NULL: 0. */
double run_iops(const struct run *r, const u64 *ios, u32 i);

#endif
