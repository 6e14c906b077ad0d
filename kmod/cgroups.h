/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups that are charged for IO, numbered as they come. All sessions that divide by cgroup share the numbers, which stay until all
 * sessions have let go of them (enum blklat_leaving), or the last of these ends.
 */
#ifndef KMOD_CGROUPS_H
#define KMOD_CGROUPS_H

#include "blklat/abi.h"
#include "blklat/parts.h"

struct bio;

/* Of one session: at which step of each number it let go of it last. */
struct blklat_cgroups_user {
	u32 agreed[BLKLAT_CGROUPS_MAX];
};

/* Whoever asks for numbers below @room holds the table meanwhile, with @user, which is all 0 at first. May sleep. */
void blklat_cgroups_get(u32 room);
void blklat_cgroups_put(const struct blklat_cgroups_user *user, u32 room);

/* The part, of those there are with room for @room cgroups, of whom @bio (or NULL: nobody) is charged to. In any context. */
u32 blklat_cgroup_part(u32 room, struct bio *bio);

/* The same of the cgroup @id, called @name; 0: nobody. */
u32 blklat_cgroup_part_of(u32 room, u64 id, const char *name);

/* The first @n, in @ret; where there are fewer, the others are 0. */
void blklat_cgroups_list(struct blklat_cgroup *ret, u32 n);

/*
 * @user lets go of @n numbers, each at the step that it says, and has the steps at which they are now: see BLKLAT_IOC_LEAVE. When it
 * returns, no probe is at work any more that began before a step was taken. May sleep.
 */
void blklat_cgroups_leave(struct blklat_cgroups_user *user, struct blklat_leaving *list, u32 n);

#endif
