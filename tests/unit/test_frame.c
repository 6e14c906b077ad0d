// SPDX-License-Identifier: GPL-2.0-only
#include "frame_fixture.h"

#include <errno.h>

#include "core/quantile.h"

#define SEED 31415ULL

static u64 next_random(u64 *state)	/* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static void init_fails_clean(void **state)
{
	struct frames fs = { .n = 99 };

	(void)state;
	assert_int_equal(frames_init(&fs, watches, 2, 7), -EINVAL);
	assert_int_equal(fs.n, 99);
	fs = (struct frames){};
	frames_uninit(&fs);
}

/* All figures of one interval; what was counted before it must not show. */
static void one_interval(void **state)
{
	struct fixture *f = *state;
	const struct op_frame *o;
	const struct frame *fr;

	for (u32 i = 0; i < 50; i++)
		put(&f->now, 0, BLKLAT_OP_READ, 900000, 8192);
	f->now.w[0].ops[BLKLAT_OP_READ].errors = 3;
	advance(f);

	for (u32 i = 0; i < 99; i++)
		put(&f->now, 0, BLKLAT_OP_READ, 60000 + i, 4096);
	put(&f->now, 0, BLKLAT_OP_READ, 5000000, 65536);
	put(&f->now, 0, BLKLAT_OP_FLUSH, 2000000, 0);
	f->now.w[0].ops[BLKLAT_OP_READ].errors += 2;
	f->now.wall_ns = 1795246501000000000;
	f->now.skipped = 4;
	f->now.w[0].accounts[BLKLAT_NO_START] = 1;
	f->now.w[1].accounts[BLKLAT_NO_START] = 5;
	f->now.w[0].started += 7;
	f->now.w[0].started_after += 7;
	f->now.w[0].in_flight = f->now.w[0].in_flight_after = 7;
	f->now.w[0].oldest_ns = 81234;
	between(f, 500000000);

	fr = &f->frames.f[0];
	assert_ptr_equal(fr->watch, &watches[0]);
	assert_int_equal(fr->end_ns, 1795246501000000000);
	assert_near(fr->interval_s, 0.5);
	assert_int_equal(fr->in_flight, 7);
	assert_int_equal(fr->oldest_ns, 81234);
	assert_false(fr->gone);
	/* Sum of latencies: 99 * 60000 + 0 + ... + 98 + 5000000 + 2000000 = 12944851 ns in 0.5 s */
	assert_near(fr->queue_depth, 0.025889702);

	o = &fr->ops[BLKLAT_OP_READ];
	assert_int_equal(o->ios, 100);
	assert_int_equal(o->bytes, 99 * 4096 + 65536);
	assert_int_equal(o->errors, 2);
	assert_int_equal(o->sum_ns, 10944851);
	assert_near(o->iops, 200);
	assert_near(o->bytes_per_s, 942080);
	assert_near(o->mean_ns, 109448.51);
	assert_int_equal(o->min_ns, 60000);
	assert_int_equal(o->max_ns, 5000000);
	/* p50, rank 50 of 99 in a bin cut to [60000, 60377]: 60000 * (60377 / 60000)^0.5 */
	assert_near(o->percentile_ns[0], 60188.204824533519);
	assert_near(o->percentile_ns[3], 5000000);

	assert_int_equal(fr->ops[BLKLAT_OP_FLUSH].ios, 1);
	assert_near(fr->ops[BLKLAT_OP_FLUSH].percentile_ns[0], 2000000);
	assert_near(fr->ops[BLKLAT_OP_FLUSH].mean_ns, 2000000);
	assert_int_equal(fr->ops[BLKLAT_OP_WRITE].ios, 0);

	/* Cumulative, unlike the rest; and of 4 skipped runs 3 are left for watch 1. */
	assert_int_equal(fr->accounting.completed, 151);
	assert_int_equal(fr->accounting.started, 159);
	assert_int_equal(fr->accounting.lost_by[LOST_RECURSION], 1);
	assert_int_equal(f->frames.f[1].accounting.lost_by[LOST_RECURSION], 3);
	assert_int_equal(f->frames.f[1].accounting.lost_by[LOST_NO_START], 2);
}

