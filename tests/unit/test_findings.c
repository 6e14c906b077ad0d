// SPDX-License-Identifier: GPL-2.0-only
/* All rules together: runs of any length, in two stages, and runs in which nothing happens. Then the smaller rules. */
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
	assert_text("steady_state", "sda read: run too short to tell whether it reached a steady state "
			    "(1 interval)");
	begin(1);		/* a single IO in a minute */
	for (u32 i = 0; i < 60; i++)
		second(READ, 27000, i == 30);
	judge();
	assert_calm();
	assert_text("steady_state", "sda read: load too short to tell whether it reached a steady state "
			    "(1 of 60 intervals)");
	begin(1);		/* 20 s */
	for (u32 i = 0; i < 20; i++)
		second(READ, 27000, 37000);
	judge();
	assert_calm();
	assert_text("steady_state", "sda read: steady state reached from 10.0 s to 20.0 s: five rounds "
			    "of 2.0 s average 37.0k IOPS and differ by 0 %");
	begin(1);		/* it ended early, during the writes */
	for (u32 i = 0; i < 20; i++) {
		synthetic_io(&s, 0, WRITE, 27000, 37000);
		second(READ, 27000, i < 9 ? 37000 : 0);
	}
	judge();
	assert_calm();
	assert_count("steady_state", 1);	/* of the writes */
	begin(1);		/* the same, and the writes stall then for a second */
	for (u32 i = 0; i < 20; i++) {
		synthetic_io(&s, 0, WRITE, 27000, i == 15 ? 0 : 37000);
		synthetic_io(&s, 0, WRITE, 1100000000, i == 16 ? 4 : 0);
		synthetic_io(&s, 0, READ, 27000, i < 9 ? 37000 : 0);
		synthetic_in_flight(&s, 0, 4, i == 15 ? 1000000000 : 13000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("stall", 1);
	assert_count("steady_state", 1);
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
		assert_value("level_change", "at_s", 100, 0.05);
		assert_value("level_change", "before_iops", 148148, 20);
		assert_count("stall", 0);
		assert_value("steady_state", "reached", 1, 0);
	}
}

/*
 * The same drop twice: at two stages, where the rate is judged once, at the device; and, with errors, of a whole and its
 * part, where only the whole is judged, and its name needs no stage.
 */
TEST(stages_and_parts)
{
	static const struct part small = { "size", "4 KiB", 1 };
	static const struct { struct watch second; const char *name; } cases[] = {
		{ { .device = &s.device[0], .stage = BLKLAT_STAGE_QUEUE }, "sda (device)" },
		{ { .device = &s.device[0], .stage = BLKLAT_STAGE_WAIT }, "sda (device)" },
		{ { .device = &s.device[0], .stage = BLKLAT_STAGE_DEVICE, .part = &small }, "sda" },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		bool whole = !cases[c].second.part;
		const char *text;

		init_run();
		s.watch[1] = cases[c].second;
		synthetic_begin(&s, 2, 6, 1);
		for (u32 i = 0; i < 40; i++) {
			for (u32 watch = 0; watch < 2; watch++) {
				synthetic_io(&s, watch, READ, watch && whole ? 1000 : 27000, i < 20 ? 30000 : 3000);
				s.frames.f[watch].ops[READ].errors = !whole;
			}
			synthetic_tick(&s, 1);
		}
		judge();
		text = only("level_change")->text;
		assert_memory_equal(text, cases[c].name, strlen(cases[c].name));
		assert_non_null(strstr(text, " read: IOPS fell from 30.0k to 3.00k at 20.0 s"));
		assert_count("steady_state", 1);
		assert_count("errors", !whole);
	}
}

/* --- steady runs ----------------------------------------------------------------------------- */

/*
 * 90 runs that do not change: noise of 1, 5 and 20 % besides Poisson's, one peak or two (also half and half, where
 * the median may be in either, as p90 and p99 may at 10 and 1 %), 60 to 2000 intervals. The only findings allowed are peaks, where there are two.
 */
