/* SPDX-License-Identifier: GPL-2.0-only */
/* What the IOs of a watch are divided into (--by): parts.h numbers them, here they have names. */
#ifndef CORE_PART_H
#define CORE_PART_H

#include "blklat/abi.h"
#include "util/types.h"

/* Room for a part's label, with its NUL. By cgroup it is a path, of which no more than its end may be left. */
#define PART_LABEL_MAX 256

struct part {
	const char *by;		/* what the whole is divided by: "size" */
	const char *label;	/* which part of it: "4 KiB" */
	u32 number;		/* in their order, from 1 */
};

/* [enum blklat_by], from BLKLAT_BY_SIZE on: "size", "flags", "depth", "beside", "cgroup" */
extern const char *const by_names[BLKLAT_BYS];

/*
 * The part that is called so, for good; NULL: there is none. By cgroup there is one for each label, from when it is first asked for
 * (NULL: it is too long, or there is no memory), and for "" the one that no cgroup has yet: see part_is_vacant().
 */
const struct part *part_find(const char *by, const char *label);

/* The part of @number, from 1; by cgroup those behind the fixed ones are vacant. */
const struct part *part_numbered(enum blklat_by by, u32 number);

/* By cgroup watches have parts for those to come. No IO is in one; its watch is given another part before one is. */
bool part_is_vacant(const struct part *part);

/* What it is that divides, for people: "bytes, rounded up". */
const char *part_meaning(const struct part *part);

#endif
