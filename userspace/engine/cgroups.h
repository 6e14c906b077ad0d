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

#endif