/* Skipped runs that explain no loss are of the whole capture: in each watch's account, and once for all. */
static void skipped_without_a_consequence(void **state)
{
	static const struct { u64 skipped, no_start, overwritten, left; } cases[] = {
		{ 0, 0, 0, 0 }, { 3, 0, 0, 3 }, { 3, 1, 0, 2 }, { 4, 1, 2, 1 }, { 4, 2, 2, 0 }, { 4, 9, 9, 0 },
	};
	struct fixture *f = *state;

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		f->now.skipped = cases[i].skipped;
		f->now.w[0].accounts[BLKLAT_NO_START] = cases[i].no_start;
		f->now.w[1].accounts[BLKLAT_OVERWRITTEN] = cases[i].overwritten;
		f->now.w[1].started = f->now.w[1].started_after = cases[i].overwritten;
		between(f, 1000000000);
		frames_accumulate(&f->run, &f->frames, &percentiles_default);
		assert_int_equal(f->frames.skipped_unexplained, cases[i].left);
		assert_int_equal(f->run.skipped_unexplained, cases[i].left);
		for (u32 w = 0; w < 2; w++)
			assert_int_equal(f->frames.f[w].accounting.skipped_unexplained, cases[i].left);
	}
}

static void idle(void **state)
{
	struct fixture *f = *state;

	put(&f->now, 0, BLKLAT_OP_READ, 900000, 8192);
	advance(f);
	f->now.w[0].in_flight = 1;
	f->now.w[0].oldest_ns = 3000000000;
	f->now.w[1].gone = true;
	between(f, 1000000000);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		assert_int_equal(f->frames.f[0].ops[op].ios, 0);
	assert_true(f->frames.f[0].queue_depth == 0);
	assert_int_equal(f->frames.f[0].in_flight, 1);
	assert_int_equal(f->frames.f[0].oldest_ns, 3000000000);
	assert_true(f->frames.f[1].gone);
}

/* Two snapshots of one moment, as a replay may hold: there are no rates, but no infinities either. */
static void no_time(void **state)
{
	struct fixture *f = *state;

	put(&f->now, 0, BLKLAT_OP_WRITE, 60000, 4096);
	between(f, 0);
	assert_int_equal(f->frames.f[0].ops[BLKLAT_OP_WRITE].ios, 1);
	assert_true(f->frames.f[0].ops[BLKLAT_OP_WRITE].iops == 0);
	assert_true(f->frames.f[0].ops[BLKLAT_OP_WRITE].bytes_per_s == 0);
	assert_true(f->frames.f[0].queue_depth == 0);
	assert_near(f->frames.f[0].ops[BLKLAT_OP_WRITE].mean_ns, 60000);
}

/* Extremes that do not match the bins, because a read came in the middle of an IO. */
static void torn_extremes(void **state)
{
	static const struct {
		u32 low, high;		/* cells that hold 10 IOs each */
		u64 min_ns, max_ns;	/* as read */
		u64 is_min, is_max;
	} cases[] = {
		{ 767, 900, 60000, 253000, 60000, 253000 },	/* in order: untouched */
		{ 767, 900, 60377, 252204, 60377, 252204 },	/* clamped to the bounds */
		{ 767, 900, 59727, 252203, 59728, 252204 },	/* the lower bound is exclusive */
		{ 767, 900, 0, 0, 59728, 252204 },
		{ 767, 900, UINT64_MAX, 0, 59728, 252204 },	/* not seen */
		{ 767, 900, 14, 60000, 59728, 252204 },
		{ 767, 900, 99999999, 99999999, 60377, 254949 },
		{ 767, 767, 60300, 60100, 60100, 60300 },	/* of two IOs, crossed */
		{ 0, 767, 0, 60000, 0, 60000 },			/* 0 ns can be true */
		{ 0, 767, 15, 60000, 14, 60000 },
		{ 767, 2113, 60000, 90, 60000, 128000000001 },
		{ 767, 2113, 60000, 200000000000, 60000, 200000000000 },
	};
	struct fixture *f = *state;
	struct op_counts *o = &f->now.w[0].ops[BLKLAT_OP_READ];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct op_frame *is = &f->frames.f[0].ops[BLKLAT_OP_READ];

		hist_clear(&o->hist);
		o->hist.cells[cases[i].low] += 10;
		o->hist.cells[cases[i].high] += 10;
		o->min_ns = cases[i].min_ns;
		o->max_ns = cases[i].max_ns;
		between(f, 1000000000);
		if (is->min_ns != cases[i].is_min || is->max_ns != cases[i].is_max)
			fail_msg("case %zu: [%llu, %llu], must be [%llu, %llu]", i, is->min_ns,
				 is->max_ns, cases[i].is_min, cases[i].is_max);
		/* p99.99 is the slowest IO: in the highest cell, whatever extremes were read. */
		assert_true(is->percentile_ns[4] > hist_lower_ns(SCALE, cases[i].high));
		assert_true(is->percentile_ns[4] <= hist_upper_ns(SCALE, cases[i].high));
	}
}

