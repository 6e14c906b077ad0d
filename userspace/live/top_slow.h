/* SPDX-License-Identifier: GPL-2.0-only */
/* The last slow IOs of a device and stage, for the screen. Pure. */
#ifndef LIVE_TOP_SLOW_H
#define LIVE_TOP_SLOW_H

#include "core/slow.h"

#define TOP_SLOW 256

struct top_slow {
	u64 taken;		/* taken since the capture began; the last TOP_SLOW are kept */
	u64 found;		/* including those that were only counted */
	struct top_slow_io {
		u64 sample;	/* the interval in which it ended */
		struct slow_io io;
	} io[TOP_SLOW];
};

/*
 * Adds the slow IOs of interval @sample, in the order of their ends. *s is allocated with the first
 * one. Returns 0 or -ENOMEM.
 */
int top_slow_take(struct top_slow **s, const struct slow_ios *slow, const struct slow_of *of, u64 sample);
void top_slow_free(struct top_slow *s);		/* takes NULL */

/*
 * Walks back in time: the last IO before number *@at, which is set to the IO's number, that is of an
 * interval before @shown and of @op (BLKLAT_OPS: of any op). Begin with *@at = taken. NULL: there is
 * none.
 */
const struct slow_io *top_slow_before(const struct top_slow *s, u64 shown, u32 op, u64 *at);

#endif
