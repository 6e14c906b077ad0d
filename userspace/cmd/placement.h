/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks where a recording is written: it should not be on a device that it measures. */
#ifndef CMD_PLACEMENT_H
#define CMD_PLACEMENT_H

#include "core/snapshot.h"
#include "util/problem.h"

/*
 * Whether writing @file, which need not exist yet, reaches a watched device or a disk below one. If so,
 * returns true and a sentence to warn with. If that can't be found out (a network file system, an
 * overlay), returns false.
 */
bool placement_disturbs(const struct device_table *t, const struct watch *w, u32 n, const char *file,
			struct problem *p);

#endif
