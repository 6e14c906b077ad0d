// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time with an IO in flight, as both engines add it to BLKLAT_BUSY and the reader takes it: two CPUs, in every order
 * in which the steps of their IOs can follow each other, read after each step.
 */
#include "fake_region.h"

enum { START = 1000000, WATCH = 2, IOS = 4, STEPS = 6 };

/* An IO's start and its end, each of three steps: it reads the clock, counts, and adds the edge if it is one. */
struct edge {
	u64 ns, done_ns;
	bool counted_first;
};

struct world {
	struct cpu {
		u32 ios, step;
		struct edge edges[IOS][2];
	} cpus[2];
	u64 now, in_flight, cell;
};

static struct fake *f;
static u32 runs;

static u64 busy_at(u64 now, u64 cell)
{
	*fake_account(f, FAKE_CPUS - 1, WATCH, BLKLAT_BUSY) = cell;
	region_read(&f->r, WATCH, now, &f->now.w[WATCH]);
	return f->now.w[WATCH].accounts[BLKLAT_BUSY];
}

static void step(struct world *w, struct cpu *c)
{
	u32 in = c->step++;
	bool ends = in % STEPS >= 3;
	struct edge *e = &c->edges[in / STEPS][ends];

	w->now += 10 + 7 * (in % 5);
	if (in % 3 == 0) {
		e->ns = w->now;
	} else if (in % 3 == 1) {
		e->counted_first = w->in_flight == ends;
		w->in_flight += ends ? -1 : 1;
	} else {
		if (e->counted_first)
			w->cell += ends ? e->ns + (1ULL << 58) : -(e->ns + (1ULL << 58));
		e->done_ns = w->now;
	}
}

/* The time in which an IO was in flight, by the clocks that were read; @ret_slack: how late their edges were. */
static u64 truth(const struct world *w, u64 *ret_slack)
{
	u64 busy = 0;

	*ret_slack = 0;
	for (u64 t = START; t < w->now; t++) {
		bool any = false;

		for (u32 i = 0; i < 2 * IOS; i++) {
			const struct edge *e = w->cpus[i / IOS].edges[i % IOS];

			any |= e[0].ns && e[0].ns <= t && (!e[1].ns || t < e[1].ns);
			for (u32 k = 0; k < 2; k++)
				*ret_slack += e[k].ns && e[k].ns <= t && (!e[k].done_ns || t < e[k].done_ns);
		}
		busy += any;
	}
	return busy;
}

static void run_all(const struct world *w)
{
	u64 slack, busy = truth(w, &slack);

	assert_in_range(busy_at(w->now, w->cell), busy > slack ? busy - slack : 0, busy + slack);
	for (u32 i = 0; i < 2; i++) {
		struct world next = *w;

		if (w->cpus[i].step == STEPS * w->cpus[i].ios)
			continue;
		step(&next, &next.cpus[i]);
		run_all(&next);
	}
	if (w->cpus[0].step + w->cpus[1].step < STEPS * (w->cpus[0].ios + w->cpus[1].ios))
		return;
	assert_int_equal(w->cell >> 58, 0);
	runs++;
}

TEST(every_order_of_two_cpus)
{
	struct world w = { .cpus = { { .ios = 2 }, { .ios = 1 } }, .now = START };

	f = fake_new(0);
	f->r.by = BLKLAT_BY_DEPTH;
	run_all(&w);
	assert_int_equal(runs, 18564);
}

/* One IO at a time: exactly the sum of the latencies, also while one is in flight. */
TEST(alone_it_is_exact)
{
	const u64 years = 4 * 365 * 86400 * NSEC_PER_SEC;
	u64 cell = 0;

	f = fake_new(0);
	f->r.by = BLKLAT_BY_DEPTH;
	for (u64 now = years, busy = 0, ns = 12345; ns < 12400; busy += ns, now += 2 * ns++) {
		cell -= now + (1ULL << 58);
		assert_int_equal(busy_at(now, cell), busy);
		assert_int_equal(busy_at(now + 77, cell), busy + 77);
		cell += now + ns + (1ULL << 58);
		assert_int_equal(busy_at(now + years / 10, cell), busy + ns);
	}
	/* From the machine's start on, without a pause. */
	assert_int_equal(busy_at(years, -(1ULL << 58)), years);
	assert_int_equal(busy_at(2 * years, years), years);
}
