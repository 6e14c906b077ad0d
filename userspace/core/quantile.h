/* SPDX-License-Identifier: GPL-2.0-only */
/* Percentiles of a histogram. Pure. */
#ifndef CORE_QUANTILE_H
#define CORE_QUANTILE_H

#include "core/hist.h"

#define PERCENTILES_MAX 16

/* The percentiles of a run, in ascending order. */
struct percentiles {
	u32 n;
	struct percentile {
		double q;		/* 0 < q <= 1; p99.9 is 0.999 */
		char name[16];		/* "p99.9", as the user wrote it, but without trailing zeroes */
	} p[PERCENTILES_MAX];
};

/* p50,p90,p99,p99.9,p99.99 */
extern const struct percentiles percentiles_default;

/*
 * Parses "50,90,99.9" or "p50,p99.9" (0 < p <= 100), sorts, and drops repeats. Returns 0, or -EINVAL with @ret_bad and
 * @ret_bad_len set to the part of @list that is not a percentile (if there are too many: the first one too many).
 */
int percentiles_parse(const char *list, struct percentiles *ret, const char **ret_bad, int *ret_bad_len);

/*
 * The latency in ns that a share @q of the IOs does not exceed. The rank is that of fio: the smallest value such that
 * at least ceil(q * n) IOs are at or below it (stat.c calc_clat_percentiles()). The place inside the bin is
 * interpolated geometrically, and the result never leaves [min_ns, max_ns]. Cells outside the grid have no width and
 * give min_ns or max_ns. Returns a negative number if there is no IO.
 */
double quantile_ns(const struct hist *h, double q, u64 min_ns, u64 max_ns);

/*
 * The ratio by which percentiles of two histograms may differ although the latencies do not: that of the bounds of
 * the bin of @ns, as a percentile is known to half a bin (bins.h). 1 outside the grid.
 */
double quantile_resolution(u32 scale, double ns);

#endif
