// SPDX-License-Identifier: GPL-2.0-only
#include "fake_region.h"

static struct fake *f;

/* The IOs here are counted without a start: slots would say that there are none. */
static struct fake *without_slots(u32 scale)
{
	struct fake *made = fake_new(scale);

	memset(made->ranges, 0, sizeof(made->ranges));
	return made;
}

void set_up(void)
{
	f = without_slots(6);
}

/* What an op of a watch must yield, added up IO by IO. */
struct expected {
	u64 sum_ns, bytes, errors, min_ns, max_ns, ios;
	u64 cells[33 * 64 + 2];
};

static void check_op(u32 watch, u32 o, const struct expected *e)
{
	const struct op_counts *op = &f->now.w[watch].ops[o];
	struct extremes extremes;

	assert_int_equal(op->sum_ns, e->sum_ns);
	assert_int_equal(op->bytes, e->bytes);
	assert_int_equal(op->errors, e->errors);
	assert_int_equal(hist_count(&op->hist), e->ios);
	assert_memory_equal(op->hist.cells, e->cells, fake_cells(f->r.scale) * sizeof(u64));
	if (!e->ios)
		return;
	extremes = fake_extremes(f, watch, o);
	assert_int_equal(extremes.min_ns, e->min_ns);
	assert_int_equal(extremes.max_ns, e->max_ns);
}

static void add_random_io(u64 *seed, struct expected *all)
{
	u32 cpu = next_random(seed) % (FAKE_CPUS + 1), watch = next_random(seed) % FAKE_WATCHES;
	u32 op = next_random(seed) % FAKE_OPS, bytes = next_random(seed) % (1 << 20);
	bool failed = !(next_random(seed) % 10);
	struct latency l = latency_of(320 + next_random(seed) % (33 * 64 - 320));
	struct expected *e = &all[watch * FAKE_OPS + op];
	u64 *s = fake_series(f, cpu, watch, op);

	fake_io(f, cpu, watch, op, l);
	s[AT_BYTES] += bytes;
	s[AT_ERRORS] += failed;
	e->sum_ns += l.ns;
	e->bytes += bytes;
	e->errors += failed;
	e->ios++;
	e->cells[fake_cell(f, l)]++;
	e->max_ns = l.ns > e->max_ns ? l.ns : e->max_ns;
	e->min_ns = l.ns < e->min_ns ? l.ns : e->min_ns;
}

/* Five intervals at each scale: sums grow, extremes are those of each interval. */
TEST(test_every_cpu_watch_and_op)
{
	struct expected *all = calloc(FAKE_WATCHES * FAKE_OPS, sizeof(*all));
	u64 seed = 1;

	for (u32 scale = 0; scale <= 6; scale++) {
		f = without_slots(scale);
		memset(all, 0, FAKE_WATCHES * FAKE_OPS * sizeof(*all));
		for (u32 interval = 0; interval < 5; interval++) {
			for (u32 i = 0; i < FAKE_WATCHES * FAKE_OPS; i++) {
				all[i].min_ns = UINT64_MAX;
				all[i].max_ns = 0;
			}
			/* 20 of each op on average, so that every interval has some. */
			for (u32 n = 0; n < FAKE_WATCHES * FAKE_OPS * 20; n++)
				add_random_io(&seed, all);
			fake_drain(f, 0);
			for (u32 i = 0; i < FAKE_WATCHES * FAKE_OPS; i++)
				check_op(i / FAKE_OPS, i % FAKE_OPS, &all[i]);
		}
	}
	free(all);
}

