// SPDX-License-Identifier: GPL-2.0-only
/* What differs between devices of a run, and between runs. A percentile is known to a bin of 1.1 %, and exact where all IOs take as long. */
#include "findings_run.h"

#include "report/comparison.h"

#define BIN 0.011

/* As many IOs of this latency in each second. */
struct some { u64 ns, ios; };

static struct synthetic kept[4];
static struct run runs[ARRAY_SIZE(kept)];
static u32 n_runs;

/* The run that was made becomes one of those that are compared. */
static void keep(void)
{
	run_finish(&s.run);
	kept[n_runs] = s;
	runs[n_runs++] = s.run;
	s = (struct synthetic){ 0 };
}

static void begin_named(char *label)
{
	init_run();
	s.origin.label = label;
	s.origin.file = "in/a.file";
	synthetic_begin(&s, 1, 6, 1);
}

static void add(char *label, u32 seconds, const struct some parts[4])
{
	begin_named(label);
	for (u32 i = 0; i < seconds; i++) {
		for (u32 k = 0; k < 4; k++)
			synthetic_io(&s, 0, READ, parts[k].ns, parts[k].ios);
		synthetic_tick(&s, 1);
	}
	keep();
}

/* Compares the runs, and forgets them. */
static void compare(bool to_first)
{
	static const struct device_maps none;
	struct comparison c;

	findings_uninit(&fs);
	assert_int_equal(comparison_without_phases(runs, n_runs, 0, &none, &c), 0);
	assert_int_equal(findings_compare(&c, to_first, &fs), 0);
	comparison_uninit(&c);
	while (n_runs)
		synthetic_uninit(&kept[--n_runs]);
}

static void assert_says(const char *kind, const char *words)
{
	if (!strstr(only(kind)->text, words))
		fail_msg("'%s' must have '%s'", only(kind)->text, words);
}

TEST(order_and_gaps)
{
	add("b", 10, (const struct some[4]){ { 200000, 2000 } });
	add("disk", 10, (const struct some[4]){ { 8000000, 100 } });
	add("a", 10, (const struct some[4]){ { 190000, 3000 } });
	compare(false);
	assert_int_equal(fs.n, 3);
	assert_text("order", "sda read: from slowest to fastest at p50: disk 8.00 ms (100 IOPS); 40.0 times faster, b 200 us (2.00k IOPS), a 190 us (3.00k IOPS)");
	assert_value("order", "classes", 2, 0);
	assert_string_equal(fs.f[1].text, "sda read: disk against b: 40.0 times slower at p10, 40.0 at p50, 40.0 at p90, 40.0 at p99; "
			    "disk has p50 8.00 ms, 100 IOPS and QD 0.80, b 200 us, 2.00k and 0.40");
	assert_string_equal(fs.f[2].text, "sda read: b and a are equal within 6 % from p5 to p99.9; b has p50 200 us, 2.00k IOPS and QD 0.40, a 190 us, 3.00k and 0.57");
	assert_int_equal(fs.f[2].grade, FINDING_WELL);
}

/* IOs of 4 and of 64 KiB. */
TEST(sizes_that_differ)
{
	for (u32 i = 0; i < 2; i++) {
		begin_named(i ? "large" : "small");
		synthetic_io(&s, 0, READ, 100000 << i, 1000);
		s.frames.f[0].ops[READ].bytes <<= 4 * i;
		synthetic_tick(&s, 1);
		keep();
	}
	compare(false);
	assert_ends(only("pair"), "; large has p50 200 us, 1.00k IOPS and QD 0.20 with IOs of 64.0 KiB, small 100 us, 1.00k and 0.10 with IOs of 4.00 KiB");
}

/* Of compare, the first is the measure of all. Runs without a label or file of their own have a number. */
TEST(against_the_first)
{
	add("fast", 10, (const struct some[4]){ { 100000, 1000 } });
	add("same", 10, (const struct some[4]){ { 50000, 1000 } });
	add("same", 10, (const struct some[4]){ { 300000, 10 } });
	compare(true);
	assert_int_equal(count("pair"), 2);
	/* Of 100 IOs, ten lie beyond p90. The third one is faced with by a larger factor. */
	assert_string_equal(fs.f[1].text, "sda read: run 3 against fast: 3.00 times slower at p10, 3.00 at p50, 3.00 at p90; run 3 has p50 300 us, 10 IOPS and QD <0.01, fast 100 us, 1.00k and 0.10");
	assert_string_equal(fs.f[2].text, "sda read: fast against run 2: 2.00 times slower at p10, 2.00 at p50, 2.00 at p90, 2.00 at p99; fast has p50 100 us, 1.00k IOPS and QD 0.10, run 2 50.0 us, "
			    "1.00k and 0.05");
}

