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
 * The extremes of the IOs in @interval, that is, of those that @now has in addition to the previous
 * snapshot; there is at least one. An IO that ends while the counters are read can be in the bins of
 * one interval and the extremes of the next. The bins decide. Each extreme is the one that was read for
 * the interval, if it lies in the outermost bin; else the one of the IOs that ended during the read, if
 * that does; else the bound of that bin that is nearest to what was read, or the lower bound if nothing
 * was. So a percentile, clamped to the extremes, never leaves its bin.
 */
struct extremes extremes_of(const struct op_counts *now, const struct hist *interval);

#endif
