/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF engine's own state; bpf_setup.c brings it up, bpf.c reads and ends it. */
#ifndef ENGINE_BPF_ENGINE_H
#define ENGINE_BPF_ENGINE_H

#include "engine/bpf_probe.h"
#include "engine/bpf_targets.h"
#include "engine/kernel_capture.h"

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
	u32 n;				/* the first, and its standbys */
	u64 base[1 + BPF_STANDBYS];	/* runs skipped of each when the last one was attached */
	u64 skipped;			/* runs until then that perhaps no other program made up for */
	u64 restless_ns;		/* CLOCK_MONOTONIC when one was last seen skipped, or attached */
};

struct bpf_capture {
	struct kernel_capture kernel;
	struct blklat *skel;
	struct kernel_traits traits;
	struct targets targets;
	struct bpf_cgroups *cgroups;	/* in bpf_cgroups.c; NULL: not divided by them */
	int table_fd;		/* the map that the programs look targets up in; -1: not made yet */
	struct mapping series, accounts, slots, idle, bios;
	struct bpf_slow *slow;	/* NULL: slow IOs are not wanted */
	struct bpf_chain chains[BPF_EVENTS];
};

/* Rows of counters: one a CPU, and one for all standbys where there are any. */
static inline u32 bpf_rows(const struct bpf_capture *b)
{
	return b->kernel.capture.cpus + !b->traits.unguarded;
}

/*
 * Loads the programs for the capture's watches and maps their counters; nothing is attached yet. Returns 0, or a negative
 * errno and a sentence; the engine's close undoes it either way.
 */
int bpf_setup(struct bpf_capture *b, const struct capture_config *cfg, struct problem *p);

/* Writes the table of targets anew, for the programs to see at once. Returns 0 or a negative errno. */
int bpf_write_targets(struct bpf_capture *b);

#endif