/* Every cell holds a number of its own; with one bit set, exactly that octave's cells are read. */
TEST(test_octaves)
{
	for (u32 scale = 0; scale <= 6; scale++)
		for (u32 octave = 0; octave < 35; octave++) {
			u32 cells = fake_cells(scale), above = cells - 1;
			const struct watch_counts *w;
			u64 *s;

			f = without_slots(scale);
			s = fake_series(f, 1, 1, BLKLAT_OP_WRITE);
			for (u32 cell = 0; cell < cells; cell++)
				s[AT_BINS + cell] = cell + 1;
			s[AT_OCTAVES] = 1ULL << octave;
			w = fake_drain(f, 1);
			for (u32 cell = 0; cell < cells; cell++) {
				u32 of = cell == 0 ? 34 : cell == above ? 33 : (cell - 1) / (1u << scale);

				assert_int_equal(w->ops[BLKLAT_OP_WRITE].hist.cells[cell],
						 of == octave ? cell + 1 : 0);
			}
			assert_int_equal(hist_count(&w->ops[BLKLAT_OP_READ].hist), 0);
		}
}

TEST(test_outside_of_the_grid)
{
	const struct op_counts *op;
	struct extremes e;

	fake_io_outside(f, 0, BLKLAT_OP_READ, 3, false);
	fake_io_outside(f, 0, BLKLAT_OP_READ, 200 * NSEC_PER_SEC, true);
	fake_io_outside(f, 0, BLKLAT_OP_READ, 300 * NSEC_PER_SEC, true);
	op = &fake_drain(f, 0)->ops[BLKLAT_OP_READ];
	e = fake_extremes(f, 0, BLKLAT_OP_READ);
	assert_int_equal(op->hist.cells[0], 1);
	assert_int_equal(op->hist.cells[fake_cells(6) - 1], 2);
	assert_int_equal(hist_count(&op->hist), 3);
	assert_int_equal(e.min_ns, 3);
	assert_int_equal(e.max_ns, 300 * NSEC_PER_SEC);
}

TEST(test_accounts)
{
	f = fake_new(6);
	for (u32 cpu = 0; cpu < FAKE_CPUS; cpu++)
		for (u32 watch = 0; watch < FAKE_WATCHES; watch++)
			for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++)
				*fake_account(f, cpu, watch, cell) = (watch * 100 + cell) * 1000 + cpu + 1;
	fake_drain(f, 0);
	for (u32 watch = 0; watch < FAKE_WATCHES; watch++)
		for (u32 cell = 0; cell < BLKLAT_ACCOUNTS; cell++) {
			u64 sum = (watch * 100 + cell) * 3000 + 6;

			assert_int_equal(region_account(&f->r, watch, cell), sum);
			/* For requests these are in started. A time is not a sum over CPUs: test_region_busy.c. */
			if (cell != BLKLAT_BUSY)
				assert_int_equal(f->now.w[watch].accounts[cell], cell == BLKLAT_STARTED && watch < 2 ? 0 : sum);
		}
}

TEST(test_epoch_empties_only_the_next_cells)
{
	u64 *s = fake_series(f, 2, 1, BLKLAT_OP_OTHER);

	f->epoch = 41;
	fake_io(f, 2, 1, BLKLAT_OP_OTHER, latency_of(900));
	s[AT_MAX] = 77;		/* from two intervals ago */
	s[AT_NOT_MIN] = ~77ULL;
	region_next_epoch(&f->r);
	assert_int_equal(f->epoch, 42);
	assert_int_equal(s[AT_MAX], 0);
	assert_int_equal(s[AT_NOT_MIN], 0);
	assert_int_equal(s[AT_MAX + 1], latency_of(900).ns);
	assert_int_equal(s[AT_NOT_MIN + 1], ~latency_of(900).ns);
}

/* An interval without IOs has no extremes, even if an older one left some. */
TEST(test_idle_interval)
{
	const struct op_counts *op;

	fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(900));
	assert_int_equal(fake_drain(f, 0)->ops[BLKLAT_OP_READ].max_ns, latency_of(900).ns);
	op = &fake_drain(f, 0)->ops[BLKLAT_OP_READ];
	assert_int_equal(op->max_ns, 0);
	assert_int_equal(op->min_ns, UINT64_MAX);
	assert_int_equal(op->late_max_ns, 0);
	assert_int_equal(op->late_min_ns, UINT64_MAX);
	assert_int_equal(hist_count(&op->hist), 1);
}

