// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "util/units.h"

static const char *megabytes(char text[32], double value)
{
	return value < 0 ? "-" : units_number(text, value / 1e6);
}

static const char *number(char text[32], double value)
{
	return value < 0 ? "-" : units_number(text, value);
}

#define FIGURE(member) offsetof(struct op_frame, member)

const struct comparison_cell comparison_cells[] = {
	{ .name = "IOPS", .key = "iops", .offset = FIGURE(iops), .text = number, .is_rate = true },
	{ .name = "MB/s", .key = "bytes_per_s", .offset = FIGURE(bytes_per_s), .text = megabytes, .is_rate = true },
	{ .name = "mean", .key = "mean", .offset = FIGURE(mean_ns), .text = units_ns },
	{ .name = "p50", .key = "p50", .q = 0.5, .text = units_ns },
	{ .name = "p90", .key = "p90", .q = 0.9, .text = units_ns },
	{ .name = "p99", .key = "p99", .q = 0.99, .text = units_ns },
	{ .name = "p99.9", .key = "p99.9", .q = 0.999, .text = units_ns },
	{ .name = "p99.99", .key = "p99.99", .q = 0.9999, .text = units_ns },
	{ .name = "max", .key = "max", .q = 1, .text = units_ns },
};
static_assert(ARRAY_SIZE(comparison_cells) == COMPARISON_CELLS, "as the header has it");

double comparison_value(const struct comparison_cell *cell, const struct op_frame *o)
{
	if (!o || !o->ios)
		return -1;
	if (!cell->q)
		return *(const double *)((const char *)o + cell->offset);
	return op_quantile_ns(o, cell->q);
}

const char *ratio_text(char text[UNITS_TEXT], double ratio)
{
	if (ratio && ratio < 0.095)
		snprintf(text, UNITS_TEXT, "1/%.29s", UNITS(short, 1 / ratio));
	else if (ratio < 99.995)
		snprintf(text, UNITS_TEXT, "x %.2f", ratio);
	else
		snprintf(text, UNITS_TEXT, "x %.29s", UNITS(short, ratio));
	return text;
}

const char *change_text(char text[UNITS_TEXT], double ratio)
{
	if (ratio < 0)
		return "-";
	if (ratio - 1 >= 9.9995)
		return ratio_text(text, ratio);
	snprintf(text, UNITS_TEXT, "%+.1f%%", 100 * (ratio - 1));
	return text;
}

struct noise comparison_noise(const struct comparison *c, const struct compared_group *g,
			      const struct comparison_cell *cell)
{
	double value[2][REPEATS_MAX], resolution = 1;
	u32 n[2] = { 0 };

	for (u32 i = 0; i < c->n_runs; i++) {
		double v = comparison_value(cell, g->of[i].o);
		bool other = i >= c->n_base;

		if (v < 0)
			continue;
		value[other][n[other]++] = v;
		if (cell->q && cell->q < 1)
			resolution = fmax(resolution, quantile_resolution(g->of[i].o->hist.scale, v));
	}
	return noise_of(value[0], n[0], value[1], n[1], resolution);
}
