/* SPDX-License-Identifier: GPL-2.0-only */
/* The latency from which an IO is slow: a given time, or a percentile of recent IOs. */
#ifndef CORE_SLOW_LIMITS_H
#define CORE_SLOW_LIMITS_H

#include "core/frame.h"
#include "core/slow.h"

#define SLOW_INTERVALS 10
#define SLOW_SCALE 4		/* of the histograms for the percentile, which is thus right to 2.2 % */

struct slow_limits {
	struct slow_wanted wanted;
	u64 *from_ns;			/* [watch][op], of wholes; UINT64_MAX: no IO is slow */
	/* If decided by percentile, the last intervals: */
	u32 n_watches, wholes, turn;
	struct slow_past {
		struct hist hist;
		u64 max_ns;
	} *past;			/* [interval][whole][op] */
	struct hist sum;
	u64 *cells;
};

/* For @n watches. Returns 0 or -ENOMEM; slow_limits_uninit() has to be called in both cases, and works on all 0. */
int slow_limits_init(struct slow_limits *l, const struct slow_wanted *wanted, const struct watch *watches, u32 n, u32 scale);
void slow_limits_uninit(struct slow_limits *l);

/*
 * Called after each interval. By percentile, the limit of an op of a device and stage is the latency
 * that this share of its IOs of the last SLOW_INTERVALS intervals did not exceed. As long as it had no
 * IO, there is no limit.
 */
void slow_limits_follow(struct slow_limits *l, const struct frames *interval);

#endif
