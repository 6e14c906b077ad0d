/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is watched: a device at a stage and, where it is divided (--by), each of its parts as well.
 *
 * In every list of watches the parts of one follow it, in their order: whole, parts, whole, parts. A part only has counts
 * of its ops; what exists only for the whole (the accounting, the kernel's count, losses) is zero there. The whole's
 * counts are the sums of its parts'.
 */
#ifndef CORE_WATCH_H
#define CORE_WATCH_H

#include "blklat/abi.h"
#include "core/device.h"
#include "core/part.h"

struct watch {
	const struct device *device;	/* borrowed from the device table */
	enum blklat_stage stage;
	const struct part *part;	/* borrowed; NULL: the whole */
	bool matched;			/* found by a pattern first, not by its name: it may be left out if it goes away */
};

/* "device", "queue", "total" */
extern const char *const stage_names[BLKLAT_STAGES];

/* Are these the same part, by --by and label, no matter of which whole? Two wholes are the same. */
bool same_part(const struct watch *a, const struct watch *b);

/* The number of parts of watch @i of @n; 0: it is not divided, or is a part itself. */
u32 watch_parts(const struct watch *w, u32 n, u32 i);

/*
 * Makes a list of the @n wholes @w, each followed by its parts; by cgroup, with room for @cgroups.
 * Returns 0 or -ENOMEM. The caller frees the list; its parts are never freed.
 */
int watches_divide(const struct watch *w, u32 n, enum blklat_by by, u32 cgroups, struct watch **ret, u32 *ret_n);

#endif
