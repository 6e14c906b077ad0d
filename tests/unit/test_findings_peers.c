// SPDX-License-Identifier: GPL-2.0-only
/* Devices beside others like them: which is slower, and what is said once of all. */
#include "findings_run.h"

/* @n intervals of six drives. In those with a tail, sdc's p99 is @times the others', all of which scatter by up to a tenth. */
static void six(u32 n, u32 slow, double times, u64 ios)
{
	init_run();
	synthetic_begin(&s, 6, 6, 1);
	for (u32 i = 0; i < n; i++) {
		for (u32 d = 0; d < 6; d++) {
			double ns = 1000000 * (1 + 0.1 * synthetic_random(&s)) * (d == 2 && i % n < slow ? times : 1);

			synthetic_io(&s, d, READ, 100000, ios - ios / 20);
			synthetic_io(&s, d, READ, llround(ns), ios / 20);
		}
		synthetic_tick(&s, 1);
	}
	judge();
}

/* From 1.5 times on (with what it scatters), and slower in 3/4 of 20 intervals or more that have 100 IOs. */
TEST(peer_limits)
{
	static const struct { u32 n, slow; double times; u64 ios; bool told; } cases[] = {
		{ 60, 60, 1.6, 1000, true }, { 60, 60, 1.4, 1000, false }, { 60, 60, 13, 1000, true }, { 20, 20, 4, 100, true },
		{ 20, 20, 4, 99, false }, { 19, 19, 4, 1000, false }, { 60, 60, 1, 1000, false },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		six(cases[c].n, cases[c].slow, cases[c].times, cases[c].ios);
		assert_count("unlike", cases[c].told);
		if (!cases[c].told)
			continue;
		assert_string_equal(only("unlike")->watch->device->name, "sdc");
		assert_value("unlike", "times", cases[c].times, 0.08 * cases[c].times);
		assert_value("unlike", "peers", 5, 0);
		assert_value("unlike", "agree", cases[c].n, 0);
	}
}

