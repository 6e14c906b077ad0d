/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many standbys a tracepoint has: each that is attached costs, and each that is not may miss an event when the kernel
 * skips the programs before it (bpf/counters.bpf.h). Pure.
 */
#ifndef ENGINE_STANDBYS_H
#define ENGINE_STANDBYS_H

#include "util/types.h"

/* What a tracepoint's programs meet. */
struct standby_need {
	bool unguarded;		/* the kernel skips nothing */
	bool preemptible;	/* a task inside a program may be preempted by another one that runs it too */
	bool starts;		/* IOs start there; else they end */
	int asked;		/* the user's number; -1: as needed */
};

struct standbys {
	u32 at_first, at_rest;
	u64 since_ns, since_ios;	/* when a skip was last seen, or a program attached or detached: see standbys_changed() */
};

void standbys_init(struct standbys *s, const struct standby_need *need);

/* A program was attached or detached at @now_ns of CLOCK_MONOTONIC, when @ios IOs had started in the capture. */
void standbys_changed(struct standbys *s, u64 now_ns, u64 ios);

/*
 * Returns how many of @n standbys there are to be, at most one more or one less: one more where the last program was
 * skipped, before an event is missed; one less after 10 s and a million IOs without a skip. @first_skipped, @last_skipped:
 * since the last change, the first and the last of the programs.
 */
u32 standbys_wanted(struct standbys *s, u32 n, bool first_skipped, bool last_skipped, u64 now_ns, u64 ios);

#endif
