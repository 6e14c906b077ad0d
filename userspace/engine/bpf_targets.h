/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash of targets in which the BPF programs look up IOs. Pure. */
#ifndef ENGINE_BPF_TARGETS_H
#define ENGINE_BPF_TARGETS_H

#include "../bpf/capture.h"
#include "core/capture.h"
#include "engine/bpf_find.h"
#include "engine/region.h"

struct targets {
	u32 n;
	struct target *list;
	u32 *bucket;		/* for each in the list, its bucket in the hash */
	u32 bits;		/* the hash has 2^bits buckets */
	u32 factor[2];		/* bucket = (u32)key * factor >> (32 - bits); the second is 0 if one lookup is enough */
	u32 n_slots;
	struct region_slots *slots;	/* for each watch; a part has none */
};

/*
 * Lists the targets of @watches and gives each a bucket of its own, by the first factor or else by the
 * second. @found[i] has the kernel's pointers for the device of watch i. Returns 0, -ENOMEM, or -E2BIG
 * and a sentence.
 */
int targets_make(struct targets *t, const struct watch *watches, const struct found_device *found,
		 u32 n, u32 cpus, struct problem *p);
void targets_free(struct targets *t);

/* Removes the targets of a watch from the list (their key becomes 0). Returns whether there were any. */
bool targets_drop(struct targets *t, u32 watch);

#endif
