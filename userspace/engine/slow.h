/* SPDX-License-Identifier: GPL-2.0-only */
/* What engines do with the slow IOs that their kernel side reports; see bpf_engine.h for the BPF programs' ring. */
#ifndef ENGINE_SLOW_H
#define ENGINE_SLOW_H

#include "engine/kernel_capture.h"

/*
 * Does the kernel side have to note who sent what? That is needed for the owners of IOs, the sectors of
 * IOs at stage total, and the time that IOs took in earlier stages. @k is initialized.
 */
bool slow_wants_notes(const struct kernel_capture *k);

/* After the counters were read into @s, before the first report is taken. */
void slow_begin(struct kernel_capture *k, const struct snapshot *s);

/* Adds a report to the capture's list, if its numbers make sense. Returns 0 or -ENOMEM. */
int slow_take(struct kernel_capture *k, const struct blklat_slow *told);

/*
 * When all are taken, and the parts of their cgroups are named: counts the IOs that were not reported, sorts the
 * list, and finds the part of each and the path of its cgroup. Returns 0 or -ENOMEM.
 */
int slow_finish(struct kernel_capture *k);

/* --- the ring in which the kernel module reports them --- */

struct kmod_slow {
	struct blklat_slow_ring *ring;	/* mapped */
	u32 places;
	u32 next;			/* number of the next report to take */
};

/* See kernel_hooks.read_slow. */
int kmod_slow_read(struct kmod_slow *slow, struct kernel_capture *k, const struct snapshot *s);

#endif
