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

/* Of @op and the device of watch @total. Returns false without an IO there, or if one of its stages is not watched. */
bool shares_of(const struct frames *fs, u32 total, u32 op, struct shares *ret);

#endif
