/* SPDX-License-Identifier: GPL-2.0-only */
/* What a capture needs: slots for a device's requests, and memory for everything. Pure. */
#ifndef ENGINE_GEOMETRY_H
#define ENGINE_GEOMETRY_H

#include "core/capture.h"

/* Slots of one device, laid out as abi.h says; stride is a multiple of BLKLAT_SLOTS. */
struct slots {
	u32 queues;
	u32 stride;
	bool shared_tags;	/* all queues have the same */
};

static inline u32 slots_count(const struct slots *s)
{
	return s->shared_tags ? s->stride : s->queues * s->stride;
}

/*
 * Room for the tags that @d's requests can carry, and some more, since queues and tags can be added while the device is
 * watched. IOs beyond that are lost (BLKLAT_TAG_RANGE) until the device is moved to more slots (engine/room.h).
 */
struct slots slots_of(const struct device *d);

/* Is there room in @s for all tags that @d's requests can carry? */
bool slots_fit(const struct slots *s, const struct device *d);

/* Slots for the device of watch @first of @n, if it has any at the stages that follow there. */
u32 slots_for(const struct watch *watches, u32 first, u32 n);

/* The watches and slots that a capture of @cfg has room for: those that it begins with, and some that may be added. */
struct capture_room {
	u32 watches;
	u32 slots;
};

struct capture_room capture_room(const struct capture_config *cfg);

/* Buckets of the BPF engine's table of bios: a power of two, with at least twice as many cells as bios. */
u32 bio_buckets(u32 max_bios);

/* The size of what reports slow IOs; the minimum for a map if they are not wanted. All are powers of two. */
struct slow_room {
	u32 ring_bytes;
	u32 places;		/* of struct blklat_slow_place, in as many bytes */
	u32 notes;		/* places for struct note */
};

struct slow_room slow_room(const struct capture_config *cfg);

#endif