/* IOs that end after the epoch flipped are in this interval's bins, and in the next one's extremes. */
TEST(test_ended_between_flip_and_read)
{
	struct latency small = latency_of(800), middle = latency_of(900), big = latency_of(1000);
	struct extremes e;

	fake_io(f, 0, 0, BLKLAT_OP_READ, middle);
	region_next_epoch(&f->r);
	fake_io(f, 0, 0, BLKLAT_OP_READ, big);
	fake_io(f, 1, 0, BLKLAT_OP_READ, small);
	fake_read(f, 0);
	e = fake_extremes(f, 0, BLKLAT_OP_READ);
	assert_int_equal(e.max_ns, big.ns);
	assert_int_equal(e.min_ns, small.ns);

	/* Neither may appear again; the exact value of the middle one is no longer available. */
	fake_io(f, 0, 0, BLKLAT_OP_READ, middle);
	fake_drain(f, 0);
	e = fake_extremes(f, 0, BLKLAT_OP_READ);
	assert_int_equal(e.max_ns, floor(1e9 * exp2(-26 + (middle.bin + 1) / 64.)));
	assert_int_equal(e.min_ns, floor(1e9 * exp2(-26 + middle.bin / 64.)) + 1);
}

/* "None" must not pass for an extreme in the cells at the grid's ends. */
TEST(test_torn_outside_of_the_grid)
{
	region_next_epoch(&f->r);
	fake_io_outside(f, 0, BLKLAT_OP_READ, 200 * NSEC_PER_SEC, true);
	fake_io_outside(f, 0, BLKLAT_OP_WRITE, 7, false);
	fake_read(f, 0);
	assert_int_equal(fake_extremes(f, 0, BLKLAT_OP_READ).max_ns, 200 * NSEC_PER_SEC);
	assert_int_equal(fake_extremes(f, 0, BLKLAT_OP_READ).min_ns, 200 * NSEC_PER_SEC);
	assert_int_equal(fake_extremes(f, 0, BLKLAT_OP_WRITE).max_ns, 7);
	assert_int_equal(fake_extremes(f, 0, BLKLAT_OP_WRITE).min_ns, 7);
}

/* A CPU has written its extremes but not yet the bin: they belong to no IO that is counted. */
TEST(test_extremes_before_the_bin)
{
	struct latency small = latency_of(800), big = latency_of(1000);
	u64 *s = fake_series(f, 1, 0, BLKLAT_OP_READ);
	const struct op_counts *op;
	struct extremes e;

	fake_io(f, 0, 0, BLKLAT_OP_READ, small);
	fake_begin_end(f, s, big.ns, big.bin / 64);
	op = &fake_drain(f, 0)->ops[BLKLAT_OP_READ];
	e = fake_extremes(f, 0, BLKLAT_OP_READ);
	assert_int_equal(hist_count(&op->hist), 1);
	assert_int_equal(e.min_ns, small.ns);
	assert_int_equal(e.max_ns, floor(1e9 * exp2(-26 + (small.bin + 1) / 64.)));

	/* Its bin comes in the next interval, where the extremes of the previous one still help. */
	s[AT_BINS + fake_cell(f, big)]++;
	op = &fake_read(f, 0)->ops[BLKLAT_OP_READ];
	e = fake_extremes(f, 0, BLKLAT_OP_READ);
	assert_int_equal(e.max_ns, big.ns);
}

