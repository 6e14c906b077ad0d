/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds which of many devices are sick, and which are the worst. The text sink uses it for intervals
 * and runs with more than a few devices.
 */
#ifndef LIVE_TEXT_WORST_H
#define LIVE_TEXT_WORST_H

#include "core/health.h"

struct worst_watch {
	struct health_past past;
	struct health health;	/* of the last frames judged */
	bool left_out;		/* there are worse ones */
};

struct worst {
	struct worst_watch *of;		/* [number of the watch] */
	const struct frame **order;
	struct health **judged;		/* [frame]; NULL for a part */
	struct health_host host;
	struct op_frame all;		/* all ops of one watch */
	u64 most;			/* how many wholes are not left out; 0: all */
};

/* Returns 0 or -ENOMEM. */
int worst_init(struct worst *w, u32 watches, u64 most, u32 scale);
void worst_uninit(struct worst *w);

/*
 * Judges each whole of @fs by its past. Of the wholes that did something, all but the worst are left
 * out. Watches are numbered by their place in @watches. @run: the frames are of a whole run, which is
 * not compared with the past and does not become part of it.
 */
void worst_judge(struct worst *w, const struct frames *fs, const struct watch *watches, bool run);

#endif
