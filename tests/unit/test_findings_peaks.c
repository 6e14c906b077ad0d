// SPDX-License-Identifier: GPL-2.0-only
/* Runs with one kind of IO or two: where the peaks are, and which candidates are not peaks. */
#include "findings_run.h"

/* Hits of 27 us, 97 %; misses of 212 us: each a narrow log-normal. Shares are exact where the two don't overlap. */
static void two_peaks(void **state)
{
	const struct finding *f;
	struct made m;
	u64 hits, all;

	(void)state;
	begin(&m, 1);
	synthetic_spread(&m.s, 0, READ, (double[]){ 27000, 0.15, 97000 });
	hits = m.s.frames.f[0].ops[READ].ios;
	synthetic_spread(&m.s, 0, READ, (double[]){ 212000, 0.15, 3000 });
	all = m.s.frames.f[0].ops[READ].ios;
	synthetic_tick(&m.s, 1);
	judge(&m);
	f = only(&m, "peaks");
	assert_int_equal(f->n, 4);
	assert_close(value(f, "peak1_ns"), 27000, 1300);
	assert_close(value(f, "peak2_ns"), 212000, 20000);
	assert_close(value(f, "peak1_share"), (double)hits / all, 1e-9);
	assert_close(value(f, "peak2_share"), 1 - (double)hits / all, 1e-9);
	end(&m);
}

/* 0.5 % is a peak, less is not; nor are so few IOs that they may be chance. */
static void peak_limits(void **state)
{
	static const struct { u64 fast, slow; u32 findings; } cases[] = {
		{ 99500, 500, 1 }, { 99501, 499, 0 }, { 9900, 100, 1 }, { 1984, 16, 0 }, { 1983, 17, 1 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		struct made m;

		begin(&m, 1);
		synthetic_io(&m.s, 0, READ, 27000, cases[c].fast);
		synthetic_io(&m.s, 0, READ, 212000, cases[c].slow);
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "peaks", cases[c].findings);
		end(&m);
	}
}

/* Plateaus of 60 bins each, wider than the smoothing: 1000 IOs a bin, 400 or 410, and 800. */
static void valley_limits(void **state)
{
	(void)state;
	for (u32 low = 400; low <= 410; low += 10) {
		const struct finding *f;
		struct made m;

		begin(&m, 1);
		for (u32 i = 0; i < 180; i++)
			synthetic_io(&m.s, 0, READ, hist_upper_ns(6, 700 + i), i < 60 ? 1000 : i < 120 ? low : 800);
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "peaks", low == 400);
		if (low == 400) {
			f = only(&m, "peaks");
			/* Split in the middle of the valley's floor, which stays flat for 19 bins after smoothing. */
			assert_close(value(f, "peak1_share"), (60 * 1000 + 30 * 400) / 132000.0, 0.005);
		}
		end(&m);
	}
}

/* 27 and 29 us are one peak at this smoothing; at scale 0, an octave a bin, 27 and 212 us are still two. */
static void peaks_and_resolution(void **state)
{
	struct made m;

	(void)state;
	begin(&m, 1);
	synthetic_io(&m.s, 0, READ, 27000, 5000);
	synthetic_io(&m.s, 0, READ, 29000, 5000);
	synthetic_tick(&m.s, 1);
	judge(&m);
	assert_count(&m, "peaks", 0);
	end(&m);
	synthetic_init(&m.s);
	synthetic_begin(&m.s, 1, 0, 1);
	synthetic_io(&m.s, 0, READ, 27000, 7500);
	synthetic_io(&m.s, 0, READ, 212000, 2500);
	synthetic_tick(&m.s, 1);
	judge(&m);
	assert_close(value(only(&m, "peaks"), "peak2_share"), 0.25, 1e-12);
	end(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_peaks),
		cmocka_unit_test(peak_limits),
		cmocka_unit_test(valley_limits),
		cmocka_unit_test(peaks_and_resolution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
