// SPDX-License-Identifier: GPL-2.0-only
#include "live/top_heat.h"

#include <math.h>
#include <string.h>

#define LEVELS_AN_OCTAVE 7	/* 255 of them reach 2^36 IOs */

static u32 step_of(double ns)
{
	double step = (log10(ns) - TOP_FIRST) * TOP_DECADE;

	return step < 0 ? 0 : step >= TOP_STEPS ? TOP_STEPS - 1 : step;
}

void top_scale_init(struct top_scale *s, u32 scale)
{
	u32 last = BLKLAT_CELLS(scale) - 1;

	s->step[0] = 0;
	for (u32 cell = 1; cell < last; cell++)
		s->step[cell] = step_of(sqrt((double)hist_lower_ns(scale, cell) * hist_upper_ns(scale, cell)));
	s->step[last] = TOP_STEPS - 1;
	for (u32 level = 0; level < ARRAY_SIZE(s->ios); level++)
		s->ios[level] = level ? exp2((level - 1.0) / LEVELS_AN_OCTAVE) : 0;
}

static u8 level_of(u64 ios)
{
	u32 level = ios ? 1 + lround(log2(ios) * LEVELS_AN_OCTAVE) : 0;

	return level < 255 ? level : 255;
}

void top_heat_put(struct top_heat *heat, const struct top_scale *s, u64 sample, const struct hist *h)
{
	u64 ios[TOP_STEPS] = { 0 };

	for (u32 octave = 0; octave <= BLKLAT_OCTAVE_BELOW; octave++) {
		u32 first, n = hist_octave(h->scale, octave, &first);

		if (h->octaves >> octave & 1)
			for (u32 cell = first; cell < first + n; cell++)
				ios[s->step[cell]] += h->cells[cell];
	}
	for (u32 step = 0; step < TOP_STEPS; step++)
		heat->level[sample % TOP_SAMPLES][step] = level_of(ios[step]);
}

void top_heat_put_none(struct top_heat *heat, u64 sample)
{
	memset(heat->level[sample % TOP_SAMPLES], 0, TOP_STEPS);
}

void top_heat_add(const struct top_heat *heat, const struct top_scale *s, u64 sample, double ret[TOP_STEPS])
{
	for (u32 step = 0; step < TOP_STEPS; step++)
		ret[step] += s->ios[heat->level[sample % TOP_SAMPLES][step]];
}

u32 top_shade(double ios, double most, u32 shades)
{
	double shade;

	if (ios <= 0)
		return 0;
	shade = most > 1 ? 1 + floor(log2(fmax(ios, 1)) / log2(most) * shades) : shades;
	return shade < shades ? shade : shades;
}
