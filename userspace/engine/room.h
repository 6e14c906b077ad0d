/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The room of a capture: watches and slots that devices get when they come, and give back when they have gone. A
 * device that has more tags than slots is moved to others.
 */
#ifndef ENGINE_ROOM_H
#define ENGINE_ROOM_H

#include "engine/kernel_capture.h"

/*
 * Gives the watches of k->capture, with which it begins, their slots. Before the region is made: only the ranges are
 * set. Returns the number of slots in use.
 */
u32 room_place(struct kernel_capture *k);

/* The engines' live_ops.add. */
int room_add(struct capture *c, const struct watch *w, u32 n, u32 *ret, struct problem *p);

/* Has devices that are gone no longer counted. To be called at the end of a read and of a look. */
void room_remove_gone(struct kernel_capture *k);

/* After a read into @s: moves a device that has outgrown its slots, and sets k->capture.outgrown. */
void room_move_outgrown(struct kernel_capture *k, const struct snapshot *s);

#endif
