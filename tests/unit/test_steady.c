// SPDX-License-Identifier: GPL-2.0-only
/* IOPS consistency and the steady state, with figures worked out by hand. */
#include "synthetic_run.h"

#include "report/steady.h"

static void interval(double length_s, u64 n)
{
	synthetic_io(&s, 0, WRITE, 1000, n);
	synthetic_tick(&s, length_s);
}

static void finish_all(void)
{
	s.run.asked.from = s.run.asked.to = true;
	run_finish(&s.run);
}

/* A run of writes, with the window of all of it. */
static void make(const double (*length_ios)[2], u32 n)
{
	begin_run(1, 0, 1);
	for (u32 i = 0; i < n; i++)
		interval(length_ios[i][0], length_ios[i][1]);
	finish_all();
}

static const u64 *writes(void)
{
	return s.run.watches[0].ops[WRITE].ios;
}

/* Of all writes. */
static struct consistency consistency(void)
{
	struct steady_window all;
	struct consistency c;

	all = steady_window_active(&s.run);
	c = consistency_of(&s.run, &s.run.watches[0], WRITE, &all);
	return c;
}

static struct steady_state steady_state(void)
{
	struct steady_window all;
	struct steady_state steady;

	all = steady_window_active(&s.run);
	steady = steady_state_of(&s.run, &s.run.watches[0], WRITE, &all);
	return steady;
}

