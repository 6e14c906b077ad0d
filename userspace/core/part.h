/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts into which the IOs of a watch are divided (--by): numbered in parts.h, named here. */
#ifndef CORE_PART_H
#define CORE_PART_H

#include "blklat/abi.h"
#include "util/types.h"

/* Room for a part's label, including its NUL. By cgroup it is a path, which may lack its beginning. */
#define PART_LABEL_MAX 256

struct part {
	const char *by;		/* what the whole is divided by: "size" */
	const char *label;	/* which part of it: "4 KiB" */
	u32 number;		/* its position, from 1 */
};

/* [enum blklat_by], from BLKLAT_BY_SIZE on: "size", "flags", ... */
extern const char *const by_names[BLKLAT_BYS];

/*
 * Returns the part with this label; NULL: there is none. By cgroup or process, a part is made when its label is first
 * asked for (NULL: the label is too long, or there is no memory); "" is the vacant part, which has no owner yet: see
 * part_is_vacant().
 *
 * As owners come and go without end, a part that was made is freed, but not while it is kept (part_keep()), nor before
 * PARTS_SPARE others have been made or given up since it was last found or given up. An interval has at most
 * BLKLAT_CGROUPS_MAX new ones, so whoever needs a part until the next interval may simply point to it.
 */
#define PARTS_SPARE 2048
const struct part *part_find(const char *by, const char *label);

/* Points *@at to @part, which is kept from now on, and gives up what it kept there before. Both may be NULL. */
void part_keep(const struct part **at, const struct part *part);

/* 0: the whole, NULL, or the vacant part. */
static inline u32 part_number(const struct part *part)
{
	return part ? part->number : 0;
}

/* The part with this number, from 1. By cgroup or process, those after the fixed ones are vacant. */
const struct part *part_numbered(enum blklat_by by, u32 number);

/*
 * By cgroup or process, watches also have parts for those to come. These have no IOs: a watch gets another part
 * before its first IO.
 */
bool part_is_vacant(const struct part *part);

/* Is that what its watch is divided by? @part may be NULL: no. */
bool part_is_by(const struct part *part, enum blklat_by by);

/* Is its watch divided by cgroup or process, whose parts come and go? @part may be NULL. */
bool part_has_owners(const struct part *part);

/*
 * Is it a process of its own, with the label NAME (PID); or a cgroup of its own, and its label a path or, of a
 * container of Kubernetes, NAMESPACE/POD/CONTAINER?
 */
bool part_is_owner(const struct part *part);

#define PART_TEXT_MAX (PART_LABEL_MAX + 16)

/* The label where nothing else says what it divides: "beside write", "depth 3-4", "4 KiB", "/system.slice". */
void part_text(char ret[PART_TEXT_MAX], const struct part *part);

/* What the part's --by means, in words: "bytes, rounded up". */
const char *part_meaning(const struct part *part);

#endif
