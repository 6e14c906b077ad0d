// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison_formats.h"
#include "util/units.h"

static bool has(const struct compared *c)
{
	return c->o && c->o->ios;
}

static double iops(const struct compared *c)
{
	return has(c) ? c->o->iops : -1;
}

static double bytes_per_s(const struct compared *c)
{
	return has(c) ? c->o->bytes_per_s : -1;
}

static double mean(const struct compared *c)
{
	return has(c) ? c->o->mean_ns : -1;
}

static double max(const struct compared *c)
{
	return has(c) ? (double)c->o->max_ns : -1;
}

static double p50(const struct compared *c)
{
	return compared_percentile(c, 0.5);
}

static double p90(const struct compared *c)
{
	return compared_percentile(c, 0.9);
}

static double p99(const struct compared *c)
{
	return compared_percentile(c, 0.99);
}

static double p999(const struct compared *c)
{
	return compared_percentile(c, 0.999);
}

static double p9999(const struct compared *c)
{
	return compared_percentile(c, 0.9999);
}

static const char *megabytes(char text[32], double value)
{
	return value < 0 ? "-" : units_number(text, value / 1e6);
}

static const char *number(char text[32], double value)
{
	return value < 0 ? "-" : units_number(text, value);
}

const struct comparison_cell comparison_cells[COMPARISON_CELLS] = {
	{ "IOPS", "iops", iops, number },
	{ "MB/s", "bytes_per_s", bytes_per_s, megabytes },
	{ "mean", "mean", mean, units_ns },
	{ "p50", "p50", p50, units_ns },
	{ "p90", "p90", p90, units_ns },
	{ "p99", "p99", p99, units_ns },
	{ "p99.9", "p99.9", p999, units_ns },
	{ "p99.99", "p99.99", p9999, units_ns },
	{ "max", "max", max, units_ns },
};
