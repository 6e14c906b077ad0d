/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds when IOs are in flight and none ends, by looks between the reads: see live_ops.glance. */
#ifndef ENGINE_HALTS_H
#define ENGINE_HALTS_H

#include "engine/kernel_capture.h"

/* What the looks have found of a whole. */
struct halts {
	u64 sums;			/* grows with each IO that ends */
	u64 looked_ns, before_ns;	/* the last two looks; 0: there was none */
	u64 from_ns;			/* of the halt that goes on; 0: none does */
	/* IOs ended since the read before the last, or were in flight at the last: only then are the slots looked at */
	bool used;
	bool moved;			/* some of these ended since the last read */
	u32 n;
	struct halt done[HALTS_MOST];
};

/* The engines' live_ops.glance; and the same at @now (CLOCK_MONOTONIC). */
void halts_glance(struct capture *c);
void halts_look(struct kernel_capture *k, u64 now);

/* Ends the interval of @s with a last look. */
void halts_read(struct kernel_capture *k, struct snapshot *s);

#endif
