/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A whole run as charts and findings need it, made from its frames, one interval after the other.
 * Pure. It owns copies of all that it refers to, so the capture can be closed when it is finished.
 */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "core/frame.h"
#include "core/origin.h"
#include "report/heat.h"

/* Where the frames come from. Borrowed until run_finish(). */
struct run_source {
	const struct origin *origin;		/* NULL: nothing is known */
	const struct device_table *devices;	/* that the watches' devices are in; NULL: none known */
	const struct watch *watches;		/* that frames will point to */
	u32 n_watches;
	const char *engine;
	u32 scale;
	double interval_s;			/* as asked for */
	u64 max_bytes;				/* that the run may take; 0: any */
};

/* Percentiles that are kept: of each interval p50 p90 p99 p99.9; of the whole also p95 p99.99 p99.999. */
extern const struct percentiles run_over_time;
extern const struct percentiles run_of_total;

/*
 * One op of one watch. Arrays have an element for each interval, and are NULL while the op had no IO.
 */
struct series_run {
	u64 *ios;
	u64 *bytes;
	u64 *errors;
	u64 *sum_ns;
	u64 *min_ns;			/* extremes: meaningless where ios is 0 */
	u64 *max_ns;
	double *percentile_ns;		/* [interval * run_over_time.n + i]; negative where ios is 0 */
	struct heat heat;
	const struct op_frame *total;	/* in the watch's total; ios 0: there was no IO */
};

struct watch_run {
	const struct watch *watch;	/* the run's copy */
	/*
	 * All intervals: merged bins, sums, extremes, percentiles run_of_total. Its accounting is that of
	 * the end, interval_s the time that the watch was there.
	 */
	const struct frame *total;
	struct series_run ops[BLKLAT_OPS];
	double *queue_depth;		/* [interval], also the following; after the device is gone all are 0 */
	u64 *in_flight;
	u64 *oldest_ns;
	u64 *lost;			/* cumulative; stays when the device is gone */
	bool gone;
};

/*
 * A series takes some bytes an interval, and a heat that all of them together keep within bounds: the more there are, the
 * fewer columns each has.
 */
struct run {
	struct origin origin;		/* texts "" where unknown */
	struct device_table devices;
	char *engine;
	u32 scale;
	double interval_s;		/* as asked for */
	u32 n;				/* intervals */
	double *start_s;		/* since origin.start_mono_ns where that is known, else since the first */
	double *length_s;		/* > 0 */
	double duration_s;		/* sum of the lengths */
	u32 n_watches;
	struct watch_run *watches;
	u64 skipped_unexplained;	/* at the end, see struct frames */

	/* Private. */
	const struct watch *given;
	struct watch *copies;
	struct frames total;
	u64 max_bytes;
	bool full;			/* an interval was refused for it */
	u32 n_series;			/* that had an IO */
	u32 room;
};

/* Begins an empty run. Returns 0 or -ENOMEM. */
int run_init(struct run *r, const struct run_source *from);

/*
 * Adds an interval. Frames may leave out watches whose device is gone; an interval without length
 * is left out. Returns 0, or -ENOMEM, or -E2BIG (it would take more than it may), and the run is as it was.
 */
int run_add(struct run *r, const struct frames *interval);

/* After the last interval: the totals' percentiles. The source is no longer needed. */
void run_finish(struct run *r);

/* What its intervals take, and those that there is room for. */
u64 run_bytes(const struct run *r);

/* Takes one that is all 0. */
void run_uninit(struct run *r);

/* When @i ends; when the run does (0 if it has no interval). */
double run_end_of(const struct run *r, u32 i);
double run_end(const struct run *r);

/* IOs per second of @ios, an array of a series; 0 where the array is NULL. */
double run_iops(const struct run *r, const u64 *ios, u32 i);

/* An interval's percentile @p of run_over_time (0: p50); negative where there was no IO. */
double series_percentile(const struct series_run *s, u32 i, u32 p);

/* Adds the IOs of @from to @to, with their sums, extremes and bins. Rates and percentiles of @to are left alone. */
void op_frame_merge(struct op_frame *to, const struct op_frame *from);

/* When a mark was set, on the axis of start_s. */
double run_mark_s(const struct run *r, const struct mark *m);

#endif