/* Both epochs have extremes in the bin: those of the epoch that ended apply. */
TEST(test_the_ended_epoch_comes_first)
{
	struct latency middle = latency_of(1000), longer = { middle.ns + 50, 1000 },
		       shorter = { middle.ns - 50, 1000 };
	const struct op_counts *op;
	struct extremes e;

	for (u32 interval = 0; interval < 2; interval++) {
		fake_io(f, 0, 0, BLKLAT_OP_READ, middle);
		region_next_epoch(&f->r);
		/* Two CPUs have ended an IO, but not yet counted it in the bins. */
		fake_begin_end(f, fake_series(f, 1, 0, BLKLAT_OP_READ), longer.ns, longer.bin / 64);
		fake_begin_end(f, fake_series(f, 2, 0, BLKLAT_OP_READ), shorter.ns, shorter.bin / 64);
		op = &fake_read(f, 0)->ops[BLKLAT_OP_READ];
		e = fake_extremes(f, 0, BLKLAT_OP_READ);
		assert_int_equal(hist_count(&op->hist), interval * 3 + 1);
		assert_int_equal(e.max_ns, interval ? longer.ns : middle.ns);
		assert_int_equal(e.min_ns, interval ? shorter.ns : middle.ns);
		fake_series(f, 1, 0, BLKLAT_OP_READ)[AT_BINS + fake_cell(f, longer)]++;
		fake_series(f, 2, 0, BLKLAT_OP_READ)[AT_BINS + fake_cell(f, shorter)]++;
	}
}

/* Part of a request completes on one CPU, the rest on another: the first CPU has bytes and no bin. */
TEST(test_bytes_without_a_bin)
{
	const struct watch_counts *w;

	fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(1000));
	fake_series(f, 0, 0, BLKLAT_OP_READ)[1] += 49152;
	fake_series(f, 1, 0, BLKLAT_OP_READ)[1] += 16384;
	fake_series(f, 1, 0, BLKLAT_OP_READ)[2] += 1;
	w = fake_drain(f, 0);
	assert_int_equal(hist_count(&w->ops[BLKLAT_OP_READ].hist), 1);
	assert_int_equal(w->ops[BLKLAT_OP_READ].bytes, 65536);
	assert_int_equal(w->ops[BLKLAT_OP_READ].errors, 1);
}

/* One series per watch and op for all CPUs: a sum, then bins of an eighth of an octave or wider. */
TEST(test_after_idle)
{
	for (u32 scale = 0; scale <= 6; scale++) {
		u32 cells = fake_cells(scale < 3 ? scale : 3);
		u64 *idle = calloc((size_t)FAKE_WATCHES * FAKE_OPS * (1 + cells), sizeof(u64));
		u64 *one = idle + (1 * FAKE_OPS + BLKLAT_OP_WRITE) * (1 + cells);
		const struct op_counts *o;

		f = without_slots(scale);
		/* If it is off, nothing is looked for. */
		assert_int_equal(hist_count(&fake_drain(f, 1)->ops[BLKLAT_OP_WRITE].after_idle), 0);
		f->r.idle = idle;
		one[0] = 123456;
		one[1] = 1;
		one[1 + 20] = 2;
		one[cells] = 3;
		one[1 + cells] = 77;	/* the sum of the next op */
		for (int drain = 0; drain < 2; drain++) {
			o = &fake_drain(f, 1)->ops[BLKLAT_OP_WRITE];
			assert_int_equal(o->after_idle_sum_ns, 123456);
			assert_int_equal(hist_count(&o->after_idle), 6);
			assert_int_equal(o->after_idle.cells[0], 1);
			assert_int_equal(o->after_idle.cells[cells - 1], 3);
			assert_int_equal(o[1].after_idle_sum_ns, 77);
			assert_int_equal(hist_count(&o[1].after_idle), 0);
			assert_int_equal(f->now.w[0].ops[BLKLAT_OP_WRITE].after_idle_sum_ns, 0);
		}
		/* Cumulative, like the rest. */
		one[0] += 4;
		one[1 + 20]++;
		o = &fake_drain(f, 1)->ops[BLKLAT_OP_WRITE];
		assert_int_equal(o->after_idle_sum_ns, 123460);
		assert_int_equal(hist_count(&o->after_idle), 7);
		free(idle);
	}
}
