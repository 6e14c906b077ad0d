/* SPDX-License-Identifier: GPL-2.0-only */
/* The ring in which the kernel module reports slow IOs. If they are not wanted, these functions do nothing. */
#ifndef ENGINE_KMOD_SLOW_H
#define ENGINE_KMOD_SLOW_H

#include "engine/kernel_capture.h"

struct kmod_slow {
	struct blklat_slow_ring *ring;	/* mapped; NULL: slow IOs are not wanted */
	u32 places;
	u32 next;			/* number of the next report to take */
};

/* Sets the fields of @setup for @cfg, with which @k was initialized. */
void kmod_slow_size(const struct kernel_capture *k, const struct capture_config *cfg, struct blklat_setup *setup);

/* Finds the ring and the limits in the mapping, which begins with @h. */
void kmod_slow_map(struct kmod_slow *slow, struct kernel_capture *k, const struct capture_config *cfg, struct blklat_header *h);

/* After a read of the counters into @s: takes what was reported since the last read. Returns 0 or -ENOMEM. */
int kmod_slow_read(struct kmod_slow *slow, struct kernel_capture *k, const struct snapshot *s);

#endif
