/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that keeps the run instead of writing it; several intervals as one, where it is asked to. */
#ifndef REPORT_COLLECT_H
#define REPORT_COLLECT_H

#include "core/sink.h"
#include "report/run.h"

struct collect_how {
	struct asked_window asked;	/* the run has the intervals within */
	u64 max_bytes;			/* most that it may take; 0: no limit */
	/*
	 * Up to so many intervals in a row are one of the run's, whose counts and bins are their sum, and whose IOs in flight
	 * are those at its end; 0, 1: each for itself. None has a mark in it besides one that a single interval had, none has a
	 * gap, and none goes on when a device goes. So all totals, and what lies in each phase, are the same whatever it is.
	 */
	u32 merged;
};

/*
 * Begins @into, which has to be all 0. The sink's summary finishes it, and the caller has to uninit it, whatever happens.
 * Returns 0 or -ENOMEM; the sink's interval and summary may also return -E2BIG.
 */
int collect_open(const struct run_info *info, const struct collect_how *how, struct run *into, struct sink **ret);

#endif
