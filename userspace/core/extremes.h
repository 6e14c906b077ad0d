/* SPDX-License-Identifier: GPL-2.0-only */
/* The shortest and the longest IO of an interval. Pure. */
#ifndef CORE_EXTREMES_H
#define CORE_EXTREMES_H

#include "core/snapshot.h"

struct extremes {
	u64 min_ns;
	u64 max_ns;
};

/*
 * The extremes of the IOs in @interval, which are those that @now has more than the snapshot before; there is at
 * least one. An IO that ends while the counters are read can be in one interval's bins and in the next one's
 * extremes. The bins decide: each extreme is the one that was read of the interval; if that is not in the bin, the
 * one of the IOs that came late; or else the bin's bound that is nearest to what was read, the lower one if nothing
 * was. So a percentile, clamped to the extremes, never leaves its bin.
 */
struct extremes extremes_of(const struct op_counts *now, const struct hist *interval);

#endif
