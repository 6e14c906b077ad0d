/* SPDX-License-Identifier: GPL-2.0-only */
/* Times that the benchmarks measured, sorted for their quantiles. */
#ifndef BENCH_TIMES_H
#define BENCH_TIMES_H

#include <stdlib.h>

#include "util/clock.h"

static inline int times_ascending(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static inline void times_sort(u64 *ns, u32 n)
{
	qsort(ns, n, sizeof(*ns), times_ascending);
}

#endif
