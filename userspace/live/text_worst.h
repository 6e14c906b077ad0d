/* SPDX-License-Identifier: GPL-2.0-only */
/* Of many devices, which are sick and which are the worst: what text says of an interval or a run that has more than a few. */
#ifndef LIVE_TEXT_WORST_H
#define LIVE_TEXT_WORST_H

#include "core/health.h"

struct worst_watch {
	struct health_past past;
	struct health health;	/* of the frames that were judged last */
	bool left_out;		/* there are worse ones */
};

struct worst {
	struct worst_watch *of;		/* by number of the watch */
	const struct frame **order;
	struct health **judged;		/* of each frame; NULL of a part */
	struct health_host host;
	struct op_frame all;		/* of the ops of one watch */
	u64 most;			/* wholes that are not left out; 0: all */
};

/* Returns 0 or -ENOMEM. */
int worst_init(struct worst *w, u32 watches, u64 most, u32 scale);
void worst_uninit(struct worst *w);

/*
 * Judges each whole of @fs by its past, and leaves out all that did something but the worst. @watches are those that numbers
 * are of. A @run has no past, and is none.
 */
void worst_judge(struct worst *w, const struct frames *fs, const struct watch *watches, bool run);

#endif
