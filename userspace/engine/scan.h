/* SPDX-License-Identifier: GPL-2.0-only */
/* The slots of a watch, as they are seen at one moment, while IOs start and end. */
#ifndef ENGINE_SCAN_H
#define ENGINE_SCAN_H

#include "engine/region.h"

/* The engine writes what we read; each cell is one aligned word. */
#define load(cell) __atomic_load_n(cell, __ATOMIC_RELAXED)

struct scan {
	u64 now_ns;
	u64 started, overwritten;
	bool rests;		/* all are known to be free by their starts */
	struct waiting {
		u64 in_flight, oldest_ns, waited_ns;
	} all;
	struct waiting *parts;	/* [part - 1]; NULL: not wanted */
	u32 n_parts, by;
};

/*
 * If all slots of a block were free at the last look, all ends had been seen, and nothing has been started since,
 * then they are still free. Only their starts have to be read, a quarter of their memory. Most devices are at rest,
 * and a busy one uses few of its tags at a time. @all: look at every slot nevertheless. @parts: for those of the
 * watch, filled as well; NULL: not wanted.
 */
struct scan scan_slots(const struct region *r, u32 i, u64 now_ns, struct waiting *parts, bool all);

#endif