/* The same for the first 55 %, as of two capacities of a drive. */
TEST(where_they_part)
{
	add("512", 10, (const struct some[4]){ { 100000, 1000 } });
	add("256", 10, (const struct some[4]){ { 100000, 550 }, { 150000, 350 }, { 200000, 90 }, { 300000, 10 } });
	compare(false);
	assert_value("pair", "equal_share", 0.55, 1e-9);
	assert_value("pair", "within_share", 0, BIN);
	assert_value("pair", "times_p50", 1, BIN);
	assert_value("pair", "times_p90", 1.5, 1.5 * BIN);
	assert_value("pair", "times_last", 3, 3 * BIN);
	assert_value("pair", "last_share", 0.999, 1e-9);
	assert_value("pair", "queue_depth", 0.1285, 1e-9);	/* 1000/s that take 128.5 us on average */
	assert_says("pair", "sda read: 256 and 512 are equal within 1 % up to p55, then 256 tapers: 1.5");
}

/* They part by 8 % or more; behind p10; and if they did not differ by more than 15 % before. */
TEST(limits_of_parting)
{
	static const struct { struct some parts[2]; const char *words; double equal; } cases[] = {
		{ { { 100000, 550 }, { 106500, 450 } }, " are equal within 7 % from p5 to p99.9;", 0.999 },
		{ { { 100000, 550 }, { 109500, 450 } }, " up to p55, then other tapers: ", 0.55 },
		{ { { 100000, 100 }, { 200000, 900 } }, " up to p10, then other tapers: ", 0.1 },
		{ { { 100000, 90 }, { 200000, 910 } }, "other against one: ", 0 },
		{ { { 88000, 550 }, { 200000, 450 } }, " up to p55, then other tapers: ", 0.55 },
		{ { { 84000, 550 }, { 200000, 450 } }, " times faster at p10, 1.18 at p50, 2.00 times slower at p90, 2.00 at p99;", 0 },
		{ { { 100000, 991 }, { 147000, 9 } }, " are equal within 1 % from p5 to p99.1;", 0.991 },	/* beyond p99 by half or more */
		{ { { 100000, 991 }, { 153000, 9 } }, " up to p99.1, then other tapers: 1.5", 0.991 },
		{ { { 50000, 450 }, { 100300, 550 } }, "other against one: 2.00 times faster at p10, equal at p50, equal at p90, equal at p99;", 0 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		add("one", 10, (const struct some[4]){ { 100000, 1000 } });
		add("other", 10, (const struct some[4]){ cases[c].parts[0], cases[c].parts[1] });
		compare(false);
		assert_says("pair", cases[c].words);
		assert_value("pair", "equal_share", cases[c].equal, 1e-9);
	}
}

/* Intervals scatter so much that being slower by 1.3 from the fastest IOs on is chance, but it is not the same latency. */
TEST(slower_throughout_by_no_more_than_chance)
{
	for (u32 run = 0; run < 2; run++) {
		begin_named(run ? "slower" : "faster");
		for (u32 i = 0; i < 20; i++) {
			synthetic_io(&s, 0, READ, (run ? 130000 : 100000) * (1 + i % 2), run ? 1000 : 5000);
			synthetic_tick(&s, 1);
		}
		keep();
	}
	compare(false);
	assert_says("pair", "sda read: slower and faster are no further apart than by chance: 1.3");
	assert_value("pair", "equal_share", 0, 1e-9);
	assert_true(!strstr(only("pair")->text, "same latency"));
}

/* Their p75 is 30 times apart, since it lies between two peaks. */
TEST(alike_but_for_a_steep_part)
{
	add("one", 10, (const struct some[4]){ { 100000, 755 }, { 3000000, 245 } });
	add("other", 10, (const struct some[4]){ { 100000, 745 }, { 3000000, 255 } });
	compare(false);
	assert_int_equal(only("pair")->grade, FINDING_WELL);
	assert_value("pair", "within_share", 29, 2 * 30 * BIN);
	assert_says("pair", ": equal at p10, equal at p50, equal at p90, equal at p99;");
}

/* Two drives with a cache: 22 % and 73 % of their IOs are fast. Beside the limits of the rule there is none. */
TEST(regimes)
{
	static const struct { struct some parts[3]; bool told; } cases[] = {
		{ { { 27000, 220 }, { 135000, 390 }, { 351000, 390 } }, true }, { { { 27000, 105 }, { 135000, 895 } }, true }, { { { 27000, 95 }, { 135000, 905 } }, false },
		{ { { 27000, 945 }, { 135000, 55 } }, true }, { { { 27000, 955 }, { 135000, 45 } }, false }, { { { 27000, 500 }, { 83000, 500 } }, true },
		{ { { 27000, 500 }, { 79000, 500 } }, false },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		add("a", 10, (const struct some[4]){ cases[c].parts[0], cases[c].parts[1], cases[c].parts[2] });
		add("b", 10, (const struct some[4]){ { 47000, 730 }, { 235000, 135 }, { 470000, 135 } });
		compare(false);
		assert_value("regimes", "least_share", fmin(0.73, cases[c].told ? cases[c].parts[0].ios / 1e3 : 1), 1e-9);
		if (c)
			continue;
		assert_value("regimes", "least_times", 5, 5 * BIN);
		assert_value("regimes", "most_times", 13, 13 * BIN);
		assert_says("regimes", "b has 73.0 % of its IOs around 47.");
		assert_says("regimes", "a has 22.0 % of its IOs around 27.");
	}
}

/* 32 in flight always, or as many as there are IOs. Half of it is too short to be judged alone. */
static void vary(char *label, double (*iops)(u32 second), bool constant)
{
	begin_named(label);
	for (u32 i = 0; i < 190; i++) {
		synthetic_io(&s, 0, WRITE, constant ? llround(32e9 / round(iops(i))) : 1000000, llround(iops(i)));
		synthetic_tick(&s, 1);
	}
}

static double every_third(u32 i) { return i % 3 ? 7000 : 700; }
static double wave(u32 i) { return 5000 + 2500 * sin(i * 2 * M_PI / 50); }
static double falling(u32 i) { return 6000 - 15.0 * i; }
static double scattered(u32 i) { return 5000 + ((u64)i * i * i * 7919 % 103 % 101 - 50.0) * 60; }
static double even(u32 i) { return 5000 + i % 2; }

TEST(consistency)
{
	static const struct { double (*iops)(u32 second); const char *words; double worst; } cases[] = {
		{ every_third, " (alternates every 3.0 s)", 700 / 4922.3 }, { wave, " (wanders)", 2505 / 5092.4 }, { falling, " (decays)", 3180 / 4582.5 },
		{ scattered, " (scatters)", 2000 / 5081.4 }, { even, " at 100.0 % of that; ", 1 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		vary("one", cases[c].iops, true);
		keep();
		vary("other", even, true);
		keep();
		compare(false);
		assert_value("consistency", "worst_share", cases[c].worst, 0.01 * cases[c].worst);
		assert_int_equal(only("consistency")->grade, c == 4 ? FINDING_WELL : FINDING_DIFFERS);
		assert_says("consistency", cases[c].words);
	}
}

/* Of a run by itself only what is not even, and only if the load did not change. */
TEST(consistency_of_one)
{
	vary("", even, true);
	judge();
	assert_count("consistency", 0);
	vary("", every_third, false);
	judge();
	assert_count("consistency", 0);
	vary("", every_third, true);
	judge();
	assert_text("consistency", "sda write: 4.92k ± 2.96k IOPS, the worst 1 % of the intervals at 14.2 % of that (alternates every 3.0 s), "
		    "from 1.0 s to 189.0 s");
}

/* Devices of a run: none that are alike, a partition of one, what lies on one, or what became slow. */
static void devices(u64 first_ns, u64 last_ns)
{
	synthetic_begin(&s, 3, 6, 1);
	for (u32 i = 0; i < 40; i++) {
		for (u32 d = 0; d < 3; d++)
			synthetic_io(&s, d, READ, d < 2 ? first_ns : last_ns, 1000);
		synthetic_tick(&s, 1);
	}
	judge();
}

TEST(devices_of_a_run)
{
	init_run();
	devices(100000, 400000);
	assert_text("order", "read: from slowest to fastest at p50: sdc 400 us (1.00k IOPS); 4.00 times faster, sda 100 us (1.00k IOPS), sdb 100 us (1.00k IOPS)");
	assert_value("pair", "times_last", 4, 0);
	init_run();
	devices(100000, 100000);
	assert_calm();
	init_run();
	strcpy(s.device[2].kind, "partition");
	s.device[2].parent = 0;
	devices(100000, 400000);
	assert_calm();
	init_run();
	s.device[2].n_lower = s.device[2].lower[0] = 1;
	devices(100000, 400000);
	assert_count("order", 0);
}

/* What a layer adds to each IO of its two members, on both sides of the limits: a bin, and as many IOs. */
TEST(layer)
{
	static const struct { u64 ns, ios; bool told; } cases[] = {
		{ 106000, 1000, true }, { 101300, 1000, true }, { 100900, 1000, false }, { 106000, 1040, true }, { 106000, 1070, false },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		init_run();
		s.device[0].n_lower = 2;
		s.device[0].lower[0] = 1;
		s.device[0].lower[1] = 2;
		synthetic_begin(&s, 3, 6, 1);
		for (u32 i = 0; i < 40; i++) {
			synthetic_io(&s, 0, READ, cases[c].ns, cases[c].ios);
			synthetic_io(&s, 1, READ, 100000, 500);
			synthetic_io(&s, 2, READ, 100000, 500);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("layer", cases[c].told);
		if (!c)
			assert_text("layer", "sda read: adds 6.00 us to every IO (p10 6.00 us, p90 6.00 us); QD 0.11 on it is QD 0.05 on each of 2 members");
	}
}
