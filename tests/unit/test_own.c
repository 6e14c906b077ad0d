// SPDX-License-Identifier: GPL-2.0-only
/*
 * Series that CPUs have for themselves, given and taken back while they count: a store at a time, between any two accesses of
 * owns_settle(). Whatever the order, each IO must be in the sum of its watch and op, once.
 */
#include "unit.h"

static void at_access(void);

#define __atomic_load_n(at, order) (at_access(), *(volatile typeof(+*(at)) *)(at))
#define __atomic_store_n(at, value, order) (at_access(), (void)(*(at) = (value)), at_access())
#define __atomic_fetch_add(at, n, order) (at_access(), *(at) += (n))
#define __atomic_fetch_or(at, bits, order) (at_access(), *(at) |= (bits))
#include "engine/own.c"
#undef __atomic_load_n
#undef __atomic_store_n
#undef __atomic_fetch_add
#undef __atomic_fetch_or

#include "engine/region.h"

enum { CPUS = 3, WATCHES = 2, ROWS = WATCHES * BLKLAT_OPS, SCALE = 2, CELLS = BLKLAT_CELLS(SCALE), MOST_SPARE = CPUS * ROWS };

static struct world {
	struct region r;
	u32 epoch;
	struct cpu {
		u32 step;	/* 0: no IO is being counted */
		u32 row, number;
		u64 ns;
		bool held;
	} cpu[CPUS];
	struct { u64 ios, sum_ns, max_ns, not_min_ns; } done[ROWS];
	u64 random;
	bool running;
	u32 first, busy;	/* so many rows from the first on have IOs */
	u32 waits;
} w;

static u32 any(u32 n)
{
	w.random = w.random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (w.random >> 33) % n;
}

/* --- a CPU ----------------------------------------------------------------------------------- */

static void begin_io(struct cpu *c)
{
	u32 cpu = c - w.cpu;
	struct blklat_own *own;

	c->row = (w.first + any(w.busy)) % ROWS;
	c->ns = (1ULL << any(34)) + any(1000);	/* in few octaves often enough for all series to have them */
	own = own_of(&w.r, cpu, c->row);
	c->number = own->series[c->row % BLKLAT_OPS];
	own->shared[c->row % BLKLAT_OPS] += !c->number;
	c->number = c->number ?: c->row;
}

static void finish_io(const struct cpu *c)
{
	w.done[c->row].ios++;
	w.done[c->row].sum_ns += c->ns;
	w.done[c->row].max_ns = c->ns > w.done[c->row].max_ns ? c->ns : w.done[c->row].max_ns;
	w.done[c->row].not_min_ns = ~c->ns > w.done[c->row].not_min_ns ? ~c->ns : w.done[c->row].not_min_ns;
}

static void step(struct cpu *c)
{
	struct blklat_series *s;
	u32 octave, cell = blklat_place(c->ns, BLKLAT_SCALE_MAX - SCALE, &octave);

	if (!c->step) {
		begin_io(c);
		c->step = 1;
		return;
	}
	s = region_series(&w.r, c->number);
	switch (c->step++) {
	case 1:
		raise(&s->max_ns[0], c->ns);
		raise(&s->not_min_ns[0], ~c->ns);
		return;
	case 2:
		s->sum_ns += c->ns;
		return;
	case 3:
		s->octaves |= 1ULL << octave;
		return;
	default:
		s->bins[cell]++;
		finish_io(c);
		c->step = 0;
	}
}

static void at_access(void)
{
	struct cpu *c = &w.cpu[any(CPUS)];

	if (w.running && !c->held && !any(3))
		step(c);
}

static void finish_all(void)
{
	for (u32 i = 0; i < CPUS; i++)
		while (w.cpu[i].step)
			step(&w.cpu[i]);
}

static void wait_for_all(void *arg)
{
	assert_ptr_equal(arg, &w);
	w.waits++;
	finish_all();
}

/* --- the world ------------------------------------------------------------------------------- */

static void begin(u32 spare, u64 octaves_used)
{
	u32 bytes = BLKLAT_SERIES_BYTES(CELLS);

	memset(&w, 0, sizeof(w));
	w.busy = ROWS;
	w.r = (struct region){
		.cpus = CPUS, .watches = WATCHES, .scale = SCALE, .series_bytes = bytes, .epoch = &w.epoch,
		.series = calloc(ROWS + MOST_SPARE, bytes), .own = calloc(CPUS * WATCHES, sizeof(struct blklat_own)),
		.ranges = calloc(WATCHES, sizeof(struct region_slots)),
	};
	assert_int_equal(owns_init(&w.r, spare), 0);
	if (octaves_used)
		region_use_all_octaves(&w.r);
}

void tear_down(void)
{
	owns_uninit(&w.r);
	free(w.r.series);
	free(w.r.own);
	free(w.r.ranges);
}

