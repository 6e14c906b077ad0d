/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the time of IOs goes, from when their bios are queued until these end: the stages of one device, and between
 * them the plug, in which requests are held back so that more can be merged into them (G2I in other tools). Pure.
 */
#ifndef CORE_SHARES_H
#define CORE_SHARES_H

#include "core/frame.h"

enum share {
	SHARE_WAIT,
	SHARE_PLUG,
	SHARE_QUEUE,
	SHARE_DEVICE,
	SHARES,
};

extern const char *const share_names[SHARES];

#define SHARES_WHOLE 1000	/* they are shown in thousandths, which add up to this */
#define SHARES_TEXT 256

struct shares {
	u64 ns[SHARES];		/* adds up to the time at stage total */
	u64 bios, requests;
	/*
	 * Each bio was a request of its own, so the shares are differences of exact sums. (IOs in flight at the
	 * beginning and at the end are in some of these sums and not in others.) Otherwise a bio takes as long at
	 * stages queue and device as a request does on average.
	 */
	bool exact;
};

/*
 * Of @op and the device of whole @i, whichever of its stages that is. Returns false for a part, where no time was
 * spent, or if one of the stages is not watched; watches of a device have to be next to each other.
 */
bool shares_of(const struct frames *fs, u32 i, u32 op, struct shares *ret);

/* In parts of SHARES_WHOLE, rounded by the largest remainder. */
void shares_round(const struct shares *s, u32 ret[SHARES]);

/*
 * "wait 75.2 %, plug 0.1 %, queue 0.0 %, device 24.7 % of this time; the device has 4 tags": of the time at stage
 * total. How many requests there can be is said if IOs wait for much of it.
 */
const char *shares_text(char text[SHARES_TEXT], const struct shares *s, const struct device *d);

#endif
