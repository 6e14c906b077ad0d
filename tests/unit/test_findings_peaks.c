// SPDX-License-Identifier: GPL-2.0-only
/* Runs with one kind of IO or two: where the peaks are, and which candidates are not peaks. */
#include "findings_run.h"

/* Hits of 27 us, 97 %; misses of 212 us: each a narrow log-normal. Shares are exact where the two don't overlap. */
TEST(two_peaks)
{
	const struct finding *f;
	u64 hits, all;

	begin(1);
	synthetic_spread(&s, 0, READ, (double[]){ 27000, 0.15, 97000 });
	hits = s.frames.f[0].ops[READ].ios;
	synthetic_spread(&s, 0, READ, (double[]){ 212000, 0.15, 3000 });
	all = s.frames.f[0].ops[READ].ios;
	synthetic_tick(&s, 1);
	judge();
	f = only("peaks");
	assert_int_equal(f->n, 4);
	assert_close(value(f, "peak1_ns"), 27000, 1300);
	assert_close(value(f, "peak2_ns"), 212000, 20000);
	assert_close(value(f, "peak1_share"), (double)hits / all, 1e-9);
	assert_close(value(f, "peak2_share"), 1 - (double)hits / all, 1e-9);
}

/* 0.5 % is a peak, less is not; nor are so few IOs that they may be chance. */
TEST(peak_limits)
{
	static const struct { u64 fast, slow; u32 findings; } cases[] = {
		{ 99500, 500, 1 }, { 99501, 499, 0 }, { 9900, 100, 1 }, { 1984, 16, 0 }, { 1983, 17, 1 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		synthetic_io(&s, 0, READ, 27000, cases[c].fast);
		synthetic_io(&s, 0, READ, 212000, cases[c].slow);
		synthetic_tick(&s, 1);
		judge();
		assert_count("peaks", cases[c].findings);
	}
}

/* Plateaus of 60 bins each, wider than the smoothing: 1000 IOs a bin, 400 or 410, and 800. */
TEST(valley_limits)
{
	for (u32 low = 400; low <= 410; low += 10) {
		const struct finding *f;

		begin(1);
		for (u32 i = 0; i < 180; i++)
			synthetic_io(&s, 0, READ, hist_upper_ns(6, 700 + i), i < 60 ? 1000 : i < 120 ? low : 800);
		synthetic_tick(&s, 1);
		judge();
		assert_count("peaks", low == 400);
		if (low == 400) {
			f = only("peaks");
			/* Split in the middle of the valley's floor, which stays flat for 19 bins after smoothing. */
			assert_close(value(f, "peak1_share"), (60 * 1000 + 30 * 400) / 132000.0, 0.005);
		}
	}
}

/* 27 and 29 us are one peak at this smoothing; at scale 0, an octave a bin, 27 and 212 us are still two. */
TEST(peaks_and_resolution)
{
	begin(1);
	synthetic_io(&s, 0, READ, 27000, 5000);
	synthetic_io(&s, 0, READ, 29000, 5000);
	synthetic_tick(&s, 1);
	judge();
	assert_count("peaks", 0);
	begin_run(1, 0, 1);
	synthetic_io(&s, 0, READ, 27000, 7500);
	synthetic_io(&s, 0, READ, 212000, 2500);
	synthetic_tick(&s, 1);
	judge();
	assert_close(value(only("peaks"), "peak2_share"), 0.25, 1e-12);
}