/* The sum is written before the bin or after it; the mean stays plausible. */
static void torn_mean(void **state)
{
	struct fixture *f = *state;
	const struct op_frame *o = &f->frames.f[0].ops[BLKLAT_OP_READ];

	put(&f->now, 0, BLKLAT_OP_READ, 60000, 4096);
	put(&f->now, 0, BLKLAT_OP_READ, 60200, 4096);
	f->now.w[0].ops[BLKLAT_OP_READ].sum_ns -= 60200;
	between(f, 1000000000);
	assert_near(o->mean_ns, 60000);
	f->now.w[0].ops[BLKLAT_OP_READ].sum_ns += 60200 * 5;
	between(f, 1000000000);
	assert_near(o->mean_ns, 60200);
}

static void assert_sums(const struct op_frame *o, u64 bytes, u64 errors, u64 sum_ns)
{
	assert_int_equal(o->bytes, bytes);
	assert_int_equal(o->errors, errors);
	assert_int_equal(o->sum_ns, sum_ns);
}

static void assert_partial(const struct op_frame *o, u64 bytes, u64 errors, u64 sum_ns)
{
	assert_int_equal(o->partial.bytes, bytes);
	assert_int_equal(o->partial.errors, errors);
	assert_int_equal(o->partial.sum_ns, sum_ns);
}

/* Bytes, an error and time seen one or two intervals before the IO's bin count once, in the IO's interval. */
static void torn_sums(void **state)
{
	struct fixture *f = *state;
	struct op_counts *o = &f->now.w[0].ops[BLKLAT_OP_READ];
	const struct op_frame *is = &f->frames.f[0].ops[BLKLAT_OP_READ], *run = &f->run.f[0].ops[BLKLAT_OP_READ];

	put(&f->now, 0, BLKLAT_OP_READ, 60000, 4096);
	o->errors = 1;
	o->hist.cells[767]--;
	for (u32 i = 0; i < 2; i++) {
		between(f, 1000000000);
		frames_accumulate(&f->run, &f->frames, &percentiles_default);
		assert_int_equal(is->ios, 0);
		assert_sums(is, 0, 0, 0);
		assert_true(is->bytes_per_s == 0);
		assert_near(f->frames.f[0].queue_depth, i ? 0 : 0.00006);
		assert_partial(is, 4096, 1, 60000);
		assert_int_equal(is->counted.bytes, i ? 0 : 4096);
		assert_partial(run, 4096, 1, 60000);
		assert_sums(run, 0, 0, 0);
		advance(f);
	}
	o->hist.cells[767]++;
	o->min_ns = o->max_ns = 60000;
	between(f, 1000000000);
	frames_accumulate(&f->run, &f->frames, &percentiles_default);
	assert_int_equal(is->ios, 1);
	assert_sums(is, 4096, 1, 60000);
	assert_near(is->mean_ns, 60000);
	assert_partial(is, 0, 0, 0);
	assert_int_equal(run->ios, 1);
	assert_sums(run, 4096, 1, 60000);
	assert_partial(run, 0, 0, 0);
	assert_int_equal(run->counted.bytes, 4096);
	assert_near(f->run.f[0].queue_depth, 60000 / 3e9);
}

/* The bin comes an interval before the rest: late sums go to the op's next IO, and never to another op's. */
static void late_sums(void **state)
{
	struct fixture *f = *state;
	struct op_counts *o = &f->now.w[0].ops[BLKLAT_OP_WRITE];
	const struct op_frame *is = &f->frames.f[0].ops[BLKLAT_OP_WRITE];

	put(&f->now, 0, BLKLAT_OP_WRITE, 60000, 0);
	o->sum_ns = 0;
	between(f, 1000000000);
	assert_sums(is, 0, 0, 60000);
	assert_partial(is, 0, 0, -60000ULL);
	advance(f);
	o->sum_ns = 60000;
	o->bytes = 4096;
	put(&f->now, 0, BLKLAT_OP_READ, 70000, 512);
	put(&f->now, 1, BLKLAT_OP_WRITE, 80000, 1024);
	between(f, 1000000000);
	assert_sums(is, 0, 0, 0);
	assert_partial(is, 4096, 0, 0);
	assert_sums(&f->frames.f[0].ops[BLKLAT_OP_READ], 512, 0, 70000);
	assert_sums(&f->frames.f[1].ops[BLKLAT_OP_WRITE], 1024, 0, 80000);
	advance(f);
	put(&f->now, 0, BLKLAT_OP_WRITE, 61000, 8192);
	between(f, 1000000000);
	assert_sums(is, 12288, 0, 61000);
	assert_partial(is, 0, 0, 0);
	assert_near(is->mean_ns, 61000);
}

