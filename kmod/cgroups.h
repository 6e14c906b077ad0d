/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups that are charged for IO, numbered as they come. All sessions that divide by cgroup share the numbers, which stay until the
 * last of them ends.
 */
#ifndef KMOD_CGROUPS_H
#define KMOD_CGROUPS_H

#include "blklat/abi.h"

struct bio;

/* Whoever asks for numbers holds the table meanwhile. May sleep. */
void blklat_cgroups_get(void);
void blklat_cgroups_put(void);

/* The part, of those there are with room for @room cgroups, of whom @bio (or NULL: nobody) is charged to. In any context. */
u32 blklat_cgroup_part(u32 room, struct bio *bio);

/* The same of the cgroup @id, called @name; 0: nobody. */
u32 blklat_cgroup_part_of(u32 room, u64 id, const char *name);

/* The first @n, in @ret; where there are fewer, the others are 0. */
void blklat_cgroups_list(struct blklat_cgroup *ret, u32 n);

#endif
