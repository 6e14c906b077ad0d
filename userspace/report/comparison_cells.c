// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.h"

#include <assert.h>
#include <stdio.h>

#include "util/units.h"

static double iops(const struct op_frame *o, double q)
{
	(void)q;
	return o->iops;
}

static double bytes_per_s(const struct op_frame *o, double q)
{
	(void)q;
	return o->bytes_per_s;
}

static double mean(const struct op_frame *o, double q)
{
	(void)q;
	return o->mean_ns;
}

static double max(const struct op_frame *o, double q)
{
	(void)q;
	return o->max_ns;
}

static double percentile(const struct op_frame *o, double q)
{
	return quantile_ns(&o->hist, q, o->min_ns, o->max_ns);
}

static const char *megabytes(char text[32], double value)
{
	return value < 0 ? "-" : units_number(text, value / 1e6);
}

static const char *number(char text[32], double value)
{
	return value < 0 ? "-" : units_number(text, value);
}

const struct comparison_cell comparison_cells[] = {
	{ .name = "IOPS", .key = "iops", .of = iops, .text = number, .is_rate = true },
	{ .name = "MB/s", .key = "bytes_per_s", .of = bytes_per_s, .text = megabytes, .is_rate = true },
	{ .name = "mean", .key = "mean", .of = mean, .text = units_ns },
	{ .name = "p50", .key = "p50", .of = percentile, .q = 0.5, .text = units_ns },
	{ .name = "p90", .key = "p90", .of = percentile, .q = 0.9, .text = units_ns },
	{ .name = "p99", .key = "p99", .of = percentile, .q = 0.99, .text = units_ns },
	{ .name = "p99.9", .key = "p99.9", .of = percentile, .q = 0.999, .text = units_ns },
	{ .name = "p99.99", .key = "p99.99", .of = percentile, .q = 0.9999, .text = units_ns },
	{ .name = "max", .key = "max", .of = max, .text = units_ns },
};
static_assert(ARRAY_SIZE(comparison_cells) == COMPARISON_CELLS, "as the header has it");

double comparison_value(const struct comparison_cell *cell, const struct compared *c)
{
	return c->o && c->o->ios ? cell->of(c->o, cell->q) : -1;
}

const char *ratio_text(char text[UNITS_TEXT], double ratio)
{
	char large[UNITS_TEXT];

	if (ratio && ratio < 0.095)
		snprintf(text, UNITS_TEXT, "1/%.29s", units_short(large, 1 / ratio));
	else if (ratio < 99.995)
		snprintf(text, UNITS_TEXT, "x %.2f", ratio);
	else
		snprintf(text, UNITS_TEXT, "x %.29s", units_short(large, ratio));
	return text;
}