/* Slow in every fourth interval but one (45 of 60), and in one less. */
TEST(most_intervals_agree)
{
	for (u32 well = 15; well <= 16; well++) {
		init_run();
		synthetic_begin(&s, 6, 6, 1);
		for (u32 i = 0; i < 60; i++) {
			for (u32 d = 0; d < 6; d++)
				synthetic_io(&s, d, READ, d == 2 && i * well / 60 == (i + 1) * well / 60 ? 400000 : 100000, 1000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("unlike", well == 15);
	}
}

/* Four alike are enough, three are not; others of another model or load do not count, nor partitions and the like. Half of them may be slow. */
TEST(who_is_alike)
{
	static const struct { u32 others, slow; u64 ios; const char *kind, *model; u32 told; } cases[] = {
		{ 3, 1, 2000, "disk", "", 1 }, { 2, 1, 2000, "disk", "", 0 }, { 3, 2, 2000, "disk", "", 2 }, { 3, 3, 2000, "disk", "", 0 },
		{ 3, 1, 4000, "disk", "", 1 }, { 3, 1, 4001, "disk", "", 0 }, { 3, 1, 200, "disk", "", 1 }, { 3, 1, 199, "disk", "", 0 },
		{ 3, 1, 2000, "disk", "another", 0 }, { 3, 1, 2000, "partition", "", 0 }, { 3, 1, 2000, "loop", "", 0 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		init_run();
		strcpy(s.device[0].model, cases[c].model);
		for (u32 d = 0; d < 6; d++)
			strcpy(s.device[d].kind, cases[c].kind);
		synthetic_begin(&s, 1 + cases[c].others, 6, 1);
		for (u32 i = 0; i < 30; i++) {
			for (u32 d = 0; d <= cases[c].others; d++)
				synthetic_io(&s, d, READ, d < cases[c].slow ? 400000 : 100000, d ? 2000 : cases[c].ios);
			synthetic_tick(&s, 1);
		}
		judge();
		/* Two that are alike are told once. */
		assert_count("unlike", cases[c].told);
		if (cases[c].told == 2)
			assert_int_equal(fs.f[0].also, 1);
	}
}

/* One that became slower is compared until then: alike before, it is told once. */
TEST(slower_since)
{
	for (u32 before = 1; before <= 2; before++) {
		init_run();
		synthetic_begin(&s, 6, 6, 1);
		for (u32 i = 0; i < 60; i++) {
			for (u32 d = 0; d < 6; d++)
				synthetic_io(&s, d, READ, d != 2 ? 100000 : i < 20 ? 100000 * before : 1000000, 1000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("level_change", 1);
		assert_count("unlike", before == 2);
		if (before == 2)
			assert_value("unlike", "intervals", 20, 0);
	}
}

/* 60 runs of six alike, with noise of 5 to 40 % and tails near the 99th percentile: no one is unlike. */
TEST(healthy_peers)
{
	u64 seed = 88172645463325252ULL;

	for (u32 run = 0; run < 60; run++) {
		double noise = 0.05 + 0.35 * (run % 8) / 7, share = 0.002 * (run % 10);

		init_run();
		s.random = seed;
		synthetic_begin(&s, 6, 6, 1);
		for (u32 i = 0; i < 40; i++) {
			for (u32 d = 0; d < 6; d++) {
				double ios = 2000 * fmax(1 + noise * synthetic_normal(&s), 0.1);

				synthetic_spread(&s, d, READ, (double[]){ 100000, noise, ios * (1 - share) });
				synthetic_spread(&s, d, READ, (double[]){ 5000000, noise, ios * share });
			}
			synthetic_tick(&s, 1);
		}
		seed = s.random;
		judge();
		assert_count("unlike", 0);
		assert_count("level_change", 0);
	}
}

/* --- order, and what is said once --- */

/*
 * Five drives: sdb's reads fail, sdd becomes ten times slower, sde three times; the last is steady at another rate. The worst
 * come first, what is well last, in one line.
 */
TEST(the_worst_first)
{
	static const char *const texts[] = { "sdb read: 60 of 60 000 IOs failed", "sdd read: mean latency rose", "sde read: mean latency rose" };

	init_run();
	synthetic_begin(&s, 6, 6, 1);
	for (u32 i = 0; i < 60; i++) {
		for (u32 d = 0; d < 6; d++)
			synthetic_io(&s, d, READ, 100000 * (i < 30 ? 1 : d == 3 ? 10 : d == 4 ? 3 : 1), d == 5 ? 2000 : 1000);
		s.frames.f[1].ops[READ].errors = 1;
		synthetic_tick(&s, 1);
	}
	judge();
	for (u32 i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_memory_equal(fs.f[i].text, texts[i], strlen(texts[i]));
		assert_int_equal(fs.f[i].grade, FINDING_WRONG);
	}
	assert_int_equal(fs.n, 9);
	assert_int_equal(fs.f[3].also, 2);	/* the steady state of those with which something is wrong */
	assert_int_equal(fs.f[3].grade, FINDING_DIFFERS);
	assert_int_equal(fs.f[6].also, 2);
	assert_int_equal(fs.f[6].grade, FINDING_WELL);
	assert_string_equal(fs.f[6].text, "3 are steady from 30.0 s to 60.0 s: sda read (1.00k IOPS), sdc read (1.00k IOPS) and sdf read (2.00k IOPS)");
}

/* Three drives become slower within two seconds of each other: one event, however much each is slower. */
TEST(an_event_is_said_once)
{
	static const struct { u32 at; double times; u32 also; } cases[] = { { 32, 14.9, 2 }, { 33, 10, 1 }, { 30, 151, 2 } };

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		init_run();
		synthetic_begin(&s, 3, 6, 1);
		for (u32 i = 0; i < 60; i++) {
			synthetic_io(&s, 0, READ, i < 30 ? 100000 : 1000000, 1000);
			synthetic_io(&s, 1, READ, i < 30 ? 100000 : 1000000, 1000);
			synthetic_io(&s, 2, READ, i < cases[c].at ? 100000 : llround(cases[c].times * 100000), 1000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("level_change", 3);
		assert_int_equal(fs.f[0].also + (strcmp(fs.f[0].watch->device->name, "sdc") || fs.f[0].also ? 0 : fs.f[1].also), cases[c].also);
	}
	assert_ends(&fs.f[0], "; also slower: sda read (mean 10.0 times) and sdb read (mean 10.0 times)");
}