TEST(steady_runs_are_calm)
{
	static const double noises[] = { 0.01, 0.05, 0.20 }, second_shares[] = { 0, 0.01, 0.02, 0.1, 0.5 };
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
		if (share > 0.01)
			assert_int_equal(only("peaks")->n, 4);
	}
}

/* --- faults: losses, counts that disagree, errors, IOs that hang, a device that goes away --- */

TEST(losses_and_errors)
{
	struct accounting *a;

	a = &s.frames.f[0].accounting;
	synthetic_io(&s, 0, READ, 27000, 997);
	synthetic_tick(&s, 1);
	synthetic_io(&s, 0, READ, 27000, 1000);
	s.frames.f[0].ops[READ].errors = 2;
	a->lost = 3;
	a->lost_by[LOST_RECURSION] = 2;
	a->lost_by[LOST_TABLE_FULL] = 1;
	a->kernel_known = true;
	a->kernel_ios = 2004;
	synthetic_tick(&s, 1);
	judge();
	assert_text("losses", "sda: 3 IOs are lost from the figures (0.15 %): 1 that found no room "
			    "in the table of bios, 2 in program runs that the kernel skipped");
	assert_text("kernel_count", "sda: the kernel's statistics counted 2 004 IOs, blklat 1 997");
	assert_text("errors", "sda read: 2 of 1 997 IOs failed, the first at 1.0 s");
	assert_close(only("errors")->from_s, 1, 1e-9);
}

