/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Latency over time: a coarse histogram for each stretch of time. Its size is bounded, however long the
 * run is.
 */
#ifndef REPORT_HEAT_H
#define REPORT_HEAT_H

#include "core/hist.h"

#define HEAT_COLUMNS_MAX 1200
#define HEAT_SCALE_MAX 3	/* 8 cells per octave: smaller cells would not be visible */

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
 * Makes columns up to that of @interval, which must not decrease from call to call. Returns 0, or
 * -ENOMEM and leaves the heat as it was.
 */
int heat_reach(struct heat *h, u32 interval);

/* Adds IOs of @interval, which has been reached. */
void heat_add(struct heat *h, u32 interval, const struct hist *ios);

/* A column as a histogram; its cells belong to the heat. */
struct hist heat_column(const struct heat *h, u32 column);

#endif
