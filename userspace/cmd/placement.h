/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a recording lies: it had better not be on what it measures. */
#ifndef CMD_PLACEMENT_H
#define CMD_PLACEMENT_H

#include "core/snapshot.h"
#include "util/problem.h"

/*
 * Does writing @file, which need not exist yet, reach a watched device or a disk below one? Returns
 * true and a sentence to warn by. What can't be found out (a network, an overlay) does not.
 */
bool placement_disturbs(const struct device_table *t, const struct watch *w, u32 n, const char *file,
			struct problem *p);

#endif
