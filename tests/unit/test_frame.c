// SPDX-License-Identifier: GPL-2.0-only
#include "frame_fixture.h"

#include "core/quantile.h"

#define SEED 31415ULL

/* What was counted before an interval does not show in it; all figures are in tests/cli/test_live_output.py. */
TEST(one_interval)
{
	struct op_counts *counts = &f.now.w[0].ops[BLKLAT_OP_READ];
	const struct op_frame *o = &f.frames.f[0].ops[BLKLAT_OP_READ];

	for (u32 i = 0; i < 50; i++)
		put(&f.now, 0, BLKLAT_OP_READ, 900000, 8192);
	counts->errors = 3;
	advance();
	for (u32 i = 0; i < 99; i++)
		put(&f.now, 0, BLKLAT_OP_READ, 60000 + i, 4096);
	put(&f.now, 0, BLKLAT_OP_READ, 5000000, 65536);
	counts->errors += 2;
	between(500000000);
	assert_true(o->ios == 100 && o->bytes == 99 * 4096 + 65536 && o->errors == 2 && o->min_ns == 60000 && o->max_ns == 5000000);
	assert_near(o->iops, 200);
	assert_near(o->mean_ns, 109448.51);
	/* p50, rank 50 of 99 in a bin cut to [60000, 60377]: 60000 * (60377 / 60000)^0.5 */
	assert_near(o->percentile_ns[0], 60188.204824533519);
	assert_int_equal(f.frames.f[0].accounting.completed, 150);
}

