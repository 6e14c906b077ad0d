/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many IOs took how long in each of the last intervals, for one op of one watch. It is coarse, as
 * it is only drawn: a count is kept as its logarithm in a byte, to 5 %, and a latency as one of six
 * steps a decade. So this takes TOP_SAMPLES * TOP_STEPS bytes, however many IOs there are. Pure.
 */
#ifndef LIVE_TOP_HEAT_H
#define LIVE_TOP_HEAT_H

#include "core/hist.h"

#define TOP_SAMPLES 240		/* intervals: four minutes at one a second */
#define TOP_DECADE 6		/* steps a decade */
#define TOP_FIRST 2		/* 10^2 ns; anything below counts in the first step */
#define TOP_DECADES 9		/* to 10^11 ns; anything above counts in the last step */
#define TOP_STEPS (TOP_DECADES * TOP_DECADE)

struct top_heat {
	u8 level[TOP_SAMPLES][TOP_STEPS];
};

/*
 * Tables made once for the run's scale: the step of each histogram cell, and the count that a level
 * stands for.
 */
struct top_scale {
	u8 step[BLKLAT_CELLS_MAX];
	double ios[256];
};

void top_scale_init(struct top_scale *s, u32 scale);

/* Stores @h as interval number @sample, counted from 0. */
void top_heat_put(struct top_heat *heat, const struct top_scale *s, u64 sample, const struct hist *h);

/* Stores an interval without IOs. */
void top_heat_put_none(struct top_heat *heat, u64 sample);

/* Adds the IOs of interval @sample to @ret, by step. */
void top_heat_add(const struct top_heat *heat, const struct top_scale *s, u64 sample, double ret[TOP_STEPS]);

/* The shade for @ios IOs if the maximum is @most: 0 for none, else 1 to @shades, logarithmic. */
u32 top_shade(double ios, double most, u32 shades);

#endif
