/* SPDX-License-Identifier: GPL-2.0-only */
/* Intervals that are added up to a longer one, with all that the processes of a service, or a recording, need. */
#ifndef SERVICE_HELD_H
#define SERVICE_HELD_H

#include "core/sink.h"

struct held {
	struct frames frames;		/* the sum; of no reads: none. Without percentiles */
	struct slow_ios slow;		/* of these */
	struct snapshot now;		/* the counts at the end of the last one, if they have them */
};

/*
 * Adds an interval of @run; each has the same watches, in the same order. The first one begins the sum, in which they
 * are @watches, which are borrowed. Returns 0, or -ENOMEM, and then the interval is not in the sum.
 */
int held_add(struct held *h, const struct run_info *run, const struct watch *watches, const struct frames *fs);

/* Empties it. Takes one that is all 0. */
void held_drop(struct held *h);

#endif
