/* SPDX-License-Identifier: GPL-2.0-only */
/* The block layer's tracepoints. They are found by name, as most are not exported, and hooked by sessions. */
#ifndef KMOD_PROBE_H
#define KMOD_PROBE_H

#include <linux/rcupdate.h>

#include "session.h"

/* Looks up the kernel's tracepoints; called once, before any session. */
void blklat_probe_init(void);

/*
 * blklat_probe_ends() makes a session see the ends of IOs, blklat_probe_starts() then their starts.
 * Return 0, -EOPNOTSUPP (the kernel lacks a tracepoint that the session's stages need), or another
 * errno; blklat_probe_stop() then undoes what was done. With the starts, the session also sees bios
 * held back by limits of cgroups, if the kernel allows that (session.throttle).
 */
int blklat_probe_ends(struct blklat_session *s);
int blklat_probe_starts(struct blklat_session *s);

/* Undoes both, or what was done of them. On return, no probe runs with this session any more. */
void blklat_probe_stop(struct blklat_session *s);

/* Waits for all probes that are running. RCU does, as they all run with preemption off, that of the kprobe as well. */
static inline void blklat_probe_wait(void)
{
	synchronize_rcu();
}

/* The same within a millisecond, for what is rare: it interrupts all CPUs. */
static inline void blklat_probe_wait_now(void)
{
	synchronize_rcu_expedited();
}

#endif
