// SPDX-License-Identifier: GPL-2.0-only
/* Counts that were read in the middle of an IO, and what is carried to the next interval. */
#include "frame_fixture.h"

#define SEED 31415ULL

/* Extremes that do not match the bins, because a read came in the middle of an IO. */
TEST(torn_extremes)
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
		{ 767, 900, 14, 60000, 59728, 252204 }, { 767, 900, 99999999, 99999999, 60377, 254949 },
		{ 767, 767, 60300, 60100, 60100, 60300 },	/* of two IOs, crossed */
		{ 0, 767, 0, 60000, 0, 60000 },			/* 0 ns can be true */
		{ 0, 767, 15, 60000, 14, 60000 }, { 767, 2113, 60000, 90, 60000, 128000000001 },
		{ 767, 2113, 60000, 200000000000, 60000, 200000000000 },
	};
	struct op_counts *o = &f.now.w[0].ops[BLKLAT_OP_READ];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct op_frame *is = &f.frames.f[0].ops[BLKLAT_OP_READ];

		hist_clear(&o->hist);
		hist_put(&o->hist, cases[i].low, 10);
		hist_put(&o->hist, cases[i].high, 10);
		o->min_ns = cases[i].min_ns;
		o->max_ns = cases[i].max_ns;
		between(1000000000);
		if (is->min_ns != cases[i].is_min || is->max_ns != cases[i].is_max)
			fail_msg("case %zu: [%llu, %llu], must be [%llu, %llu]", i, is->min_ns,
				 is->max_ns, cases[i].is_min, cases[i].is_max);
		/* p99.99 is the slowest IO: in the highest cell, whatever extremes were read. */
		assert_true(is->percentile_ns[4] > hist_lower_ns(SCALE, cases[i].high));
		assert_true(is->percentile_ns[4] <= hist_upper_ns(SCALE, cases[i].high));
	}
}

/* The sum is written before the bin or after it; the mean stays plausible. */
TEST(torn_mean)
{
	const struct op_frame *o = &f.frames.f[0].ops[BLKLAT_OP_READ];

	put(&f.now, 0, BLKLAT_OP_READ, 60000, 4096);
	put(&f.now, 0, BLKLAT_OP_READ, 60200, 4096);
	f.now.w[0].ops[BLKLAT_OP_READ].sum_ns -= 60200;
	between(1000000000);
	assert_near(o->mean_ns, 60000);
	f.now.w[0].ops[BLKLAT_OP_READ].sum_ns += 60200 * 5;
	between(1000000000);
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
TEST(torn_sums)
{
	struct op_counts *o = &f.now.w[0].ops[BLKLAT_OP_READ];
	const struct op_frame *is = &f.frames.f[0].ops[BLKLAT_OP_READ], *run = &f.run.f[0].ops[BLKLAT_OP_READ];

	put(&f.now, 0, BLKLAT_OP_READ, 60000, 4096);
	o->errors = 1;
	o->hist.cells[767]--;
	for (u32 i = 0; i < 2; i++) {
		between(1000000000);
		assert_int_equal(is->ios, 0);
		assert_sums(is, 0, 0, 0);
		assert_true(is->bytes_per_s == 0);
		assert_near(f.frames.f[0].queue_depth, i ? 0 : 0.00006);
		assert_partial(is, 4096, 1, 60000);
		assert_int_equal(is->counted.bytes, i ? 0 : 4096);
		assert_partial(run, 4096, 1, 60000);
		assert_sums(run, 0, 0, 0);
		advance();
	}
	hist_put(&o->hist, 767, 1);
	o->min_ns = o->max_ns = 60000;
	between(1000000000);
	assert_int_equal(is->ios, 1);
	assert_sums(is, 4096, 1, 60000);
	assert_near(is->mean_ns, 60000);
	assert_partial(is, 0, 0, 0);
	assert_int_equal(run->ios, 1);
	assert_sums(run, 4096, 1, 60000);
	assert_partial(run, 0, 0, 0);
	assert_int_equal(run->counted.bytes, 4096);
	assert_near(f.run.f[0].queue_depth, 60000 / 3e9);
}

/* The bin comes an interval before the rest: late sums go to the op's next IO, and never to another op's. */
TEST(late_sums)
{
	struct op_counts *o = &f.now.w[0].ops[BLKLAT_OP_WRITE];
	const struct op_frame *is = &f.frames.f[0].ops[BLKLAT_OP_WRITE];

	put(&f.now, 0, BLKLAT_OP_WRITE, 60000, 0);
	o->sum_ns = 0;
	between(1000000000);
	assert_sums(is, 0, 0, 60000);
	assert_partial(is, 0, 0, -60000ULL);
	advance();
	o->sum_ns = 60000;
	o->bytes = 4096;
	put(&f.now, 0, BLKLAT_OP_READ, 70000, 512);
	put(&f.now, 1, BLKLAT_OP_WRITE, 80000, 1024);
	between(1000000000);
	assert_sums(is, 0, 0, 0);
	assert_partial(is, 4096, 0, 0);
	assert_sums(&f.frames.f[0].ops[BLKLAT_OP_READ], 512, 0, 70000);
	assert_sums(&f.frames.f[1].ops[BLKLAT_OP_WRITE], 1024, 0, 80000);
	advance();
	put(&f.now, 0, BLKLAT_OP_WRITE, 61000, 8192);
	between(1000000000);
	assert_sums(is, 12288, 0, 61000);
	assert_partial(is, 0, 0, 0);
	assert_near(is->mean_ns, 61000);
}

/* The time of a long IO comes an interval before its bin, beside short IOs: it stays with the long one. */
TEST(early_sum)
{
	struct op_counts *o = &f.now.w[0].ops[BLKLAT_OP_WRITE];
	const struct op_frame *is = &f.frames.f[0].ops[BLKLAT_OP_WRITE];

	put(&f.now, 0, BLKLAT_OP_WRITE, 60000, 4096);
	put(&f.now, 0, BLKLAT_OP_WRITE, 62000, 4096);
	o->sum_ns += 81000000;
	between(1000000000);
	assert_sums(is, 8192, 0, 124000);
	assert_partial(is, 0, 0, 80998000);
	assert_near(is->mean_ns, 62000);
	advance();
	o->min_ns = o->max_ns = 0;
	put(&f.now, 0, BLKLAT_OP_WRITE, 81000000, 512);
	o->sum_ns -= 81000000;
	between(1000000000);
	assert_sums(is, 512, 0, 81000000);
	assert_partial(is, 0, 0, -2000ULL);
	assert_near(f.run.f[0].ops[BLKLAT_OP_WRITE].sum_ns, 81124000);
}

/* Sums and bins at random moments: nothing is ever lost or counted twice, and what is left is reported. */
TEST(sums_add_up)
{
	struct op_counts *o = &f.now.w[1].ops[BLKLAT_OP_OTHER];
	const struct op_frame *is = &f.frames.f[1].ops[BLKLAT_OP_OTHER], *run = &f.run.f[1].ops[BLKLAT_OP_OTHER];
	u64 seed = SEED, ios = 0, bytes = 0, errors = 0, sum_ns = 0, carried = 0;

	for (u32 i = 0; i < 400; i++) {
		advance();
		o->bytes += next_random(&seed) % 3 ? 0 : next_random(&seed) % 100000;
		o->errors += next_random(&seed) % 4 == 0;
		o->sum_ns += next_random(&seed) % 3 ? 0 : next_random(&seed) % 1000000;
		hist_put(&o->hist, 767, next_random(&seed) % 5 ? 0 : next_random(&seed) % 3);
		between(1000000000);
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
