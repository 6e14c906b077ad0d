/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IOs after a pause: what is issued (a bio: queued) after nothing was issued or ended for the idle gap. The rules are
 * those of bpf/pauses.bpf.h, so that both engines find the same.
 *
 * When a device was last in use is one time for all CPUs, which therefore is not written at each IO: only
 * when it is older than BLKLAT_SEEN_EVERY_NS, and at an end only if the IO itself took longer. So it may be two such
 * times behind, and a pause has to look that much longer than the gap to be one for sure. A clock behind
 * another CPU's gives a negative age, not a huge one.
 */
#ifndef KMOD_PAUSES_H
#define KMOD_PAUSES_H

#include "session.h"

#define BLKLAT_SEEN_EVERY_NS 500000
#define BLKLAT_PAUSE_DOUBT_NS (2 * BLKLAT_SEEN_EVERY_NS)

static inline bool blklat_is_old(u64 seen_ns, u64 now)
{
	return (s64)(now - seen_ns) > BLKLAT_SEEN_EVERY_NS;
}

/* Something is going on at @now. */
static inline void blklat_note_use(u64 *seen_ns, u64 now)
{
	if (blklat_is_old(READ_ONCE(*seen_ns), now))
		WRITE_ONCE(*seen_ns, now);
}

/* The same where an IO begins. Returns whether it follows a pause; as long as nothing is known it does not. */
static inline bool blklat_follows_pause(u64 *seen_ns, u64 now, u64 gap_ns)
{
	u64 before = READ_ONCE(*seen_ns);

	if (!blklat_is_old(before, now))
		return false;
	WRITE_ONCE(*seen_ns, now);
	return before && now - before >= gap_ns + BLKLAT_PAUSE_DOUBT_NS;
}

/* Counts an IO after a pause, besides the normal counting and before it. @watch: number + 1. */
void blklat_count_after_idle(const struct blklat_session *s, u32 watch, u32 op, u64 ns);

#endif