/* The time of a long IO comes an interval before its bin, beside short IOs: it stays with the long one. */
static void early_sum(void **state)
{
	struct fixture *f = *state;
	struct op_counts *o = &f->now.w[0].ops[BLKLAT_OP_WRITE];
	const struct op_frame *is = &f->frames.f[0].ops[BLKLAT_OP_WRITE];

	put(&f->now, 0, BLKLAT_OP_WRITE, 60000, 4096);
	put(&f->now, 0, BLKLAT_OP_WRITE, 62000, 4096);
	o->sum_ns += 81000000;
	between(f, 1000000000);
	assert_sums(is, 8192, 0, 124000);
	assert_partial(is, 0, 0, 80998000);
	assert_near(is->mean_ns, 62000);
	frames_accumulate(&f->run, &f->frames, &percentiles_default);
	advance(f);
	o->min_ns = o->max_ns = 0;
	put(&f->now, 0, BLKLAT_OP_WRITE, 81000000, 512);
	o->sum_ns -= 81000000;
	between(f, 1000000000);
	frames_accumulate(&f->run, &f->frames, &percentiles_default);
	assert_sums(is, 512, 0, 81000000);
	assert_partial(is, 0, 0, -2000ULL);
	assert_near(f->run.f[0].ops[BLKLAT_OP_WRITE].sum_ns, 81124000);
}

/* Sums and bins at random moments: nothing is ever lost or counted twice, and what is left is reported. */
static void sums_add_up(void **state)
{
	struct fixture *f = *state;
	struct op_counts *o = &f->now.w[1].ops[BLKLAT_OP_OTHER];
	const struct op_frame *is = &f->frames.f[1].ops[BLKLAT_OP_OTHER], *run = &f->run.f[1].ops[BLKLAT_OP_OTHER];
	u64 seed = SEED, ios = 0, bytes = 0, errors = 0, sum_ns = 0, carried = 0;

	for (u32 i = 0; i < 400; i++) {
		advance(f);
		o->bytes += next_random(&seed) % 3 ? 0 : next_random(&seed) % 100000;
		o->errors += next_random(&seed) % 4 == 0;
		o->sum_ns += next_random(&seed) % 3 ? 0 : next_random(&seed) % 1000000;
		o->hist.cells[767] += next_random(&seed) % 5 ? 0 : next_random(&seed) % 3;
		between(f, 1000000000);
		frames_accumulate(&f->run, &f->frames, &percentiles_default);
		assert_true(is->ios || (!is->bytes && !is->errors && !is->sum_ns));
		carried += is->ios && is->bytes > is->counted.bytes;
		ios += is->ios;
		bytes += is->bytes;
		errors += is->errors;
		sum_ns += is->sum_ns;
		assert_int_equal(bytes + is->partial.bytes, o->bytes);
		assert_int_equal(errors + is->partial.errors, o->errors);
		assert_int_equal(sum_ns + is->partial.sum_ns, o->sum_ns);
	}
	assert_true(carried > 20);
	assert_int_equal(run->ios, ios);
	assert_sums(run, bytes, errors, sum_ns);
	assert_partial(run, is->partial.bytes, is->partial.errors, is->partial.sum_ns);
	assert_int_equal(run->counted.bytes, o->bytes);
	assert_int_equal(run->counted.errors, o->errors);
}

/* One capture ends, and another goes on with its devices: it inherits only from the same watch. */
static void an_heir_inherits(void **state)
{
	static const struct device sda = { .name = "sda", .major = 8 }, again = { .name = "sda", .major = 8 };
	static const struct device sdb = { .name = "sdb", .major = 8, .minor = 16 };
	static const struct watch old[] = { { .device = &sda, .stage = BLKLAT_STAGE_DEVICE }, { .device = &sdb, .stage = BLKLAT_STAGE_DEVICE } };
	static const struct watch all[] = { { .device = &again, .stage = BLKLAT_STAGE_QUEUE }, { .device = &sdb, .stage = BLKLAT_STAGE_DEVICE },
					    { .device = &again, .stage = BLKLAT_STAGE_DEVICE } };
	struct frames from, to;

	(void)state;
	assert_int_equal(frames_init(&from, old, 2, 1), 0);
	assert_int_equal(frames_init(&to, all, 3, 1), 0);
	from.f[0].ops[BLKLAT_OP_READ].partial = (struct op_sums){ .bytes = 4096, .errors = 1, .sum_ns = 7 };
	from.f[1].ops[BLKLAT_OP_READ].partial.bytes = 512;
	from.f[1].gone = true;
	frames_inherit(&to, &from);
	assert_partial(&to.f[0].ops[BLKLAT_OP_READ], 0, 0, 0);
	assert_partial(&to.f[1].ops[BLKLAT_OP_READ], 0, 0, 0);
	assert_partial(&to.f[2].ops[BLKLAT_OP_READ], 4096, 1, 7);
	assert_partial(&to.f[2].ops[BLKLAT_OP_WRITE], 0, 0, 0);
	frames_uninit(&from);
	frames_uninit(&to);
}

