/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds what the slow IOs of a device and stage have in common. Pure. */
#ifndef REPORT_SLOW_COMMON_H
#define REPORT_SLOW_COMMON_H

#include "report/run.h"

#define SLOW_COMMON_MAX 10
#define SLOW_COMMON_TEXT 256
#define SLOW_COMMON_METHOD "binomial test, one-sided, Bonferroni's correction"

/* What they have in common in one respect. */
struct slow_common {
	/* "op", what divides the watch, "flags", "beside", "error", "bytes", "comm", "cgroup", "hw_queue" or "region" */
	const char *by;
	char value[SLOW_COMMON_TEXT];	/* cut if there is no room */
	u32 ios, of;			/* how many have the value, and for how many it is known */
	double share_of_all;		/* share of all IOs of the watch, slow or not; negative: not counted */
	/*
	 * If share_of_all is counted, the value is the one least likely to be that frequent by chance,
	 * and this is the probability that any value in this respect would be, if slow IOs were drawn
	 * at random from all IOs. (IOs of one burst are not independent.) Otherwise the value is the
	 * most frequent one, and this is negative.
	 */
	double p;
};

/*
 * Fills @ret for the slow IOs that the run keeps of whole @watch, in the order above; respects that are
 * not known for any IO are left out. A region is a sixteenth of the device, given by its bounds in
 * bytes. Returns how many there are, or -ENOMEM.
 */
int slow_common_of(const struct run *r, u32 watch, struct slow_common ret[SLOW_COMMON_MAX]);

#endif
