/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which CPU has which spare series (abi.h) for itself. Those that count most often in the shared ones get one each.
 * When there is none left, those that were not used for a minute are taken back. Either way every IO is counted:
 * sharing costs a few atomic operations more.
 */
#ifndef ENGINE_OWN_H
#define ENGINE_OWN_H

#include "blklat/abi.h"
#include "util/types.h"

struct region;

/* All 0: there is no spare series. */
struct owns {
	u32 first, n;		/* the numbers of the spare series are first to first + n - 1 */
	u32 free;		/* one that no CPU has; 0: none. The others follow by their next */
	struct spare {
		u32 next;	/* of the same watch and op, or free; 0: it is the last one */
		u32 cpu, row;	/* who has it, and beside which shared one: watch * BLKLAT_OPS + op */
		u64 sums;	/* grows with each IO; as last seen, at the time used_ns */
		u64 used_ns;
	} *spare;		/* [n] */
	u32 *of;		/* [watch][op] the first one that a CPU has; 0: none */
};

/* Whether @spare series are enough for each of @n_cpus to have one of each op of @watches. */
static inline bool owns_all(u32 spare, u32 watches, u32 n_cpus)
{
	return spare / BLKLAT_OPS / watches >= n_cpus;
}

/*
 * Sets r->owns for @spare series behind the shared ones. If owns_all(), each CPU gets all at once, those of CPU 0
 * first, in the order of the shared ones: then the programs compute the numbers. The counters are all 0. Returns 0 or
 * -ENOMEM; owns_uninit() frees it in both cases.
 */
int owns_init(struct region *r, u32 spare);
void owns_uninit(struct region *r);

/* The series that CPUs have beside the shared one with the number @row, one after the other: 0 after the last one. */
static inline u32 owns_first(const struct owns *o, u32 row)
{
	return o->n ? o->of[row] : 0;
}

static inline u32 owns_next(const struct owns *o, u32 number)
{
	return o->spare[number - o->first].next;
}

/* Notes at @now_ns (CLOCK_MONOTONIC) what the spare series @number has counted: @sums grows with each IO. */
static inline void owns_note(const struct owns *o, u32 number, u64 sums, u64 now_ns)
{
	struct spare *s = &o->spare[number - o->first];

	if (sums == s->sums)
		return;
	s->sums = sums;
	s->used_ns = now_ns;
}

/*
 * Gives and takes back series, by what was counted until @now_ns (CLOCK_MONOTONIC). @wait returns when no IO that
 * ended before is still being counted; NULL: none is taken back, as the kernel can't tell, or since nothing was noted
 * just before.
 */
void owns_settle(struct region *r, u64 now_ns, void (*wait)(void *arg), void *arg);

/*
 * For a row in which nobody counts: if CPUs have series by need, they are spare again, empty; else they are emptied,
 * and the CPUs keep them.
 */
void owns_clear(struct region *r, u32 row);

#endif
