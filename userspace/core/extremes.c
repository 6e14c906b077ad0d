// SPDX-License-Identifier: GPL-2.0-only
#include "core/extremes.h"

#include <stdint.h>

static u64 clamp_to_cell(u64 ns, u32 scale, u32 cell)
{
	/* The lower bound is exclusive, but 0 ns has no cell of its own. */
	u64 lowest = cell ? hist_lower_ns(scale, cell) + 1 : 0;
	u64 highest = hist_upper_ns(scale, cell);

	if (ns < lowest)
		ns = lowest;
	return ns > highest ? highest : ns;
}

/* @none is the value that means that no IO ended. It may lie in a cell at an end of the grid. */
static u64 choose(u64 ns, u64 late_ns, u64 none, u32 scale, u32 cell)
{
	if (ns != none && blklat_cell(ns, scale) == cell)
		return ns;
	if (late_ns != none && blklat_cell(late_ns, scale) == cell)
		return late_ns;
	return clamp_to_cell(ns != none ? ns : 0, scale, cell);
}

struct extremes extremes_of(const struct op_counts *now, const struct hist *interval)
{
	u32 scale = interval->scale, first = 0, last = 0;
	u64 shortest, longest;

	hist_range(interval, &first, &last);
	shortest = choose(now->min_ns, now->late_min_ns, UINT64_MAX, scale, first);
	longest = choose(now->max_ns, now->late_max_ns, 0, scale, last);
	/* If two IOs share a bin, their extremes may have been read in different intervals. */
	if (shortest > longest)
		return (struct extremes){ longest, shortest };
	return (struct extremes){ shortest, longest };
}
