/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many IOs took how long in each of the last intervals, of one op of one watch: coarse, for a picture. A count is kept
 * as its logarithm in a byte, to 5 %, and a latency as one of six steps a decade, so this takes TOP_SAMPLES * TOP_STEPS bytes
 * however many IOs there are. Pure.
 */
#ifndef LIVE_TOP_HEAT_H
#define LIVE_TOP_HEAT_H

#include "core/hist.h"

#define TOP_SAMPLES 240		/* intervals: four minutes of seconds */
#define TOP_DECADE 6		/* steps a decade */
#define TOP_FIRST 2		/* 10^2 ns; what is below is in the first step */
#define TOP_DECADES 9		/* to 10^11 ns; what is above is in the last step */
#define TOP_STEPS (TOP_DECADES * TOP_DECADE)

struct top_heat {
	u8 level[TOP_SAMPLES][TOP_STEPS];
};

/* The step of each cell of a histogram: made once for the run's scale, as is what a level stands for. */
struct top_scale {
	u8 step[BLKLAT_CELLS_MAX];
	double ios[256];
};

void top_scale_init(struct top_scale *s, u32 scale);

/* Interval number @sample, counted from 0, was like @h. */
void top_heat_put(struct top_heat *heat, const struct top_scale *s, u64 sample, const struct hist *h);

/* In it there was no IO. */
void top_heat_put_none(struct top_heat *heat, u64 sample);

/* Adds to @ret the IOs of each step in interval @sample. */
void top_heat_add(const struct top_heat *heat, const struct top_scale *s, u64 sample, double ret[TOP_STEPS]);

/* How dark so many IOs are where @most is the most: 0 for none, else 1 to @shades, by their logarithm. */
u32 top_shade(double ios, double most, u32 shades);

#endif
