/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring of slow IOs that the kernel module tells of. Where they are not wanted, all of this does nothing. */
#ifndef ENGINE_KMOD_SLOW_H
#define ENGINE_KMOD_SLOW_H

#include "engine/kernel_capture.h"

struct kmod_slow {
	struct blklat_slow_ring *ring;	/* mapped; NULL: they are not wanted */
	u32 places;
	u32 next;			/* number of the next one to take */
};

/* Says in @setup what is wanted by @cfg, of which @k was initialized. */
void kmod_slow_size(const struct kernel_capture *k, const struct capture_config *cfg, struct blklat_setup *setup);

/* Finds what @h, the begin of the mapping, tells of. */
void kmod_slow_map(struct kmod_slow *slow, struct kernel_capture *k, const struct capture_config *cfg, struct blklat_header *h);

/* Behind a read of the counters into @s: takes what was told since the last one. Returns 0 or -ENOMEM. */
int kmod_slow_read(struct kmod_slow *slow, struct kernel_capture *k, const struct snapshot *s);

#endif
