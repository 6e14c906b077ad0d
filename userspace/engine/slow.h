/* SPDX-License-Identifier: GPL-2.0-only */
/* What both engines do with the slow IOs that their kernel side tells of. */
#ifndef ENGINE_SLOW_H
#define ENGINE_SLOW_H

#include "engine/kernel_capture.h"

/*
 * Has the kernel side to note who sent what: whose IOs are, where those of stage total lie, what they took in the stages before? @k is
 * initialized.
 */
bool slow_wants_notes(const struct kernel_capture *k);

/* Behind the read of the counters into @s, before the first one is taken. */
void slow_begin(struct kernel_capture *k, const struct snapshot *s);

/* Takes one into the capture's list, if its numbers make sense. Returns 0 or -ENOMEM. */
int slow_take(struct kernel_capture *k, const struct blklat_slow *told);

/*
 * Once all are taken: counts those that were not told, sorts the list, and names the cgroups of what is left in it. Returns 0 or
 * -ENOMEM.
 */
int slow_finish(struct kernel_capture *k);

#endif
