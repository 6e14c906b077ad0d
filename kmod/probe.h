/* SPDX-License-Identifier: GPL-2.0-only */
/* The block layer's tracepoints: found by name, since most are not exported, and hooked by sessions. */
#ifndef KMOD_PROBE_H
#define KMOD_PROBE_H

#include "session.h"

/* Looks the kernel's tracepoints up, once, before any session. */
void blklat_probe_init(void);

/*
 * Make a session see IOs end, then those start. Returns 0, or -EOPNOTSUPP (the kernel lacks a
 * tracepoint that the session's stages need) or another errno; then blklat_probe_stop() undoes it. With the starts comes what
 * limits of cgroups hold back, where the kernel lets that be seen (session.throttle).
 */
int blklat_probe_ends(struct blklat_session *s);
int blklat_probe_starts(struct blklat_session *s);

/* Undoes whatever of the two was done. On return no probe runs with this session any more. */
void blklat_probe_stop(struct blklat_session *s);

#endif
