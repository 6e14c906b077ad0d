/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is watched: a device at a stage, and where it is divided by something (--by), each part of that as well.
 *
 * In every list of watches the parts of one follow it, in the order of what they are divided by: whole, parts, whole, parts.
 * A part has counts of its ops alone. What is a matter of the whole (the accounting, the kernel's count, losses) is zero
 * there, and the whole's counts are the sum of its parts'.
 */
#ifndef CORE_WATCH_H
#define CORE_WATCH_H

#include "blklat/abi.h"
#include "core/device.h"

struct part {
	const char *by;		/* what the whole is divided by: "size" */
	const char *label;	/* which part of it: "4 KiB" */
	u32 number;		/* in their order, from 1 */
};

struct watch {
	const struct device *device;	/* borrowed from the device table */
	enum blklat_stage stage;
	const struct part *part;	/* borrowed; NULL: the whole */
};

/* "device", "queue", "total"; [enum blklat_by], from BLKLAT_BY_SIZE on: "size", "flags", "depth", "beside" */
extern const char *const stage_names[BLKLAT_STAGES];
extern const char *const by_names[BLKLAT_BYS];

/* The part that is called so, static; NULL: there is none. */
const struct part *part_find(const char *by, const char *label);

/* What it is that divides, for people: "bytes, rounded up". */
const char *part_meaning(const struct part *part);

/* Are these the same part of what they are parts of? Wholes are. By what it is divided by and its label. */
bool same_part(const struct watch *a, const struct watch *b);

/* How many parts watch @i of @n has; 0: it is not divided, or is a part itself. */
u32 watch_parts(const struct watch *w, u32 n, u32 i);

/*
 * Makes a list of the @n wholes @w, each followed by its parts. Returns 0 or -ENOMEM; the list is the caller's to free, its
 * parts are static.
 */
int watches_divide(const struct watch *w, u32 n, enum blklat_by by, struct watch **ret, u32 *ret_n);

#endif
