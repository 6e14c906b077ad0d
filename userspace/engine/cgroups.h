/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the parts by cgroup are called. Numbers mean the same in all captures of this process (abi.h), so what is found out about one is
 * kept for all; a capture's watches get their parts when an engine has seen whose they are.
 */
#ifndef ENGINE_CGROUPS_H
#define ENGINE_CGROUPS_H

#include "engine/kernel_capture.h"

/*
 * Gives the watches of @k the parts of the cgroups @list, of which there are k->cgroups, by number. To be called behind a read of the
 * counters, which then has no IO of a cgroup that is not in the list. Returns 0 or -ENOMEM.
 */
int cgroups_name(struct kernel_capture *k, const struct blklat_cgroup *list);

/*
 * Lets go of the cgroups that have ended, as enum blklat_step says, so that others may have their numbers. To be called behind that, with
 * what was read: @s. @let_go tells the kernel side; it returns 0, with the steps at which they are now, or a negative errno. When a
 * number is free, the watches of @k have a vacant part there, and what counts in it from then on is another cgroup's.
 */
int cgroups_leave(struct kernel_capture *k, const struct blklat_cgroup *list, const struct snapshot *s,
		  int (*let_go)(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n));

#endif
