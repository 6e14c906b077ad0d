/* SPDX-License-Identifier: GPL-2.0-only */
/* What a capture needs: slots for a device's requests, and memory for everything. Pure. */
#ifndef ENGINE_GEOMETRY_H
#define ENGINE_GEOMETRY_H

#include "core/capture.h"

/* Slots of one device at one stage: queues * stride, laid out as abi.h says; stride is a multiple of 16. */
struct slots {
	u32 queues;
	u32 stride;
	u32 tags;
};

/*
 * Room for the tags that @d's requests can carry, and some more, since queues and tags can be added while the device is
 * watched. IOs beyond that are lost (BLKLAT_TAG_RANGE) until there is a capture with more room (engine/renew.c).
 */
struct slots slots_of(const struct device *d, u32 cpus);

/* Buckets of the BPF engine's table of bios: a power of two, with at least twice as many cells as bios. */
u32 bio_buckets(u32 max_bios);

/* The size of what reports slow IOs; the minimum for a map if they are not wanted. All are powers of two. */
struct slow_room {
	u32 ring_bytes;
	u32 places;		/* of struct blklat_slow_place, in as many bytes */
	u32 notes;		/* places for struct note */
};

struct slow_room slow_room(const struct capture_config *cfg);

/* Slots that all watches of one device need. */
u32 slots_total(const struct device *d, bool device_stage, bool queue_stage, u32 cpus);

#endif
