/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of the parts by cgroup, or by process. Numbers mean the same in all captures of this process (abi.h), so a
 * name found by one capture is kept for all. A capture's watches get their parts when its engine has
 * seen which cgroup has the number.
 */
#ifndef ENGINE_CGROUPS_H
#define ENGINE_CGROUPS_H

#include "engine/kernel_capture.h"

/*
 * Gives the watches of @k the parts of the cgroups in @list, which has k->cgroups entries, by number. To be called
 * after a read of the counters: then that read has no IO of a cgroup that is not in the list. Returns 0 or -ENOMEM.
 */
int cgroups_name(struct kernel_capture *k, const struct blklat_cgroup *list);

/*
 * Releases the numbers of cgroups that have ended, as enum blklat_step says, so that others may get
 * them. To be called after cgroups_name(), with the read @s. @let_go tells the kernel side; it returns
 * 0 and their present steps, or a negative errno. When a number is free, the watches of @k get a vacant
 * part there, and whatever is counted in it from then on belongs to another cgroup.
 */
int cgroups_leave(struct kernel_capture *k, const struct blklat_cgroup *list, const struct snapshot *s,
		  int (*let_go)(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n));

#endif
