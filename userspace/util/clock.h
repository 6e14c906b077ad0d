/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <poll.h>
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

/* poll(2) until @deadline_ns (UINT64_MAX: for ever), or until a signal was handled. Returns as poll() does. */
static inline int poll_until(struct pollfd *fds, u32 n, u64 deadline_ns)
{
	u64 now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
	const struct timespec t = { left / NSEC_PER_SEC, left % NSEC_PER_SEC };

	return ppoll(fds, n, &t, NULL);
}

#endif
