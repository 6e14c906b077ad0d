/* SPDX-License-Identifier: GPL-2.0-only */
/* IOs of watch 0 of a fake region, which has slots. */
#ifndef FAKE_SLOTS_H
#define FAKE_SLOTS_H

#include "fake_region.h"

/* Slot @n of watch 0, whose slots begin at number 16. */
static inline struct blklat_slots *block_of(struct fake *f, u32 n)
{
	return &f->slots[(16 + n) / 16];
}

/* The two writes of a start and of an end, in the order of abi.h; the bin comes after them. */
static inline void start_write(struct fake *f, u32 n, int step, u64 ns)
{
	struct blklat_slots *s = block_of(f, n);

	if (step == 0)
		__atomic_store_n(&s->ns[n % 16], ns, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&s->started[n % 16], s->started[n % 16] + 1, __ATOMIC_RELEASE);
}

static inline void end_write(struct fake *f, u32 n, int step)
{
	struct blklat_slots *s = block_of(f, n);

	if (step == 0)
		__atomic_store_n(&s->ended[n % 16], s->ended[n % 16] + 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&s->ns[n % 16], BLKLAT_SLOT_FREE, __ATOMIC_RELEASE);
}

static inline void start(struct fake *f, u32 n, u64 ns)
{
	start_write(f, n, 0, ns);
	start_write(f, n, 1, ns);
}

static inline void end(struct fake *f, u32 n)
{
	end_write(f, n, 0);
	end_write(f, n, 1);
}

static inline void complete(struct fake *f, u32 n, u64 bin)
{
	end(f, n);
	fake_io(f, n % FAKE_CPUS, 0, BLKLAT_OP_READ, latency_of(bin));
}

static inline u64 completed(const struct watch_counts *w)
{
	u64 sum = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		sum += hist_count(&w->ops[op].hist);
	return sum;
}

static inline void check(const struct watch_counts *w, u64 started, u64 in_flight, u64 overwritten)
{
	assert_int_equal(w->started, started);
	assert_int_equal(w->started_after, started);
	assert_int_equal(w->in_flight, in_flight);
	assert_int_equal(w->in_flight_after, in_flight);
	assert_int_equal(w->accounts[BLKLAT_OVERWRITTEN], overwritten);
}

#endif
