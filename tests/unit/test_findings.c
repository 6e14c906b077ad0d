// SPDX-License-Identifier: GPL-2.0-only
/* All rules together: runs of any length, in two stages, and runs in which nothing happens. */
#include "findings_run.h"

/* --- runs of all lengths --------------------------------------------------------------------- */

TEST(short_runs)
{
	begin(1);		/* no interval */
	judge();
	assert_int_equal(fs.n, 0);
	begin(1);		/* one without an IO */
	second(READ, 0, 0);
	judge();
	assert_int_equal(fs.n, 0);
	begin(1);		/* a single one */
	second(READ, 27000, 37000);
	judge();
	assert_calm();
	assert_string_equal(only("steady_state")->text, "sda read: run too short to tell whether it reached a steady state "
			    "(1 interval)");
	begin(1);		/* 20 s */
	for (u32 i = 0; i < 20; i++)
		second(READ, 27000, 37000);
	judge();
	assert_calm();
	assert_string_equal(only("steady_state")->text, "sda read: steady state reached from 10.0 s to 20.0 s: five rounds "
			    "of 2.0 s average 37.0k IOPS, differ by 0 % (limit 20 %) and rise by 0 % from first to last "
			    "(limit 10 %)");
	begin(1);		/* it ended early, during the writes */
	for (u32 i = 0; i < 20; i++) {
		synthetic_io(&s, 0, WRITE, 27000, 37000);
		second(READ, 27000, i < 9 ? 37000 : 0);
	}
	judge();
	assert_calm();
	assert_string_equal(fs.f[0].text, "sda read: no IO from 10.0 s to 20.0 s, where the steady state is "
			    "looked for");
}

/* The same change at 100 s with intervals of 0.1 s, of 5 s, and in a ring whose first 64 s were merged by 8. */
TEST(interval_lengths)
{
	static const double lengths[] = { 0.1, 5, 1 };

	for (u32 c = 0; c < ARRAY_SIZE(lengths); c++) {
		double t = 0;

		begin(lengths[c]);
		while (t < 199.99) {
			double length = c == 2 && t < 63.99 ? 8 : lengths[c];
			bool fast = t < 99.99;

			synthetic_io(&s, 0, WRITE, fast ? 27000 : 212000, llround((fast ? 148148 : 18868) * length));
			synthetic_in_flight(&s, 0, 4, 10000);
			synthetic_tick(&s, length);
			t += length;
		}
		judge();
		assert_close(value(only("level_change"), "at_s"), 100, 0.05);
		assert_close(value(only("level_change"), "before_iops"), 148148, 20);
		assert_count("stall", 0);
		assert_close(value(only("steady_state"), "reached"), 1, 0);
	}
}

/* A run with two stages: the rate is judged once, at the device. */
TEST(stages)
{
	init_run();
	s.watch[1] = (struct watch){ .device = &s.device[0], .stage = BLKLAT_STAGE_QUEUE };
	synthetic_begin(&s, 2, 6, 1);
	for (u32 i = 0; i < 40; i++) {
		synthetic_io(&s, 0, READ, 27000, i < 20 ? 30000 : 3000);
		synthetic_io(&s, 1, READ, 1000, i < 20 ? 30000 : 3000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_non_null(strstr(only("level_change")->text, "sda (device) read: IOPS fell from 30.0k to 3.00k at 20.0 s"));
	assert_count("steady_state", 1);
}

/* A part has the same drop and errors as its whole: only the whole is judged, and its name needs no stage. */
TEST(parts_are_passed_over)
{
	static const struct part small = { "size", "4 KiB", 1 };

	init_run();
	s.watch[1] = s.watch[0];
	s.watch[1].part = &small;
	synthetic_begin(&s, 2, 6, 1);
	for (u32 i = 0; i < 40; i++) {
		for (u32 watch = 0; watch < 2; watch++) {
			synthetic_io(&s, watch, READ, 27000, i < 20 ? 30000 : 3000);
			s.frames.f[watch].ops[READ].errors = 1;
		}
		synthetic_tick(&s, 1);
	}
	judge();
	assert_non_null(strstr(only("level_change")->text, "sda read: IOPS fell from 30.0k to 3.00k at 20.0 s"));
	assert_count("steady_state", 1);
	assert_count("errors", 1);
}

/* --- steady runs ----------------------------------------------------------------------------- */

/*
 * 90 runs that do not change: noise of 1, 5 and 20 % besides Poisson's, one peak or two (also half and half, where
 * the median may be in either), 60 to 2000 intervals. The only findings allowed are peaks, where there are two.
 */
TEST(steady_runs_are_calm)
{
	static const double noises[] = { 0.01, 0.05, 0.20 }, second_shares[] = { 0, 0, 0.02, 0.3, 0.5 };
	u64 seed = 88172645463325252ULL;

	for (u32 run = 0; run < 90; run++) {
		double noise = noises[run % 3], share = second_shares[run % 5], rate, sigma;
		u32 n;

		begin(1);
		s.random = seed;
		n = 60 + (u32)(pow(synthetic_random(&s), 3) * 1940);
		rate = exp(log(50) + synthetic_random(&s) * log(2000));
		sigma = 0.05 + 0.25 * synthetic_random(&s);
		for (u32 i = 0; i < n; i++) {
			double ios = rate * fmax(1 + noise * synthetic_normal(&s), 0.05);

			synthetic_spread(&s, 0, READ, (double[]){ 27000, sigma, ios * (1 - share) });
			if (share)
				synthetic_spread(&s, 0, READ, (double[]){ 212000, sigma, ios * share });
			synthetic_in_flight(&s, 0, 3, 20000);
			synthetic_tick(&s, 1);
		}
		seed = s.random;
		judge();
		for (u32 i = 0; i < fs.n; i++) {
			const char *kind = fs.f[i].kind;

			if (strcmp(kind, "steady_state") && !(share && !strcmp(kind, "peaks"))) {
				show();
				fail_msg("run %u: %u intervals, rate %.0f, noise %.2f, share %.2f, sigma %.2f", run, n,
					 rate, noise, share, sigma);
			}
		}
		if (share)
			assert_int_equal(only("peaks")->n, 4);
	}
}
