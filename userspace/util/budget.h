/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of something whose size has a limit. What is refused is not counted. */
#ifndef UTIL_BUDGET_H
#define UTIL_BUDGET_H

#include "util/array.h"

struct budget {
	u64 taken, most;	/* bytes; most is 0: no limit */
	bool exceeded;		/* something was refused */
};

static inline u64 budget_left(const struct budget *b)
{
	return b->most - b->taken;
}

/* Counts memory that is allocated elsewhere. Returns 0 or -E2BIG. */
static inline int budget_take(struct budget *b, u64 bytes)
{
	if (b->most && b->taken + bytes > b->most) {
		b->exceeded = true;
		return -E2BIG;
	}
	b->taken += bytes;
	return 0;
}

/* Like array_grow(), of an array that has room for @had elements. Returns 0, -E2BIG or -ENOMEM. */
static inline int budget_grow(struct budget *b, void *array, size_t size, u32 had, u32 room)
{
	return budget_take(b, (u64)size * (room - had)) ?: array_grow(array, size, room);
}

/* Sets @ret to @size bytes of zeroes. Returns the same. */
static inline int budget_calloc(struct budget *b, void *ret, size_t size)
{
	void **to = ret;
	int err = budget_take(b, size);

	if (err)
		return err;
	*to = calloc(1, size);
	return *to ? 0 : -ENOMEM;
}

#endif
