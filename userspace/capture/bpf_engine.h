/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF engine's own state; bpf_setup.c brings it up, bpf.c reads and ends it. */
#ifndef CAPTURE_BPF_ENGINE_H
#define CAPTURE_BPF_ENGINE_H

#include "capture/bpf_targets.h"
#include "capture/live.h"

struct blklat;	/* the skeleton */

struct mapping {
	void *at;
	size_t bytes;
};

struct bpf_capture {
	struct live_capture live;
	struct blklat *skel;
	struct targets targets;
	struct mapping series, accounts, slots, idle;
};

/*
 * Loads the programs for the capture's watches and maps what they count; nothing is attached yet.
 * Returns 0, or a negative errno and a sentence; what was done is undone by the engine's close.
 */
int bpf_setup(struct bpf_capture *b, u32 max_bios, struct problem *p);

/* Writes the table of targets anew, for the programs to see at once. Returns 0 or a negative errno. */
int bpf_write_targets(struct bpf_capture *b);

/*
 * Attach the programs that see IOs end, then those that see them start, so that an IO seen to start
 * is seen to end. Same returns.
 */
int bpf_attach_ends(struct bpf_capture *b, struct problem *p);
int bpf_attach_starts(struct bpf_capture *b, struct problem *p);

#endif
