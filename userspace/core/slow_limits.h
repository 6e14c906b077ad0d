/* SPDX-License-Identifier: GPL-2.0-only */
/* From which latency on an IO is slow: a time, or a percentile of what there was lately. */
#ifndef CORE_SLOW_LIMITS_H
#define CORE_SLOW_LIMITS_H

#include "core/frame.h"
#include "core/slow.h"

#define SLOW_INTERVALS 10
#define SLOW_SCALE 4		/* of the histograms behind a percentile, so it is right to 2.2 % */

struct slow_limits {
	struct slow_wanted wanted;
	u64 *from_ns;			/* [watch][op], of wholes; UINT64_MAX: none is slow */
	/* By percentile, the last intervals: */
	u32 n_watches, wholes, turn;
	struct slow_past {
		struct hist hist;
		u64 max_ns;
	} *past;			/* [interval][whole][op] */
	struct hist sum;
	u64 *cells;
};

/* For @n watches. Returns 0 or -ENOMEM; slow_limits_uninit() is for either, and takes one that is all 0. */
int slow_limits_init(struct slow_limits *l, const struct slow_wanted *wanted, const struct watch *watches, u32 n, u32 scale);
void slow_limits_uninit(struct slow_limits *l);

/*
 * Behind an interval. By percentile, an op of a device and stage has the limit that this share of its IOs of the last
 * SLOW_INTERVALS intervals did not exceed; none as long as it had no IO.
 */
void slow_limits_follow(struct slow_limits *l, const struct frames *interval);

#endif
