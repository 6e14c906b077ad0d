/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <time.h>

#include "util/types.h"

/* The time of a clock that every kernel has (so reading it can't fail), in ns. */
static inline u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* CLOCK_MONOTONIC, the clock of all deadlines. */
static inline u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
