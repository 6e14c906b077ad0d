// SPDX-License-Identifier: GPL-2.0-only
#include "engine/scan.h"

#include <stdatomic.h>
#include <string.h>

#include "blklat/parts.h"

#define MOVES (1ULL << 63)	/* in region.starts and rested_at: some slot was not at rest */
#define AHEAD 16		/* blocks: the processor does not foresee that of each only a quarter is read */

static void add_waiting(struct waiting *w, u64 age_ns)
{
	w->in_flight++;
	w->waited_ns += age_ns;
	if (age_ns > w->oldest_ns)
		w->oldest_ns = age_ns;
}

/*
 * The age of a slot's time, whose topmost @no_time bits are not part of the time. 0 if it is later than
 * the reader's clock.
 */
static u64 age_of(u64 now_ns, u64 ns, u32 no_time)
{
	s64 age = (s64)((now_ns - ns) << no_time) >> no_time;

	return age > 0 ? age : 0;
}

/* An IO that began at @ns, perhaps with marks, is in flight. */
static void add_time(struct scan *s, u64 ns)
{
	u32 part = s->n_parts ? blklat_slot_part(ns, s->by) : 0;
	u64 age_ns = age_of(s->now_ns, ns, s->n_parts ? 64 - BLKLAT_SLOT_PART_SHIFT : 3);

	add_waiting(&s->all, age_ns);
	if (s->parts && part && part <= s->n_parts)
		add_waiting(&s->parts[part - 1], age_ns);
}

/* The result of one look at a slot, at stage device. */
struct slot_look {
	u64 ns;			/* its time, without the engine's marks */
	u32 started;
	/* starts whose ends were missed: never one too many; one too few while another IO ends */
	u32 overwritten;
};

/* Reads in the order given in abi.h, so that an IO just starting or ending never looks like a missed end. */
static struct slot_look look_at(const struct blklat_slots *slots, u32 i)
{
	struct slot_look l = { .started = __atomic_load_n(&slots->started[i], __ATOMIC_ACQUIRE) };
	s32 missed;

	l.ns = __atomic_load_n(&slots->ns[i], __ATOMIC_ACQUIRE) & ~(BLKLAT_SLOT_AFTER_IDLE | BLKLAT_SLOT_SEEN);
	/* A request that waits is not in flight here. */
	if (l.ns & BLKLAT_SLOT_QUEUED)
		l.ns = BLKLAT_SLOT_FREE;
	missed = l.started - load(&slots->ended[i]) - (l.ns > BLKLAT_SLOT_VACANT);
	l.overwritten = missed > 0 ? missed : 0;
	return l;
}

/* Adds to the starts of its block. Returns whether the slot is free and all ends in it were seen. */
static bool scan_slot(const struct blklat_slots *slots, u32 i, struct scan *s, u32 *started)
{
	struct slot_look l = look_at(slots, i);

	*started += l.started;
	s->overwritten += l.overwritten;
	if (l.ns <= BLKLAT_SLOT_VACANT)
		return !l.overwritten;
	add_time(s, l.ns);
	return false;
}

/* Modulo 2^32. */
static u32 count_starts(const struct blklat_slots *slots)
{
	u32 started = 0;

	__builtin_prefetch(&slots[AHEAD].started[0]);
	__builtin_prefetch(&slots[AHEAD].started[BLKLAT_SLOTS / 2]);
	for (u32 i = 0; i < BLKLAT_SLOTS; i++)
		started += load(&slots->started[i]);
	return started;
}

/* All slots of a block. Returns region.starts for it. */
static u64 scan_block(const struct blklat_slots *slots, struct scan *s)
{
	u32 started = 0;
	bool rests = true;

	for (u32 i = 0; i < BLKLAT_SLOTS; i++)
		rests &= scan_slot(slots, i, s, &started);
	return rests ? started : started | MOVES;
}

/*
 * Stage queue, where only the times tell anything. If no request was waiting at the last look, and none has begun to
 * since, none is. Starts are read first: an IO that is counted there is in its slot, or has left it.
 */
static void scan_queue(const struct region *r, u32 i, struct scan *s, bool all)
{
	struct region_slots *range = &r->ranges[i];
	const struct blklat_slots *in = &r->slots[range->first / BLKLAT_SLOTS];

	s->started = region_account(r, i, BLKLAT_STARTED);
	atomic_thread_fence(memory_order_acquire);
	s->rests = !all && s->started == range->rested_at;
	for (u32 n = s->rests ? range->n : 0; n < range->n; n++) {
		u64 ns = load(&in[n / BLKLAT_SLOTS].ns[n % BLKLAT_SLOTS]);

		if (ns & BLKLAT_SLOT_QUEUED)
			add_time(s, ns);
	}
	if (!s->rests)
		range->rested_at = s->all.in_flight ? MOVES : s->started;
}

struct scan scan_slots(const struct region *r, u32 i, u64 now_ns, struct waiting *parts, bool all)
{
	struct scan s = { .now_ns = now_ns, .parts = parts, .n_parts = r->parts, .by = r->by, .rests = true };
	u32 first = r->ranges[i].first / BLKLAT_SLOTS;

	if (parts)
		memset(parts, 0, r->parts * sizeof(*parts));
	if (r->ranges[i].queue)
		scan_queue(r, i, &s, all);
	for (u32 block = first; block < first + r->ranges[i].n / BLKLAT_SLOTS && !r->ranges[i].queue; block++) {
		u64 *starts = &r->starts[block];

		if (all || *starts & MOVES || count_starts(&r->slots[block]) != (u32)*starts) {
			*starts = scan_block(&r->slots[block], &s);
			s.rests = false;
		}
		s.started += *starts & ~MOVES;
	}
	/* Everything else is read after the starts, as in look_at(). */
	atomic_thread_fence(memory_order_acquire);
	return s;
}
