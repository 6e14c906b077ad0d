/* SPDX-License-Identifier: GPL-2.0-only */
/* What both engines do with the slow IOs that their kernel side reports. */
#ifndef ENGINE_SLOW_H
#define ENGINE_SLOW_H

#include "engine/kernel_capture.h"

/*
 * Does the kernel side have to note who sent what? That is needed for the owners of IOs, the sectors of
 * IOs at stage total, and the time that IOs took in earlier stages. @k is initialized.
 */
bool slow_wants_notes(const struct kernel_capture *k);

/* After the counters were read into @s, before the first report is taken. */
void slow_begin(struct kernel_capture *k, const struct snapshot *s);

/* Adds a report to the capture's list, if its numbers make sense. Returns 0 or -ENOMEM. */
int slow_take(struct kernel_capture *k, const struct blklat_slow *told);

/*
 * When all are taken: counts the IOs that were not reported, sorts the list, and finds the paths of the
 * cgroups in it. Returns 0 or -ENOMEM.
 */
int slow_finish(struct kernel_capture *k);

#endif