/* 1 s where 100 medians are less; 100 medians of 50 ms; never more than 30 s. */
TEST(hung_limits)
{
	static const struct { u64 p50_ns, age_ns; u32 findings; } cases[] = {
		{ 27000, 1000000000, 1 }, { 27000, 999999999, 0 }, { 50000000, 5000000000, 1 },
		{ 50000000, 4999999999, 0 }, { 900000000, 30000000000, 1 }, { 900000000, 29999999999, 0 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		synthetic_io(&s, 0, READ, cases[c].p50_ns, 100);
		synthetic_tick(&s, 60);
		synthetic_io(&s, 0, READ, cases[c].p50_ns, 100);
		synthetic_in_flight(&s, 0, 1, cases[c].age_ns);
		synthetic_tick(&s, 1);
		judge();
		assert_count("hung", cases[c].findings);
		if (cases[c].findings)
			assert_value("hung", "pending", 1, 0);
		if (!c)
			assert_text("hung", "sda: an IO hung: at 61.0 s it had been in flight for 1.00 s, "
					    "and it still was when the run ended");
	}
}

/* Whether it was steady can't be told of one that was not there all the time: 20 s, of which the last 10 s are judged. */
TEST(device_gone)
{
	for (u32 n = 3; n <= 20; n += 17) {
		begin_run(2, 6, 1);
		for (u32 i = 0; i < 20; i++) {
			s.frames.n = 1 + (i < n);
			synthetic_io(&s, 0, READ, 27000, 1000);
			if (i < n)
				synthetic_io(&s, 1, READ, 27000, 1000);
			s.frames.f[1].gone = i == n - 1;
			synthetic_tick(&s, 1);
		}
		s.frames.n = 2;
		judge();
		assert_text("gone", n == 3 ? "sdb: the device went away at 3.0 s" : "sdb: the device went away at 20.0 s");
		assert_count("steady_state", n == 3 ? 1 : 2);
	}
}

/*
 * Rounds of 2 s whose IOs differ by 30 %. At one rate that is chance where five rounds have (5.5 / 0.3)^2 = 336 IOs each or
 * fewer, by Poisson: 300 do, 400 do not.
 */
TEST(too_few_to_be_steady)
{
	for (u32 ios = 150; ios <= 200; ios += 50) {
		begin(1);
		for (u32 i = 0; i < 20; i++)
			second(READ, 27000, i / 2 == 6 ? ios * 1.3 : ios);
		judge();
		if (ios == 200)
			assert_value("steady_state", "reached", 0, 0);
		else
			assert_text("steady_state", "sda read: too few IOs to tell whether it reached a steady state (318 in each round of 2.0 s)");
	}
}

/* Five rounds of 5 s rise by 12 %: if IOPS scatter by 14 % from second to second, that may be chance; by 2.8 % it is not. */
TEST(too_scattered_to_be_steady)
{
	for (u32 percent = 2; percent <= 10; percent += 8) {
		begin(1);
		for (u32 i = 0; i < 50; i++)
			second(READ, 27000, 100 * (100 + (i % 2 ? -1 : 1) * (s64)percent + (i < 25 ? 0 : 3 * ((s64)(i - 25) / 5 - 2))));
		judge();
		assert_value("steady_state", "known", percent == 2, 0);
		if (percent == 10)
			assert_text("steady_state", "sda read: IOPS scatter too much to tell whether it reached a steady state: by 14.2 % from "
				    "interval to interval; rounds of 5.0 s may differ by 13.1 % by chance");
	}
}

/* One that came later went away when it did, not after as long as it was there; and it was not there to be steady. */
TEST(device_came_and_gone)
{
	begin_run(2, 6, 1);
	for (u32 i = 0; i < 60; i++) {
		s.frames.n = i >= 40 && i < 50 ? 2 : 1;
		synthetic_io(&s, 0, READ, 27000, 100);
		if (s.frames.n == 2)
			synthetic_io(&s, 1, READ, 27000, 100);
		s.frames.f[1].gone = i == 49;
		synthetic_tick(&s, 1);
	}
	s.frames.n = 2;
	judge();
	assert_text("gone", "sdb: the device went away at 50.0 s");
	for (u32 i = 0; i < fs.n; i++)
		assert_true(strcmp(fs.f[i].kind, "steady_state") || !strcmp(fs.f[i].watch->device->name, "sda"));
}

/* --- one kind of IO or two: where the peaks are, and which candidates are not peaks --- */

/* Hits of 27 us, 97 %; misses of 212 us: each a narrow log-normal. Shares are exact where the two don't overlap. */
TEST(two_peaks)
{
	u64 hits, all;

	synthetic_spread(&s, 0, READ, (double[]){ 27000, 0.15, 97000 });
	hits = s.frames.f[0].ops[READ].ios;
	synthetic_spread(&s, 0, READ, (double[]){ 212000, 0.15, 3000 });
	all = s.frames.f[0].ops[READ].ios;
	synthetic_tick(&s, 1);
	judge();
	assert_int_equal(only("peaks")->n, 4);
	assert_value("peaks", "peak1_ns", 27000, 1300);
	assert_value("peaks", "peak2_ns", 212000, 20000);
	assert_value("peaks", "peak1_share", (double)hits / all, 1e-9);
	assert_value("peaks", "peak2_share", 1 - (double)hits / all, 1e-9);
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
		begin(1);
		for (u32 i = 0; i < 180; i++)
			synthetic_io(&s, 0, READ, hist_upper_ns(6, 700 + i), i < 60 ? 1000 : i < 120 ? low : 800);
		synthetic_tick(&s, 1);
		judge();
		assert_count("peaks", low == 400);
		if (low == 400) {
			/* Split in the middle of the valley's floor, which stays flat for 19 bins after smoothing. */
			assert_value("peaks", "peak1_share", (60 * 1000 + 30 * 400) / 132000.0, 0.005);
		}
	}
}

/* 27 and 29 us are one peak at this smoothing; at scale 0, an octave a bin, 27 and 212 us are still two. */
TEST(peaks_and_resolution)
{
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
	assert_value("peaks", "peak2_share", 0.25, 1e-12);
}

/* --- pauses: the first IO after a pause is slower, or there are not enough of them to say so --- */

TEST(after_pause_limits)
{
	static const struct { u64 ns, ios, rest; u32 findings; } cases[] = {
		{ 152000, 5, 1000, 1 }, { 152000, 4, 1000, 0 }, { 147000, 5, 1000, 0 }, { 66000, 5, 1000, 1 },
		{ 69000, 5, 1000, 0 }, { 152000, 1000, 4, 0 }, { 152000, 1000, 5, 1 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		synthetic_io(&s, 0, READ, 100000, cases[c].rest);
		synthetic_first_io(&s, 0, READ, cases[c].ns, cases[c].ios);
		synthetic_tick(&s, 1);
		judge();
		assert_count("after_pause", cases[c].findings);
	}
}
