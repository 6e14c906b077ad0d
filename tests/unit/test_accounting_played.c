// SPDX-License-Identifier: GPL-2.0-only
/* The accounting of a simulated engine with every fault that an engine can have. */
#include "accounting_check.h"

#define TAGS 16

/* An engine and its traffic, with every fault on demand; what went wrong is counted beside it. */
struct engine {
	struct watch_counts *w;
	u64 seed;
	struct {
		u64 count;
		bool used;		/* as the engine sees it */
		bool alive;		/* as it really is */
	} slots[TAGS];
	u64 *unwritten[CPUS];		/* the bin of an IO whose slot is free already */
	bool faults;
	u64 vanished;			/* IOs that left their slot and never reached a bin */
	u64 skipped;
};

static bool one_in(struct engine *e, u32 n)
{
	return next_random(&e->seed) % n == 0;
}

static void write_bin(struct engine *e, u32 cpu)
{
	if (e->unwritten[cpu])
		++*e->unwritten[cpu];
	e->unwritten[cpu] = NULL;
}

static void start(struct engine *e, u32 tag)
{
	e->slots[tag].alive = true;
	if (e->faults && one_in(e, 50)) {
		e->skipped++;
		return;
	}
	e->w->accounts[BLKLAT_OVERWRITTEN] += e->slots[tag].used;
	e->slots[tag].used = true;
	e->slots[tag].count++;
}

static void end(struct engine *e, u32 tag, u32 cpu)
{
	e->slots[tag].alive = false;
	if (e->faults && one_in(e, 50)) {
		e->skipped++;
		return;
	}
	if (!e->slots[tag].used) {
		e->w->accounts[BLKLAT_NO_START]++;
		return;
	}
	e->slots[tag].used = false;
	if (one_in(e, 10))
		e->w->accounts[BLKLAT_REQUEUED]++;
	else if (e->faults && one_in(e, 100))
		e->vanished++;
	else
		e->unwritten[cpu] = &e->w->ops[tag % BLKLAT_OPS].hist.cells[tag];
}

static void traffic(struct engine *e, u32 events)
{
	while (events--) {
		u32 tag = next_random(&e->seed) % TAGS, cpu = next_random(&e->seed) % CPUS;

		write_bin(e, cpu);
		if (e->slots[tag].alive)
			end(e, tag, cpu);
		else
			start(e, tag);
	}
}

/* Slots are not read at one moment: IOs move on between two reads. */
static void read_slots(struct engine *e, u32 meanwhile, u64 *ret_started, u64 *ret_in_flight)
{
	*ret_started = *ret_in_flight = 0;
	for (u32 tag = 0; tag < TAGS; tag++) {
		*ret_started += e->slots[tag].count;
		*ret_in_flight += e->slots[tag].used;
		traffic(e, meanwhile);
	}
}

/* Slots, bins and accounts, slots, with @meanwhile events between any two reads. */
static void read_engine(struct engine *e, u32 meanwhile, struct watch_counts *w)
{
	read_slots(e, meanwhile, &w->started, &w->in_flight);
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		hist_clear(&w->ops[op].hist);
		hist_add(&w->ops[op].hist, &e->w->ops[op].hist);
		traffic(e, meanwhile);
	}
	for (u32 i = 0; i < BLKLAT_ACCOUNTS; i++) {
		w->accounts[i] = e->w->accounts[i];
		traffic(e, meanwhile);
	}
	read_slots(e, meanwhile, &w->started_after, &w->in_flight_after);
}

static void check_losses(const struct accounting *a, const struct engine *e, u32 meanwhile,
			 u64 vanished)
{
	u64 unexplained = a->lost_by[LOST_UNEXPLAINED];

	check_identity("simulated", a);
	/* Each skipped run costs at most one IO, so skipped runs explain all of these. */
	assert_int_equal(a->lost_by[LOST_NO_START] + a->lost_by[LOST_OVERWRITTEN], 0);
	if (!meanwhile) {
		assert_int_equal(a->moved, 0);
		assert_int_equal(unexplained, vanished);
	} else if (!e->faults) {
		assert_int_equal(a->lost, 0);
	} else {
		/* IOs on the move may hide a loss, but never invent one. */
		assert_true(unexplained <= e->vanished);
		assert_true(unexplained + a->moved >= vanished);
	}
}

static void simulate(bool faults, u32 meanwhile)
{
	struct engine e = { .seed = SEED + meanwhile, .faults = faults };
	struct snapshot real, s;

	assert_int_equal(snapshot_init(&real, 1, 0), 0);
	assert_int_equal(snapshot_init(&s, 1, 0), 0);
	e.w = &real.w[0];
	for (u32 round = 0; round < 2000; round++) {
		struct accounting a;
		u64 left, vanished;

		traffic(&e, next_random(&e.seed) % 50);
		for (u32 cpu = 0; cpu < CPUS && !meanwhile; cpu++)
			write_bin(&e, cpu);
		vanished = e.vanished;
		read_engine(&e, meanwhile, &s.w[0]);
		s.skipped = left = e.skipped;
		accounting_make(&s, 0, CPUS, &left, &a);
		check_losses(&a, &e, meanwhile, vanished);
	}
	assert_true(!faults || (e.vanished > 10 && e.skipped > 100));
	snapshot_uninit(&real);
	snapshot_uninit(&s);
}

TEST(simulated_quiet)
{
	simulate(false, 0);
}

TEST(simulated_moving)
{
	simulate(false, 1);
	simulate(false, 10);
}

TEST(simulated_faults)
{
	simulate(true, 0);
	simulate(true, 1);
	simulate(true, 10);
}
