/* SPDX-License-Identifier: GPL-2.0-only */
/* A run's figures for one op of one watch, interval by interval. Pure. */
#ifndef REPORT_SERIES_RUN_H
#define REPORT_SERIES_RUN_H

#include "core/frame.h"
#include "core/hist.h"
#include "util/budget.h"

/*
 * Latency over time: a coarse histogram for each stretch of time. Its size is bounded, however long the run is. The
 * page makes the distribution and percentiles of any window of them.
 */

#define HEAT_COLUMNS_MAX 600
#define HEAT_SCALE_MAX 4	/* 16 cells per octave, 4.4 % wide */

struct heat {
	u32 scale;
	u32 columns_max;
	u32 per_column;		/* intervals per column: 1, doubled whenever columns_max would be exceeded */
	u32 n;			/* columns; the last one may not have all its intervals yet */
	u32 room;
	u64 *cells;		/* [column][BLKLAT_CELLS(scale)] */
};

/*
 * Makes an empty one for histograms of @scale; its own scale is at most HEAT_SCALE_MAX. It will have up
 * to @columns_max columns, which must be at least 2.
 */
void heat_init(struct heat *h, u32 scale, u32 columns_max);

/* The memory that a column takes. */
u64 heat_column_bytes(u32 scale);

void heat_uninit(struct heat *h);

/*
 * Makes columns up to that of @interval, which must not decrease from call to call, and adds its IOs; NULL: none.
 * Returns 0, -E2BIG or -ENOMEM.
 */
int heat_add(struct heat *h, u32 interval, const struct hist *ios, struct budget *b);

/* A column as a histogram; its cells belong to the heat. */
struct hist heat_column(const struct heat *h, u32 column);

/* --- a run's percentiles interval by interval, of whatever IOs they are given --- */

/* The percentiles of each interval: p50 p90 p99 p99.9; those of the whole run have also p95 p99.99 p99.999. */
extern const struct percentiles run_over_time;
extern const struct percentiles run_of_total;
#define RUN_P50 0	/* the median's place in both */
#define PERCENTILES_OVER_TIME 4
#define RUN_P90 1	/* its place in run_over_time */
#define RUN_P99 2	/* its place in run_over_time */

struct percentiles_run {
	double *ns;		/* [interval * run_over_time.n + i]; negative without IO. NULL: not begun */
};

/* Makes room for @room intervals instead of @had. Returns 0, -E2BIG or -ENOMEM. */
int percentiles_run_grow(struct percentiles_run *p, u32 had, u32 room, struct budget *b);
void percentiles_run_uninit(struct percentiles_run *p);

/* Makes the first @n intervals ones without IO. */
void percentiles_run_clear(struct percentiles_run *p, u32 n);

/* Sets interval @i, for which there must be room. @o is NULL or has no IO if there was none. */
void percentiles_run_put(struct percentiles_run *p, u32 i, const struct op_frame *o);

/* Percentile @which of run_over_time in interval @i; negative if there was no IO. */
double percentiles_run_ns(const struct percentiles_run *p, u32 i, u32 which);

/* One op of one watch. Arrays have an element for each interval. They are NULL as long as the op had no IO. */
struct series_run {
	u64 *ios;
	u64 *bytes;
	u64 *errors;
	u64 *sum_ns;
	u64 *min_ns;			/* extremes: meaningless where ios is 0 */
	u64 *max_ns;
	struct percentiles_run percentiles;
	struct heat heat;
	const struct op_frame *total;	/* part of the watch's total; its ios is 0 if there was no IO */
};

/* These return 0, -E2BIG or -ENOMEM. The series must be uninitialized in any case. */

/* Begins a series at its first IO: the @n intervals before are empty, and there is room for @room. */
int series_run_begin(struct series_run *s, u32 n, u32 room, struct budget *b);

/* Makes room for @room intervals instead of @had. */
int series_run_grow(struct series_run *s, u32 had, u32 room, struct budget *b);

/* Sets interval @i, for which there must be room; in the heat too. @o is NULL if there is no frame. */
int series_run_put(struct series_run *s, u32 i, const struct op_frame *o, struct budget *b);

void series_run_uninit(struct series_run *s);

/* --- a run's slow IOs, as charts and tables need them --- */

#define SLOW_RUN_MOST 5000	/* of all wholes together; a page with this many dots is still fast */
#define SLOW_RUN_LEAST 10	/* of each whole, however many there are */

/* How many slow IOs a run keeps of each whole. */
u32 slow_run_most(u32 n_wholes);

/*
 * Adds an interval's slow IOs: those that failed and the slowest are kept. In @to, an IO's told.end_ns is in ns since
 * the run's start, at @start_mono_ns. Returns 0, or -ENOMEM (some are then only counted).
 */
int slow_run_add(struct slow_ios *to, const struct frames *interval, u64 start_mono_ns);

/* The most memory that @s takes. */
u64 slow_run_bytes(const struct slow_ios *s);

/*
 * Merges all ops of a run's @total, also their rates, with the percentiles run_of_total. Returns 0 or
 * -ENOMEM; free with merged_uninit().
 */
int merged_make(const struct frame *total, struct op_frame *ret);

#endif
