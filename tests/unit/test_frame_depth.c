// SPDX-License-Identifier: GPL-2.0-only
/* The mean number of IOs in flight, including those that have not ended. */
#include "frame_fixture.h"

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
		frames_accumulate(&f.run, &f.frames, &percentiles_default);
		assert_near(f.frames.f[0].queue_depth, seconds[i].depth);
		sum += f.frames.f[0].queue_depth;
	}
	/* All of their time, and only once. */
	assert_near(sum, 14 * 2.2);
	assert_near(f.run.f[0].queue_depth, 14 * 2.2 / 4);
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
	frames_accumulate(&f.run, &f.frames, &percentiles_default);
	advance();
	f.now.w[0].waited_ns = 0;
	between(1000000000);
	frames_accumulate(&f.run, &f.frames, &percentiles_default);
	assert_true(f.frames.f[0].queue_depth == 0);
	assert_near(f.run.f[0].queue_depth, 0.35);
}