/* What is known of a whole run without looking at frames. */
struct truth {
	u64 ios, bytes, sum_ns, min_ns, max_ns;
	struct hist hist;
};

static void put_random(struct fixture *f, struct truth *t, u64 *seed)
{
	u64 ns = 1000 + (next_random(seed) >> (30 + next_random(seed) % 30));
	u64 bytes = 512 * (next_random(seed) % 256);

	put(&f->now, 1, BLKLAT_OP_WRITE, ns, bytes);
	t->ios++;
	t->bytes += bytes;
	t->sum_ns += ns;
	t->min_ns = !t->min_ns || ns < t->min_ns ? ns : t->min_ns;
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
	t->hist.cells[blklat_cell(ns, SCALE)]++;
}

/* Intervals of different lengths, some idle, must add up to what a single look at the end would give. */
static void whole_run(void **state)
{
	struct fixture *f = *state;
	struct truth t = {};
	const struct op_frame *o = &f->run.f[1].ops[BLKLAT_OP_WRITE];
	u64 seed = SEED;
	double seconds = 0, weighted = 0;

	assert_int_equal(hist_init(&t.hist, SCALE), 0);
	for (u32 i = 0; i < 20; i++) {
		u64 interval_ns = 100000000 * (1 + next_random(&seed) % 30);

		advance(f);
		for (u32 n = i % 4 ? next_random(&seed) % 300 : 0; n; n--)
			put_random(f, &t, &seed);
		f->now.wall_ns = i;
		f->now.w[1].in_flight = f->now.w[1].in_flight_after = 100 + i;
		f->now.w[1].oldest_ns = 200 + i;
		f->now.w[1].gone = i == 19;
		between(f, interval_ns);
		frames_accumulate(&f->run, &f->frames, &percentiles_default);
		seconds += interval_ns / 1e9;
		weighted += f->frames.f[1].queue_depth * interval_ns / 1e9;
	}

	assert_true(t.ios > 500);
	assert_int_equal(o->ios, t.ios);
	assert_int_equal(o->bytes, t.bytes);
	assert_int_equal(o->sum_ns, t.sum_ns);
	assert_int_equal(o->min_ns, t.min_ns);
	assert_int_equal(o->max_ns, t.max_ns);
	assert_memory_equal(o->hist.cells, t.hist.cells, BLKLAT_CELLS(SCALE) * sizeof(u64));
	assert_near(f->run.f[1].interval_s, seconds);
	assert_near(o->iops, t.ios / seconds);
	assert_near(o->bytes_per_s, t.bytes / seconds);
	assert_near(o->mean_ns, (double)t.sum_ns / t.ios);
	assert_near(f->run.f[1].queue_depth, weighted / seconds);
	for (u32 i = 0; i < percentiles_default.n; i++)
		assert_near(o->percentile_ns[i],
			    quantile_ns(&t.hist, percentiles_default.p[i].q, t.min_ns, t.max_ns));
	/* Of the newest: */
	assert_int_equal(f->run.f[1].end_ns, 19);
	assert_int_equal(f->run.f[1].in_flight, 119);
	assert_int_equal(f->run.f[1].oldest_ns, 219);
	assert_true(f->run.f[1].gone);
	assert_int_equal(f->run.f[1].accounting.completed, t.ios);
	assert_int_equal(f->run.f[1].accounting.in_flight, 119);
	assert_int_equal(f->run.f[0].ops[BLKLAT_OP_WRITE].ios, 0);
	hist_uninit(&t.hist);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_fails_clean),
		cmocka_unit_test_setup_teardown(one_interval, set_up, tear_down),
		cmocka_unit_test_setup_teardown(skipped_without_a_consequence, set_up, tear_down),
		cmocka_unit_test_setup_teardown(idle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(torn_extremes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(torn_mean, set_up, tear_down),
		cmocka_unit_test_setup_teardown(torn_sums, set_up, tear_down),
		cmocka_unit_test_setup_teardown(early_sum, set_up, tear_down),
		cmocka_unit_test_setup_teardown(late_sums, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sums_add_up, set_up, tear_down),
		cmocka_unit_test(an_heir_inherits),
		cmocka_unit_test_setup_teardown(whole_run, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
