/* SPDX-License-Identifier: GPL-2.0-only */
/* Times as the bench's programs take them, and order them for their quantiles. */
#ifndef BENCH_TIMES_H
#define BENCH_TIMES_H

#include <stdlib.h>
#include <time.h>

#include "util/types.h"

static inline u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

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
