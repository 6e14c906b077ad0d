/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices that go away while they are captured. This shows in the kernel's statistics. The figures of
 * such a device are taken once more, frozen, and reported as they are from then on: what the kernel
 * side counts at its place later belongs to another device, or to none.
 */
#ifndef ENGINE_GONE_H
#define ENGINE_GONE_H

#include "engine/kernel_capture.h"

/* The kernel's statistics of a device, which are the same for all its stages. */
struct kernel_read {
	struct kernel_stat stat;
	int err;
};

/*
 * Reads the statistics of the device of whole @i into @read, at the first of its watches, which are next
 * to each other; at the others @read is what was read there. Notes it if the device is gone. Returns 0,
 * or a negative errno: -ENODEV if it is gone.
 */
int gone_read_statistics(struct kernel_capture *k, u32 i, struct kernel_read *read);

/* Marks a whole and its parts in @w as gone, or not. */
void gone_mark(const struct kernel_capture *k, u32 whole, struct watch_counts *w);

/* Puts the frozen figures into @s. */
void gone_take_frozen(const struct kernel_capture *k, struct snapshot *s);

/*
 * For a read that has just found devices gone: @s gets their last figures, which include what they did
 * since the region was read for it.
 */
void gone_finish(struct kernel_capture *k, struct snapshot *s);

/*
 * For an engine's look: notes which devices went away since the last look or read, and waits up to 20 ms for their IOs
 * in flight, as no other device takes their place before those end. Returns whether there are any such devices. If so,
 * the engine stops counting them, as far as it can, and calls gone_freeze(). From then on their figures stay.
 */
bool gone_find(struct kernel_capture *k);
void gone_freeze(struct kernel_capture *k);

/* Ends an engine's read: devices that are gone have now been reported. */
void gone_reported(struct kernel_capture *k);

#endif
