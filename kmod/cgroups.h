/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroups that are charged for IO, numbered in the order of their first IOs. All sessions that
 * divide by cgroup share the numbers. A number stays until all sessions have released it (struct
 * blklat_leaving), or the last of them ends. The same of processes, which have numbers of their own.
 * @by: BLKLAT_BY_CGROUP or BLKLAT_BY_PROCESS.
 */
#ifndef KMOD_CGROUPS_H
#define KMOD_CGROUPS_H

#include "blklat/abi.h"
#include "blklat/parts.h"

struct bio;

/* For one session: the last step of each number to which it agreed. */
struct blklat_cgroups_user {
	u32 agreed[BLKLAT_CGROUPS_MAX];
};

/*
 * A session that asks for numbers below @room holds the table from get to put. @user is all 0 at first.
 * May sleep.
 */
void blklat_cgroups_get(u32 by, u32 room);
void blklat_cgroups_put(u32 by, const struct blklat_cgroups_user *user, u32 room);

/*
 * The part of the cgroup that is charged for @bio, if there is room for @room cgroups. @bio may be
 * NULL: no cgroup. Safe in any context.
 */
u32 blklat_cgroup_part(u32 room, struct bio *bio);

/* The part of the current process; all workers of the kernel have the same. Safe in any context with preemption off. */
u32 blklat_process_part(u32 room);

/* The same for the owner @id, named @name; @id 0: none. */
u32 blklat_owner_part(u32 by, u32 room, u64 id, const char *name);

/* Lists the first @n numbers in @ret; unused ones are 0. */
void blklat_cgroups_list(u32 by, struct blklat_cgroup *ret, u32 n);

/*
 * @user agrees to the next step of @n numbers, each of which it believes to be at the given step.
 * Returns their present steps in @list: see BLKLAT_IOC_LEAVE. On return, no probe is running any more
 * that began before a step was taken. May sleep.
 */
void blklat_cgroups_leave(u32 by, struct blklat_cgroups_user *user, struct blklat_leaving *list, u32 n);

#endif
