/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink that collects the frames into a run instead of writing them. If asked to, it merges several
 * intervals into one.
 */
#ifndef REPORT_COLLECT_H
#define REPORT_COLLECT_H

#include "core/sink.h"
#include "report/run.h"

struct collect_how {
	struct asked_window asked;	/* the run only has the intervals in here */
	u64 max_bytes;			/* most memory that it may take; 0: no limit */
	/*
	 * Up to this many consecutive intervals become one of the run's; 0, 1: none are merged. A
	 * merged interval has the sum of the counts and bins, and the IOs in flight of its end.
	 * Intervals are not merged across a mark, unless a single interval contained it; nor across a
	 * gap, nor when a device goes. So all totals, and the contents of each phase, are the same for
	 * any value.
	 */
	u32 merged;
};

/*
 * Begins @into, which has to be all 0. The sink's summary finishes it; the caller has to uninit it in
 * any case. Returns 0 or -ENOMEM; the sink's interval and summary may also return -E2BIG.
 */
int collect_open(const struct run_info *info, const struct collect_how *how, struct run *into, struct sink **ret);

#endif
