/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IOs after a pause: issued (bios: queued) when nothing had been issued or ended for the idle gap. The
 * rules are those of bpf/pauses.bpf.h, so that both engines find the same IOs.
 *
 * The time of a device's last use is shared by all CPUs, so they must not write it at each IO. It is
 * written only when it is older than BLKLAT_SEEN_EVERY_NS, and at an IO's end only if the IO took
 * longer than that. So it may be up to two such periods old, and a pause is only certain if it seems
 * that much longer than the gap. If a clock is behind another CPU's, the age is negative, not huge.
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

/* The device is in use at @now. */
static inline void blklat_note_use(u64 *seen_ns, u64 now)
{
	if (blklat_is_old(READ_ONCE(*seen_ns), now))
		WRITE_ONCE(*seen_ns, now);
}

/* The same at the start of an IO. Returns whether it follows a pause; no, as long as nothing is known. */
static inline bool blklat_follows_pause(u64 *seen_ns, u64 now, u64 gap_ns)
{
	u64 before = READ_ONCE(*seen_ns);

	if (!blklat_is_old(before, now))
		return false;
	WRITE_ONCE(*seen_ns, now);
	return before && now - before >= gap_ns + BLKLAT_PAUSE_DOUBT_NS;
}

/* Counts an IO after a pause, in addition to the normal counting and before it. @watch: number + 1. */
void blklat_count_after_idle(const struct blklat_session *s, u32 watch, u32 op, u64 ns);

#endif
