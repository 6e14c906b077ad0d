/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF engine's own state. bpf_setup.c sets it up, bpf.c reads and closes it. */
#ifndef ENGINE_BPF_ENGINE_H
#define ENGINE_BPF_ENGINE_H

#include "engine/bpf_probe.h"
#include "engine/bpf_targets.h"
#include "engine/kernel_capture.h"
#include "engine/standbys.h"

struct blklat;	/* the skeleton */

struct bpf_map;
struct bpf_slow;	/* in bpf_slow.c */

struct mapping {
	void *at;
	size_t bytes;
};

/*
 * Maps an array's elements, n at n * its value's size rounded up to 8. Returns 0 or a negative errno. A mapping that is
 * all 0 can be unmapped.
 */
int mapping_map(struct mapping *m, const struct bpf_map *map);
void mapping_unmap(struct mapping *m);

/* A tracepoint's attached programs, and how many of their runs the kernel skipped. */
struct bpf_chain {
	u32 n;				/* the first program and its standbys */
	u64 base[1 + BPF_STANDBYS];	/* skipped runs of each program when the last one was attached */
	u64 skipped;			/* skipped runs until then for which perhaps no other program stepped in */
	struct standbys standbys;
};

struct bpf_capture {
	struct kernel_capture kernel;
	struct blklat *skel;
	struct kernel_traits traits;
	struct targets targets;
	struct bpf_cgroups *cgroups;	/* in bpf_cgroups.c; NULL: not divided by cgroup */
	int table_fd;		/* the map in which the programs look up targets; -1: not made yet */
	struct mapping series, accounts, slots, idle, bios;
	struct bpf_slow *slow;	/* NULL: slow IOs are not wanted */
	struct bpf_chain chains[BPF_EVENTS];
};

/* Rows of counters: one for each CPU, and one for all standbys if there can be any. */
static inline u32 bpf_rows(const struct bpf_capture *b)
{
	return b->kernel.capture.cpus + !b->traits.unguarded;
}

/*
 * Loads the programs for the capture's watches and maps their counters; nothing is attached yet.
 * Returns 0, or a negative errno and a sentence. The engine's close undoes it in both cases.
 */
int bpf_setup(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p);

/* Whether stage total of such a device is watched: see device_hides_splits(). */
bool bpf_hides_splits(const struct capture *c);

/* Rewrites the table of targets, which the programs see at once. Returns 0 or a negative errno. */
int bpf_write_targets(struct bpf_capture *b);

#endif
