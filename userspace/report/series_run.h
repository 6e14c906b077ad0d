/* SPDX-License-Identifier: GPL-2.0-only */
/* A run's figures for one op of one watch, interval by interval. Pure. */
#ifndef REPORT_SERIES_RUN_H
#define REPORT_SERIES_RUN_H

#include "core/frame.h"
#include "report/heat.h"

/* The percentiles of each interval: p50 p90 p99 p99.9; those of the whole run have also p95 p99.99 p99.999. */
extern const struct percentiles run_over_time;
extern const struct percentiles run_of_total;
#define RUN_P50 0	/* the median's place in both */

/* One op of one watch. Arrays have an element for each interval. They are NULL as long as the op had no IO. */
struct series_run {
	u64 *ios;
	u64 *bytes;
	u64 *errors;
	u64 *sum_ns;
	u64 *min_ns;			/* extremes: meaningless where ios is 0 */
	u64 *max_ns;
	double *percentile_ns;		/* [interval * run_over_time.n + i]; negative where ios is 0 */
	struct heat heat;		/* of a whole; empty in a part */
	const struct op_frame *total;	/* part of the watch's total; its ios is 0 if there was no IO */
};

/*
 * Begins a series at its first IO: the @n intervals before are empty, and there is room for @room.
 * Returns 0, or -ENOMEM and changes nothing.
 */
int series_run_begin(struct series_run *s, u32 n, u32 room);

/* Returns 0, or -ENOMEM and changes nothing. */
int series_run_grow(struct series_run *s, u32 room);
void series_run_uninit(struct series_run *s);

/*
 * Sets interval @i, for which there must be room; in the heat too, if the series has one. @o is NULL if
 * there is no frame.
 */
void series_run_put(struct series_run *s, u32 i, const struct op_frame *o, bool has_heat);

/* The bytes that an interval takes, without the heat. */
u64 series_run_bytes(void);

/* An interval's percentile @p of run_over_time; negative if there was no IO. */
double series_percentile(const struct series_run *s, u32 i, u32 p);

#endif
