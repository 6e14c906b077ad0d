/* SPDX-License-Identifier: GPL-2.0-only */
/* A run's figures for one op of one watch, interval by interval. Pure. */
#ifndef REPORT_SERIES_RUN_H
#define REPORT_SERIES_RUN_H

#include "report/heat.h"
#include "report/percentiles_run.h"

/* One op of one watch. Arrays have an element for each interval. They are NULL as long as the op had no IO. */
struct series_run {
	u64 *ios;
	u64 *bytes;
	u64 *errors;
	u64 *sum_ns;
	u64 *min_ns;			/* extremes: meaningless where ios is 0 */
	u64 *max_ns;
	struct percentiles_run percentiles;
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