/* What all series of a watch and op say is what was done; and each spare one is in one list. */
static void check(void)
{
	u32 listed = 0;

	for (u32 row = 0; row < ROWS; row++) {
		struct snapshot s;
		struct op_counts *o;

		assert_int_equal(snapshot_init(&s, 1, SCALE), 0);
		o = &s.w[0].ops[0];
		o->late_min_ns = UINT64_MAX;
		region_add_series(&w.r, row, row, o);
		for (u32 n = owns_first(&w.r.owns, row); n; n = owns_next(&w.r.owns, n), listed++) {
			const struct spare *spare = &w.r.owns.spare[n - w.r.owns.first];

			region_add_series(&w.r, n, n, o);
			assert_int_equal(spare->row, row);
			assert_int_equal(region_series(&w.r, n)->octaves & w.r.octaves_used, w.r.octaves_used);
			assert_int_equal(own_of(&w.r, spare->cpu, row)->series[row % BLKLAT_OPS], n);
		}
		assert_int_equal(hist_count(&o->hist), w.done[row].ios);
		assert_int_equal(o->sum_ns, w.done[row].sum_ns);
		/* The epoch is an even one, and has not ended. */
		assert_int_equal(o->late_max_ns, w.done[row].max_ns);
		assert_int_equal(o->late_min_ns, ~w.done[row].not_min_ns);
		snapshot_uninit(&s);
	}
	for (u32 n = w.r.owns.free; n; n = owns_next(&w.r.owns, n), listed++)
		assert_int_equal(region_series(&w.r, n)->sum_ns, 0);
	assert_int_equal(listed, w.r.owns.n);
}

static u32 count_given(void)
{
	u32 n = w.r.owns.n;

	for (u32 at = w.r.owns.free; at; at = owns_next(&w.r.owns, at))
		n--;
	return n;
}

/* Which series were used is noted while they are read. */
static void read_all(u64 now_ns)
{
	struct snapshot s;

	assert_int_equal(snapshot_init(&s, WATCHES, SCALE), 0);
	for (u32 i = 0; i < WATCHES; i++)
		region_read(&w.r, i, now_ns, &s.w[i]);
	snapshot_uninit(&s);
}

/* --- the tests ------------------------------------------------------------------------------- */

static void run_ios(u32 n)
{
	while (n--)
		step(&w.cpu[any(CPUS)]);
}

/* The busy rows change, more than a minute passes at each read, and a CPU may be held up in the middle of an IO. */
TEST(test_any_order)
{
	u32 taken = 0;

	for (u64 seed = 0; seed < 60; seed++) {
		u64 now = 0;

		begin(1 + seed % 8, seed % 2);
		w.random = seed;
		for (u32 read = 0; read < 20; read++) {
			w.first = any(ROWS);
			w.busy = 1 + any(4);
			run_ios(5 * 2000);
			for (u32 i = 0; i < CPUS; i++)
				w.cpu[i].held = !any(3);
			w.running = true;
			read_all(now += 70 * NSEC_PER_SEC);
			owns_settle(&w.r, now, wait_for_all, &w);
			w.running = false;
			finish_all();
			check();
		}
		taken += w.waits;
		tear_down();
	}
	assert_true(taken > 200);
	begin(0, 0);
}

TEST(test_room_for_all_is_given_at_once)
{
	begin(MOST_SPARE, 0);
	assert_int_equal(count_given(), MOST_SPARE);
	run_ios(10000);
	finish_all();
	check();
	for (u32 row = 0; row < ROWS; row++)
		assert_int_equal(region_series(&w.r, row)->sum_ns, 0);
	owns_settle(&w.r, 100 * NSEC_PER_SEC, wait_for_all, &w);
	assert_int_equal(count_given(), MOST_SPARE);
}

static void ask(u32 cpu, u32 row, u32 ios)
{
	own_of(&w.r, cpu, row)->shared[row % BLKLAT_OPS] = ios;
}

static bool has(u32 cpu, u32 row)
{
	return own_of(&w.r, cpu, row)->series[row % BLKLAT_OPS];
}

TEST(test_the_busiest_first)
{
	begin(3, 0);
	ask(0, 1, ASKS_LEAST - 1);
	ask(0, 2, 1000);
	ask(1, 2, 1001);
	ask(2, 2, 900);
	ask(2, 9, 4000000000);
	owns_settle(&w.r, 0, NULL, NULL);
	assert_true(has(0, 2) && has(1, 2) && has(2, 9));
	assert_false(has(0, 1) || has(2, 2));
	assert_int_equal(own_of(&w.r, 2, 2)->shared[2], 0);
	check();
}

/* A CPU counts in the shared series until just after it was given one of its own. */
TEST(test_only_one_of_each)
{
	begin(2, 0);
	for (u32 i = 0; i < 2; i++) {
		ask(1, 2, 1000);
		owns_settle(&w.r, 0, NULL, NULL);
		assert_int_equal(count_given(), 1);
		check();
	}
}

/* Those that have counted within a minute stay, and so do all where the kernel can't tell that an IO is done with. */
TEST(test_the_unused_are_taken)
{
	begin(2, 0);
	ask(0, 0, 1000);
	ask(1, 0, 1000);
	owns_settle(&w.r, 1 * NSEC_PER_SEC, wait_for_all, &w);
	region_series(&w.r, own_of(&w.r, 1, 0)->series[0])->bytes++;
	read_all(50 * NSEC_PER_SEC);
	ask(2, 0, 1000);
	owns_settle(&w.r, 60 * NSEC_PER_SEC, wait_for_all, &w);
	assert_true(has(0, 0) && has(1, 0));
	ask(2, 0, 1000);
	owns_settle(&w.r, 61 * NSEC_PER_SEC, NULL, NULL);
	assert_true(has(0, 0) && has(1, 0));
	ask(2, 0, 1000);
	owns_settle(&w.r, 61 * NSEC_PER_SEC, wait_for_all, &w);
	assert_true(has(1, 0) && has(2, 0));
	assert_false(has(0, 0));
	assert_int_equal(w.waits, 1);
}
