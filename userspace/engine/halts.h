/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds when IOs are in flight and none ends, by looks between the reads: see live_ops.glance. */
#ifndef ENGINE_HALTS_H
#define ENGINE_HALTS_H

#include "engine/kernel_capture.h"

/* The engines' live_ops.glance; and the same at @now (CLOCK_MONOTONIC). */
void halts_glance(struct capture *c);
void halts_look(struct kernel_capture *k, u64 now);

/* Ends the interval of @s with a last look. */
void halts_read(struct kernel_capture *k, struct snapshot *s);

#endif
