/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture, interval by interval: what it has counted at the end of the last two, and the frames between them. */
#ifndef CORE_INTERVALS_H
#define CORE_INTERVALS_H

#include "core/capture.h"
#include "core/frame.h"
#include "core/slow_limits.h"

struct intervals {
	struct capture *capture;	/* borrowed */
	struct snapshot snapshots[2];
	u32 now;			/* which of the two is the newer */
	struct slow_limits slow;	/* all 0 where slow IOs are not wanted */
	struct frames frames;		/* of the last interval, which intervals_next() ended */
};

/*
 * Nothing is read yet: a live capture has counted from 0 since it was opened, and the first interval begins there.
 * Returns 0 or -ENOMEM; intervals_uninit() is for either.
 */
int intervals_init(struct intervals *in, struct capture *c);
void intervals_uninit(struct intervals *in);	/* takes one that is all 0 */

/* Reads, and forgets what was counted so far: the next interval begins here. Returns what the engine says. */
int intervals_begin(struct intervals *in, struct problem *p);

/*
 * Reads, and makes the frames of the interval that ends here. Returns what the engine says; if that is an error, the
 * interval goes on.
 */
int intervals_next(struct intervals *in, const struct percentiles *ps, struct problem *p);

/* When it was read last (CLOCK_MONOTONIC), or else when intervals_init() was called. */
static inline u64 intervals_read_ns(const struct intervals *in)
{
	return in->snapshots[in->now].mono_ns;
}

#endif
