/* SPDX-License-Identifier: GPL-2.0-only */
/* Latency over time: a coarse histogram for each stretch of time, bounded in size however long a run is. */
#ifndef REPORT_HEAT_H
#define REPORT_HEAT_H

#include "core/hist.h"

#define HEAT_COLUMNS_MAX 1200
#define HEAT_SCALE_MAX 3	/* 8 cells an octave: a tenth of their height is no longer seen */

struct heat {
	u32 scale;
	u32 columns_max;
	u32 per_column;		/* intervals a column: 1, doubled whenever more than columns_max are needed */
	u32 n;			/* columns; the last one may not have all its intervals yet */
	u32 room;
	u64 *cells;		/* [column][BLKLAT_CELLS(scale)] */
};

/*
 * An empty one for histograms of @scale: theirs, or HEAT_SCALE_MAX if they are finer. It will have up to @columns_max,
 * at least 2.
 */
void heat_init(struct heat *h, u32 scale, u32 columns_max);

/* What a column takes. */
u64 heat_column_bytes(u32 scale);

void heat_uninit(struct heat *h);

/*
 * Makes the columns up to the one of @interval, which only grows from call to call. Returns 0, or
 * -ENOMEM and the heat is as it was.
 */
int heat_reach(struct heat *h, u32 interval);

/* Adds IOs of @interval, which has been reached. */
void heat_add(struct heat *h, u32 interval, const struct hist *ios);

/* A column as a histogram; the cells remain the heat's. */
struct hist heat_column(const struct heat *h, u32 column);

#endif