/* The last two: Ctrl-C came 0.4 s into the last second, before anything had completed, or after half a second, which counts. */
TEST(consistency_by_hand)
{
	static const struct { double seconds[4][2]; u32 n; double mean, deviation, worst, worst_at_s; u32 at_0; } cases[] = {
		/* sqrt((0 + 100^2 + 100^2 + 0) / 4) */
		{ { { 1, 100 }, { 1, 200 }, { 1, 0 }, { 1, 100 } }, 4, 100, 70.710678118654755, 0, 2, 1 },
		/* 1 s at 100 and 3 s at 300: variance (150^2 + 3 * 50^2) / 4 */
		{ { { 1, 100 }, { 3, 900 } }, 2, 250, 86.602540378443865, 100, 0, 0 },
		{ { { 1, 100 }, { 1, 90 }, { 0.4, 0 } }, 3, 190 / 2.4, 35.697416651, 90, 1, 0 },
		{ { { 1, 100 }, { 0.5, 1 } }, 2, 101 / 1.5, 46.197643038, 2, 1, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct consistency c;

		make(cases[i].seconds, cases[i].n);
		c = consistency();
		assert_close(c.mean, cases[i].mean, 1e-9);
		assert_close(c.deviation, cases[i].deviation, 1e-8);
		assert_close(c.worst, cases[i].worst, 1e-9);
		assert_close(c.worst_at_s, cases[i].worst_at_s, 1e-9);
		assert_int_equal(c.intervals_at_0, cases[i].at_0);
	}
}

/* 100 IOs a second in intervals of 0.1, 0.3 and 0.7 s, whose sums and quotients are not exact in doubles. */
TEST(a_constant_rate_has_no_deviation)
{
	static const double seconds[][2] = { { 0.1, 10 }, { 0.3, 30 }, { 0.7, 70 }, { 0.1, 10 }, { 0.3, 30 }, { 0.7, 70 } };
	struct steady_window all;
	struct consistency c;

	make(seconds, 6);
	all = steady_window_set(&s.run, 0, INFINITY);
	c = consistency_of(&s.run, &s.run.watches[0], WRITE, &all);
	assert_close(c.mean, 100, 1e-9);
	assert_true(c.deviation == 0);
}

/* It comes within the third second and goes within the sixth; the others are whole. */
TEST(a_device_that_comes_and_goes)
{
	static const u64 ios[] = { 0, 0, 3, 100, 200, 7, 0 };
	const struct steady_window all = { .n = ARRAY_SIZE(ios) };
	struct steady_window there;
	struct consistency c;

	begin_run(2, 0, 1);
	for (u32 i = 0; i < ARRAY_SIZE(ios); i++) {
		s.frames.n = i < 2 || i > 5 ? 1 : 2;
		s.frames.f[1].gone = i == 5;
		synthetic_io(&s, 1, WRITE, 1000, ios[i]);
		synthetic_tick(&s, 1);
	}
	run_finish(&s.run);
	there = steady_window_there(&s.run, &s.run.watches[1], &all);
	assert_true(there.from_s == 3 && there.to_s == 5);
	c = consistency_of(&s.run, &s.run.watches[1], WRITE, &all);
	assert_true(c.mean == 150 && c.deviation == 50 && c.worst == 100 && c.worst_at_s == 3 && !c.intervals_at_0);
	assert_int_equal(steady_window_there(&s.run, &s.run.watches[0], &all).n, ARRAY_SIZE(ios));
}

TEST(nothing_to_say)
{
	struct steady_window all;
	struct steady_state steady;
	struct consistency c;
	double first;

	make(NULL, 0);
	all = steady_window_default(&s.run);
	assert_int_equal(all.n, 0);
	c = consistency_of(&s.run, &s.run.watches[0], WRITE, &all);
	assert_true(c.mean == 0 && c.deviation == 0 && c.worst == -1);
	steady = steady_state_of(&s.run, &s.run.watches[0], WRITE, &all);
	assert_false(steady.known);
	assert_int_equal(steady_state_first(&s.run, writes(), 1, &first), 0);
	assert_true(first < 0);
}

static void steady_seconds(u32 n, double length_s)
{
	begin_run(1, 0, length_s);
	for (u32 i = 0; i < n; i++)
		interval(length_s, 1);
	run_finish(&s.run);
}

TEST(default_windows)
{
	static const struct { u32 n; double length_s; u32 first; const char *rule; } cases[] = {
		{ 2000, 1, 1400, "t >= 1400 s" }, { 1700, 1, 1400, "t >= 1400 s" }, { 1698, 1, 849, "second half" },
		{ 400, 5, 280, "t >= 1400 s" }, { 200, 0.1, 100, "second half" }, { 1, 1, 0, "second half" },
		{ 2000, 1.0003, 1400, "t >= 1400 s" },	/* the 1400th begins at 1400.42 s */
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct steady_window w;

		steady_seconds(cases[i].n, cases[i].length_s);
		w = steady_window_default(&s.run);
		assert_int_equal(w.first, cases[i].first);
		assert_int_equal(w.n, cases[i].n - cases[i].first);
		assert_string_equal(w.rule, cases[i].rule);
		assert_close(w.from_s, s.run.start_s[w.first], 0);
		assert_close(w.to_s, run_end(&s.run), 0);
	}
}

TEST(windows_as_asked)
{
	struct steady_window w;

	steady_seconds(20, 1);
	w = steady_window_set(&s.run, 5, 15);
	assert_int_equal(w.first, 5);
	assert_int_equal(w.n, 10);
	assert_string_equal(w.rule, "as asked: 5.0 s to 15.0 s");
	w = steady_window_set(&s.run, 4.4, INFINITY);	/* the middle of the fifth interval is later */
	assert_int_equal(w.first, 4);
	assert_int_equal(w.n, 16);	/* to the end of the active window */
	assert_string_equal(w.rule, "as asked: t >= 4.4 s");
	w = steady_window_set(&s.run, 100, 200);
	assert_int_equal(w.n, 0);
}

/*
 * Rounds of two seconds. The line through 95, 97.5, 100, 102.5, 105 rises 10: slope 10 %, which passes.
 * Its formula: (-2 a - b + d + 2 e) / 10 a round, four rounds from the first to the last.
 */
TEST(snia_rule_at_its_limits)
{
	static const struct { double rounds[5], excursion, slope; bool reached; } cases[] = {
		{ { 1000, 1000, 1000, 1000, 1000 }, 0, 0, true },
		{ { 1000, 900, 1000, 1100, 1000 }, 0.2, 0.08, true },
		{ { 1000, 898, 1002, 1100, 1000 }, 0.202, 0.0808, false },	/* excursion */
		{ { 950, 975, 1000, 1025, 1050 }, 0.1, 0.1, true },
		{ { 1050, 1025, 1000, 975, 950 }, 0.1, -0.1, true },
		{ { 948, 975, 1000, 1025, 1052 }, 0.104, 0.1032, false },	/* slope */
		{ { 900, 1000, 1000, 1000, 1100 }, 0.2, 0.16, false }, { { 0, 0, 5000, 0, 0 }, 5, 0, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct steady_state steady;
		double first;

		begin_run(1, 0, 1);
		for (u32 second = 0; second < 10; second++)
			interval(1, cases[i].rounds[second / 2]);
		finish_all();
		steady = steady_state();
		assert_true(steady.known);
		assert_close(steady.mean, 1000, 1e-9);
		assert_close(steady.round_s, 2, 1e-9);
		assert_close(steady.rounds[3], cases[i].rounds[3], 1e-9);
		assert_close(steady.excursion, cases[i].excursion, 1e-9);
		assert_close(steady.slope, cases[i].slope, 1e-9);
		assert_int_equal(steady.reached, cases[i].reached);
		assert_int_equal(steady_state_first(&s.run, writes(), 2, &first), 0);
		assert_true(cases[i].reached ? first == 0 : first < 0);
	}
}

/* Twelve seconds make rounds of 2.4 s: the third has 0.2 of second 4, all of 5 and 6, 0.2 of 7. */
TEST(seconds_are_shared_by_rounds)
{
	struct steady_state steady;

	begin_run(1, 0, 1);
	for (u32 i = 0; i < 12; i++)
		interval(1, 100 * (i + 1));
	finish_all();
	steady = steady_state();
	assert_close(steady.rounds[2], (0.2 * 500 + 600 + 700 + 0.2 * 800) / 2.4, 1e-9);
	assert_close(steady.mean, 650, 1e-9);
}

TEST(too_short_or_idle)
{
	struct steady_window w;
	struct steady_state steady;

	steady_seconds(9, 1);
	assert_false(steady_state().known);

	steady_seconds(10, 1);
	w = steady_window_set(&s.run, 0, 10);
	steady = steady_state_of(&s.run, &s.run.watches[0], WRITE, &w);
	assert_true(steady.known && steady.reached);
	w.n = 4;
	steady = steady_state_of(&s.run, &s.run.watches[0], WRITE, &w);
	assert_false(steady.known);

	begin_run(1, 0, 1);
	for (u32 i = 0; i < 20; i++)
		interval(1, i < 10);
	finish_all();
	w = steady_window_set(&s.run, 10, 20);
	assert_int_equal(w.n, 10);
	steady = steady_state_of(&s.run, &s.run.watches[0], WRITE, &w);
	assert_false(steady.known);
}

/*
 * 80k for 500 s, then 7k. From 499 s a first round of 120 s has 7608 IOPS, the others 7000: excursion 8.5 %,
 * slope -6.8 %. From 498 s it has 8217: slope -13.4 %.
 */
TEST(first_reached)
{
	struct steady_window w;
	struct steady_state steady;
	double first;

	begin_run(1, 0, 1);
	for (u32 i = 0; i < 2000; i++)
		interval(1, i < 500 ? 80000 : 7000);
	run_finish(&s.run);
	w = steady_window_default(&s.run);
	steady = steady_state_of(&s.run, &s.run.watches[0], WRITE, &w);
	assert_true(steady.reached);
	assert_close(steady.round_s, 120, 1e-9);
	assert_int_equal(steady_state_first(&s.run, writes(), 120, &first), 0);
	/* The fast phase is a steady state, too, but its 500 s have no room for five rounds of 120 s. */
	assert_close(first, 499, 1e-6);
	assert_int_equal(steady_state_first(&s.run, writes(), 100, &first), 0);
	assert_close(first, 0, 1e-6);
	assert_int_equal(steady_state_first(&s.run, writes(), 401, &first), 0);
	assert_true(first < 0);
}
