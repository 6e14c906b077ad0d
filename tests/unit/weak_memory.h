/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A memory in which stores become visible in any order that is not forbidden, and loads see whatever they may. Goes
 * through every possibility: a model checker in the way of herd7, with the code itself as the litmus test.
 *
 * One CPU writes first and alone, in blocks, each for an object; what changed between two barriers is a group of stores.
 * An execution then puts all stores in one order, in which they become visible to everybody (arm64 is multi-copy atomic,
 * and so is x86). These keep their order:
 *   - two stores to one cell (coherence);
 *   - those of a block and those of a later one for the same object: between the start of a request and its end, and the
 *     next start with its tag, it is handed over, which the kernel orders (doorbell and interrupt, locks, atomics on the
 *     tag);
 *   - those of a group and those of a later one, if a barrier that is not missing lies between; on x86 also if a block
 *     ended between.
 * Each load sees the state at a time that it chooses: no earlier than the last load of the same cell, than any load with
 * acquire before it, or than any load before the last fence. Of the times at which it sees the same value the first is
 * enough: it forbids least.
 */
#ifndef WEAK_MEMORY_H
#define WEAK_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/types.h"

enum { WEAK_CELLS = 16, WEAK_STORES = 32, WEAK_CHOICES = 256 };

struct weak_store {
	u32 cell, block, object, group;
	u64 value;
};

struct weak_memory {
	/* How weak it is. */
	bool x86;			/* all loads are acquires, and a block's stores come before the next one's */
	u32 missing;			/* barriers that only the compiler obeys, see WEAK_BARRIER() */
	const void *relaxed;		/* loads of this cell are no acquires, whatever they say */
	bool no_fences;

	/* What was written. */
	u32 n_cells, n_stores, block, object, kind, group;
	u32 barriers[WEAK_STORES];	/* after each group; 0: none */
	const void *cells[WEAK_CELLS];
	u32 bytes[WEAK_CELLS];		/* of a cell: 4 or 8 */
	u64 places;			/* one bit per cell address, to rule out most other addresses at once */
	u64 first[WEAK_CELLS], now[WEAK_CELLS];
	struct weak_store stores[WEAK_STORES];

	/* One execution. */
	u32 order[WEAK_STORES];		/* of the stores, as they become visible, from time 1 on */
	u32 seen[WEAK_CELLS];		/* time of the last load of each cell */
	u32 floor, latest;

	/* The choices of this execution, and the number of options of each. */
	u32 choice[WEAK_CHOICES], of[WEAK_CHOICES];
	u32 n_choices, depth;
	u64 executions;
};

/* Barrier number @n, from 0, of blocks of @kind. */
#define WEAK_BARRIER(kind, n) (1U << ((kind) * 4 + (n)))
#define WEAK_ALL_BARRIERS (~0U)

static struct weak_memory weak;

static inline u64 weak_place(const void *at)
{
	return 1ULL << ((uintptr_t)at / sizeof(u32) % 64);
}

/* The number of a cell of the model, or WEAK_CELLS. */
static inline u32 weak_cell(const void *at)
{
	u32 cell = 0;

	while (cell < weak.n_cells && weak.cells[cell] != at)
		cell++;
	return cell < weak.n_cells ? cell : WEAK_CELLS;
}

static inline u64 weak_read(u32 cell)
{
	return weak.bytes[cell] == sizeof(u32) ? *(const u32 *)weak.cells[cell] : *(const u64 *)weak.cells[cell];
}

/* The cell at @at is part of the model; all else is ordinary memory. */
#define weak_watch(at) weak_watch_bytes(at, sizeof(*(at)))
static inline void weak_watch_bytes(const void *at, u32 bytes)
{
	u32 cell = weak.n_cells++;

	weak.places |= weak_place(at);
	weak.cells[cell] = at;
	weak.bytes[cell] = bytes;
	weak.first[cell] = weak.now[cell] = weak_read(cell);
}

/* What changed since then becomes a group of stores, followed by @barrier. */
static inline void weak_close_group(u32 barrier)
{
	for (u32 i = 0; i < weak.n_cells; i++) {
		if (weak_read(i) == weak.now[i])
			continue;
		weak.now[i] = weak_read(i);
		weak.stores[weak.n_stores++] = (struct weak_store){ i, weak.block, weak.object, weak.group, weak.now[i] };
	}
	weak.barriers[weak.group++] = barrier;
}