/* Skipped runs that explain no loss are of the whole capture: in each watch's account, and once for all. */
TEST(skipped_without_a_consequence)
{
	static const struct { u64 skipped, no_start, overwritten, left; } cases[] = {
		{ 0, 0, 0, 0 }, { 3, 0, 0, 3 }, { 3, 1, 0, 2 }, { 4, 1, 2, 1 }, { 4, 2, 2, 0 }, { 4, 9, 9, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		f.now.skipped = cases[i].skipped;
		f.now.w[0].accounts[BLKLAT_NO_START] = cases[i].no_start;
		f.now.w[1].accounts[BLKLAT_OVERWRITTEN] = cases[i].overwritten;
		f.now.w[1].started = f.now.w[1].started_after = cases[i].overwritten;
		between(1000000000);
		assert_int_equal(f.frames.skipped_unexplained, cases[i].left);
		assert_int_equal(f.run.skipped_unexplained, cases[i].left);
		for (u32 w = 0; w < 2; w++)
			assert_int_equal(f.frames.f[w].accounting.skipped_unexplained, cases[i].left);
	}
}

TEST(idle)
{
	put(&f.now, 0, BLKLAT_OP_READ, 900000, 8192);
	advance();
	f.now.w[0].in_flight = 1;
	f.now.w[0].oldest_ns = 3000000000;
	f.now.w[1].gone = true;
	between(1000000000);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		assert_int_equal(f.frames.f[0].ops[op].ios, 0);
	assert_true(f.frames.f[0].queue_depth == 0);
	assert_int_equal(f.frames.f[0].in_flight, 1);
	assert_int_equal(f.frames.f[0].oldest_ns, 3000000000);
	assert_true(f.frames.f[1].gone);
}

/* Two snapshots of one moment, as a replay may hold: there are no rates, but no infinities either. */
TEST(no_time)
{
	put(&f.now, 0, BLKLAT_OP_WRITE, 60000, 4096);
	between(0);
	assert_int_equal(f.frames.f[0].ops[BLKLAT_OP_WRITE].ios, 1);
	assert_true(f.frames.f[0].ops[BLKLAT_OP_WRITE].iops == 0);
	assert_true(f.frames.f[0].ops[BLKLAT_OP_WRITE].bytes_per_s == 0);
	assert_true(f.frames.f[0].queue_depth == 0);
	assert_near(f.frames.f[0].ops[BLKLAT_OP_WRITE].mean_ns, 60000);
}

/* Intervals of different lengths, some idle, must add up to what a single look at the end would give. */
TEST(whole_run)
{
	const struct op_frame *o = &f.run.f[1].ops[BLKLAT_OP_WRITE];
	const struct op_counts *all = &f.now.w[1].ops[BLKLAT_OP_WRITE];
	u64 seed = SEED, ios, min_ns = UINT64_MAX, max_ns = 0;
	double seconds = 0, weighted = 0;

	for (u32 i = 0; i < 20; i++) {
		u64 interval_ns = 100000000 * (1 + next_random(&seed) % 30);

		advance();
		for (u32 n = i % 4 ? next_random(&seed) % 300 : 0; n; n--) {
			u64 ns = 1000 + (next_random(&seed) >> (30 + next_random(&seed) % 30));

			put(&f.now, 1, BLKLAT_OP_WRITE, ns, 512 * (next_random(&seed) % 256));
			min_ns = ns < min_ns ? ns : min_ns;
			max_ns = ns > max_ns ? ns : max_ns;
		}
		f.now.wall_ns = i;
		f.now.w[1].in_flight = f.now.w[1].in_flight_after = 100 + i;
		f.now.w[1].oldest_ns = 200 + i;
		f.now.w[1].gone = i == 19;
		between(interval_ns);
		seconds += interval_ns / 1e9;
		weighted += f.frames.f[1].queue_depth * interval_ns / 1e9;
	}

	ios = hist_count(&all->hist);
	assert_true(ios > 500);
	assert_int_equal(o->ios, ios);
	assert_int_equal(o->bytes, all->bytes);
	assert_int_equal(o->sum_ns, all->sum_ns);
	assert_int_equal(o->min_ns, min_ns);
	assert_int_equal(o->max_ns, max_ns);
	assert_memory_equal(o->hist.cells, all->hist.cells, BLKLAT_CELLS(SCALE) * sizeof(u64));
	assert_near(f.run.f[1].interval_s, seconds);
	assert_near(o->iops, ios / seconds);
	assert_near(o->bytes_per_s, all->bytes / seconds);
	assert_near(o->mean_ns, (double)all->sum_ns / ios);
	assert_near(f.run.f[1].queue_depth, weighted / seconds);
	for (u32 i = 0; i < percentiles_default.n; i++)
		assert_near(o->percentile_ns[i], quantile_ns(&all->hist, percentiles_default.p[i].q, min_ns, max_ns));
	/* Of the newest: */
	assert_int_equal(f.run.f[1].end_ns, 19);
	assert_int_equal(f.run.f[1].in_flight, 119);
	assert_int_equal(f.run.f[1].oldest_ns, 219);
	assert_true(f.run.f[1].gone);
	assert_int_equal(f.run.f[1].accounting.completed, ios);
	assert_int_equal(f.run.f[1].accounting.in_flight, 119);
	assert_int_equal(f.run.f[0].ops[BLKLAT_OP_WRITE].ios, 0);
}

/* --- the mean number of IOs in flight, including those that have not ended --- */

/*
 * 14 IOs of 2.2 s each, started 0.1 s before an interval: they count in each second in which they are in flight, and in the
 * last one only with the time that falls into it. Little's law alone says 0, 0, 0 and 30.8.
 */
TEST(depth_of_long_ios)
{
	static const struct { double waited_s, depth; } seconds[] = { { 1.4, 1.4 }, { 15.4, 14 }, { 29.4, 14 }, { 0, 1.4 } };
	double sum = 0;

	for (u32 i = 0; i < ARRAY_SIZE(seconds); i++) {
		advance();
		f.now.w[0].waited_ns = llround(seconds[i].waited_s * 1e9);
		f.now.w[0].in_flight = f.now.w[0].in_flight_after = i < 3 ? 14 : 0;
		for (u32 n = 0; i == 3 && n < 14; n++)
			put(&f.now, 0, BLKLAT_OP_READ, 2200000000, 4096);
		between(1000000000);
		assert_near(f.frames.f[0].queue_depth, seconds[i].depth);
		sum += f.frames.f[0].queue_depth;
	}
	/* All of their time, and only once. */
	assert_near(sum, 14 * 2.2);
	assert_near(f.run.f[0].queue_depth, 14 * 2.2 / 4);
}

/* Not known before the first IO; neither negative nor longer than an interval if a read was off, and right in the sum. */
TEST(busy_share)
{
	static const struct { u64 so_far_ns; double share; } intervals[] = {
		{ 0, 0 }, { 400000000, 0.4 }, { 400000000, 0 }, { 1400000900, 1 }, { 1000000000, 0 }, { 1650000000, 0.25 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(intervals); i++) {
		advance();
		f.now.w[0].accounts[BLKLAT_BUSY] = intervals[i].so_far_ns;
		between(1000000000);
		assert_true(f.frames.f[0].busy_known == (i > 0) && f.run.f[0].busy_known == (i > 0));
		assert_true(fabs(f.frames.f[0].busy - intervals[i].share) < 1e-9);
	}
	assert_true(fabs(f.run.f[0].busy - 1.65 / ARRAY_SIZE(intervals)) < 1e-9);
	assert_false(f.frames.f[1].busy_known);
}

/* If an age disappears without a latency, nothing known is subtracted: an end was missed, or the device went away. */
TEST(depth_without_an_end)
{
	f.now.w[0].waited_ns = f.now.w[1].waited_ns = 60000000000;
	advance();
	for (u32 i = 0; i < 2; i++) {
		f.now.w[i].waited_ns = 0;
		put(&f.now, i, BLKLAT_OP_READ, 500000000, 4096);
	}
	f.now.w[0].accounts[BLKLAT_OVERWRITTEN]++;
	f.now.w[1].gone = true;
	between(1000000000);
	assert_near(f.frames.f[0].queue_depth, 0.5);
	assert_near(f.frames.f[1].queue_depth, 0.5);
}

/* An IO that is in the ages and in the latencies all the same counts twice; the next interval makes up for it. */
TEST(depth_of_an_end_in_between)
{
	advance();
	f.now.w[0].waited_ns = 700000000;
	put(&f.now, 0, BLKLAT_OP_READ, 700000000, 4096);
	between(1000000000);
	advance();
	f.now.w[0].waited_ns = 0;
	between(1000000000);
	assert_true(f.frames.f[0].queue_depth == 0);
	assert_near(f.run.f[0].queue_depth, 0.35);
}
