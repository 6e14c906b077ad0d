/* SPDX-License-Identifier: GPL-2.0-only */
/* What both engines do with the slow IOs that their kernel side tells of. */
#ifndef ENGINE_SLOW_H
#define ENGINE_SLOW_H

#include "engine/kernel_capture.h"

/*
 * Takes one into the capture's list, where its numbers make sense; @wall_less_mono_ns is what CLOCK_REALTIME has more than
 * CLOCK_MONOTONIC. Returns 0 or -ENOMEM.
 */
int slow_take(struct kernel_capture *k, const struct blklat_slow *told, s64 wall_less_mono_ns);

/* Once all are taken: sorts the list, and names the cgroups of what is left in it. Returns 0 or -ENOMEM. */
int slow_finish(struct kernel_capture *k);

#endif