static inline void weak_begin(u32 kind, u32 object)
{
	weak.kind = kind * 4;
	weak.object = object;
}

static inline void weak_barrier(void)
{
	weak_close_group(1U << weak.kind++);
}

static inline void weak_end(void)
{
	weak_close_group(0);
	weak.block++;
}

/* --- one execution after the other ------------------------------------------------------------ */

static inline u32 weak_choose(u32 of)
{
	u32 d = weak.depth++;

	if (d == WEAK_CHOICES)
		abort();
	if (d == weak.n_choices) {
		weak.choice[d] = 0;
		weak.of[d] = of;
		weak.n_choices++;
	}
	return weak.choice[d];
}

static inline bool weak_is_before(const struct weak_store *a, const struct weak_store *b)
{
	if (a->cell == b->cell || (a->block != b->block && (weak.x86 || a->object == b->object)))
		return true;
	for (u32 group = a->group; group < b->group; group++)
		if (weak.barriers[group] & ~weak.missing)
			return true;
	return false;
}

/* Whether store @i may become visible next, @done being those that are. */
static inline bool weak_is_next(u32 i, u32 done)
{
	for (u32 j = 0; j < i; j++)
		if (!(done >> j & 1) && weak_is_before(&weak.stores[j], &weak.stores[i]))
			return false;
	return !(done >> i & 1);
}

static inline void weak_put_in_order(void)
{
	u32 done = 0;

	for (u32 t = 0; t < weak.n_stores; t++) {
		u32 next[WEAK_STORES], n = 0;

		for (u32 i = 0; i < weak.n_stores; i++)
			if (weak_is_next(i, done))
				next[n++] = i;
		weak.order[t] = next[n > 1 ? weak_choose(n) : 0];
		done |= 1U << weak.order[t];
	}
}

/* The reader has seen nothing yet, and @depth choices were made. */
static inline void weak_begin_reading(u32 depth)
{
	weak.depth = depth;
	weak.floor = weak.latest = 0;
	memset(weak.seen, 0, sizeof(weak.seen));
	weak.executions++;
}

static inline void weak_begin_execution(void)
{
	weak_begin_reading(0);
	weak_put_in_order();
}

/* Goes to the next execution with the same first @depth choices. Returns false if that was the last one. */
static inline bool weak_next_behind(u32 depth)
{
	while (weak.n_choices > depth && weak.choice[weak.n_choices - 1] + 1 == weak.of[weak.n_choices - 1])
		weak.n_choices--;
	if (weak.n_choices == depth)
		return false;
	weak.choice[weak.n_choices - 1]++;
	return true;
}

static inline bool weak_next_execution(void)
{
	return weak_next_behind(0);
}

/* --- the reader's side ------------------------------------------------------------------------ */

/* From here on all stores are visible. */
static inline void weak_settle(void)
{
	weak.floor = weak.n_stores;
}

/* The times at which @cell changes after @since: returns how many, and the @n-th, counted from 1. */
static inline u32 weak_changes(u32 cell, u32 since, u32 n, u32 *ret_time)
{
	u32 changes = 0;

	for (u32 t = since; t < weak.n_stores; t++)
		if (weak.stores[weak.order[t]].cell == cell && ++changes == n)
			*ret_time = t + 1;
	return changes;
}

static inline u64 weak_value(u32 cell, u32 time)
{
	u64 value = weak.first[cell];

	for (u32 t = 0; t < time; t++)
		if (weak.stores[weak.order[t]].cell == cell)
			value = weak.stores[weak.order[t]].value;
	return value;
}

static inline bool weak_is_cell(const void *at)
{
	return weak.places & weak_place(at) && weak_cell(at) < WEAK_CELLS;
}

/* Of a cell. */
static inline u64 weak_load(const void *at, int order)
{
	u32 cell = weak_cell(at), time, changes;

	time = weak.floor > weak.seen[cell] ? weak.floor : weak.seen[cell];
	changes = weak_changes(cell, time, 0, NULL);
	if (changes)
		weak_changes(cell, time, weak_choose(changes + 1), &time);
	weak.seen[cell] = time;
	if (time > weak.latest)
		weak.latest = time;
	if (weak.x86 || (order == __ATOMIC_ACQUIRE && at != weak.relaxed))
		weak.floor = time > weak.floor ? time : weak.floor;
	return weak_value(cell, time);
}

static inline void weak_fence(void)
{
	if (!weak.no_fences && weak.latest > weak.floor)
		weak.floor = weak.latest;
}

#endif
