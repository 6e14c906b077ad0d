// SPDX-License-Identifier: GPL-2.0-only
/* Runs made with known answers: each rule must say them, and nothing else. */
#include "synthetic_run.h"

#include "model/findings.h"

#define READ BLKLAT_OP_READ
#define WRITE BLKLAT_OP_WRITE

struct made {
	struct synthetic s;
	struct findings fs;
};

static void begin(struct made *m, double interval_s)
{
	synthetic_init(&m->s);
	synthetic_begin(&m->s, 1, 6, interval_s);
}

static void judge(struct made *m)
{
	struct steady_window w;

	run_finish(&m->s.run);
	steady_window_default(&m->s.run, &w);
	assert_int_equal(findings_make(&m->s.run, &w, &m->fs), 0);
}

static void end(struct made *m)
{
	findings_uninit(&m->fs);
	synthetic_uninit(&m->s);
}

/* One second of IOs of the same latency at some queue depth. */
static void second(struct made *m, u32 op, u64 ns, u64 ios)
{
	synthetic_io(&m->s, 0, op, ns, ios);
	synthetic_in_flight(&m->s, 0, ios ? 4 : 0, ios ? ns / 2 : 0);
	synthetic_tick(&m->s, 1);
}

static u32 count(const struct made *m, const char *kind)
{
	u32 n = 0;

	for (u32 i = 0; i < m->fs.n; i++)
		n += !strcmp(m->fs.f[i].kind, kind);
	return n;
}

static void show(const struct made *m)
{
	for (u32 i = 0; i < m->fs.n; i++)
		print_message("  %s: %s\n", m->fs.f[i].kind, m->fs.f[i].text);
}

static void assert_count(const struct made *m, const char *kind, u32 n)
{
	if (count(m, kind) != n) {
		show(m);
		fail_msg("%u findings of %s, must be %u", count(m, kind), kind, n);
	}
}

/* The only finding of its kind. */
static const struct finding *only(const struct made *m, const char *kind)
{
	assert_count(m, kind, 1);
	for (u32 i = 0;; i++)
		if (!strcmp(m->fs.f[i].kind, kind))
			return &m->fs.f[i];
}

static double value(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return f->values[i].value;
	fail_msg("%s has no value %s", f->kind, name);
	return 0;
}

static bool has_value(const struct finding *f, const char *name)
{
	for (u32 i = 0; i < f->n; i++)
		if (!strcmp(f->values[i].name, name))
			return true;
	return false;
}

/* Nothing but whether the state is steady. */
static void assert_calm(const struct made *m)
{
	if (count(m, "steady_state") != m->fs.n) {
		show(m);
		fail_msg("%u findings of a steady run", m->fs.n);
	}
}

/* --- level changes --------------------------------------------------------------------------- */

/*
 * QD 4, closed: 148148 IOPS of 27 us, then 18868 of 212 us, from 438.4 s on of 2000 s. At the change
 * 438.4 * 148148 = 64 948 083 of 94 416 500 IOs are done: 68.8 %.
 */
static void cache_exhausted(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 2000; i++) {
		double fast = i < 438 ? 1 : i > 438 ? 0 : 0.4;

		synthetic_io(&m.s, 0, WRITE, 27000, llround(fast * 148148));
		second(&m, WRITE, 212000, llround((1 - fast) * 18868));
	}
	judge(&m);
	f = only(&m, "level_change");
	assert_int_equal(f->op, WRITE);
	assert_close(value(f, "at_s"), 438.4, 0.01);
	assert_close(value(f, "share"), 0.6879, 0.0001);
	assert_close(value(f, "before_iops"), 148148, 1);
	assert_close(value(f, "after_iops"), 18868, 1);
	assert_close(value(f, "before_p50_ns"), 27000, 150);
	assert_close(value(f, "after_p50_ns"), 212000, 1200);
	assert_string_equal(f->text, "sda write: IOPS fell from 148k to 18.9k at 438.4 s, after 68.8 % of the IOs; p50 27.0 us "
			    "before, 212 us after; queue depth 4.00 and 4.00: the device became slower, as when a cache is "
			    "exhausted");
	assert_count(&m, "stall", 0);
	assert_close(value(only(&m, "steady_state"), "reached"), 1, 0);
	assert_count(&m, "peaks", 1);
	end(&m);
}

/* The same at a fixed rate: 10000 IOPS throughout, only latency tells. 438 of 2000 s are 21.9 % of the IOs. */
static void cache_exhausted_at_a_fixed_rate(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 2000; i++)
		second(&m, WRITE, i < 438 ? 27000 : 212000, 10000);
	judge(&m);
	f = only(&m, "level_change");
	assert_close(value(f, "at_s"), 438, 1);
	assert_close(value(f, "share"), 0.219, 0.01);
	assert_close(value(f, "before_queue_depth"), 0.27, 0.001);
	assert_close(value(f, "after_queue_depth"), 2.12, 0.001);
	assert_string_equal(f->text, "sda write: latency rose at 438.0 s, after 21.9 % of the IOs, at 10.0k IOPS before and "
			    "10.0k after; p50 27.0 us before, 212 us after; queue depth 0.27 and 2.12: the device became "
			    "slower, as when a cache is exhausted");
	end(&m);
}

/* Half the queue depth is half the IOPS: not the drive's doing. */
static void load_changed(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 60; i++)
		second(&m, READ, 100000, i < 30 ? 320000 : 10000);
	judge(&m);
	f = only(&m, "level_change");
	assert_close(value(f, "at_s"), 30, 1e-6);
	assert_string_equal(f->text, "sda read: IOPS fell from 320k to 10.0k at 30.0 s, after 97.0 % of the IOs; p50 100 us "
			    "before, 100 us after; queue depth 32.0 and 1.00: the load changed");
	end(&m);
}

/* The least that is a level: a factor of 1.5, five intervals on both sides. Just less is none. */
static void level_limits(void **state)
{
	static const struct { u32 before, after; u64 from, to; u32 changes; } cases[] = {
		{ 20, 20, 15000, 10000, 1 }, { 20, 20, 14900, 10000, 0 }, { 20, 20, 10000, 15000, 1 },
		{ 20, 20, 10000, 14900, 0 }, { 5, 20, 40000, 10000, 1 }, { 4, 20, 40000, 10000, 0 },
		{ 20, 5, 40000, 10000, 1 }, { 20, 4, 40000, 10000, 0 }, { 5, 5, 40000, 10000, 1 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		struct made m;

		begin(&m, 1);
		for (u32 i = 0; i < cases[c].before + cases[c].after; i++)
			second(&m, READ, 100000, i < cases[c].before ? cases[c].from : cases[c].to);
		judge(&m);
		assert_count(&m, "level_change", cases[c].changes);
		if (cases[c].changes)
			assert_close(value(only(&m, "level_change"), "at_s"), cases[c].before, 1e-6);
		end(&m);
	}
}

/* Seconds of so many IOs, a level after the other; each alternates between two rates. */
static u32 changes_of(const double (*level)[2], u32 n, u32 seconds)
{
	struct made m;
	u32 changes;

	begin(&m, 1);
	for (u32 i = 0; i < n * seconds; i++)
		second(&m, READ, 100000, llround(level[i / seconds][i % seconds % 2]));
	judge(&m);
	changes = count(&m, "level_change");
	end(&m);
	return changes;
}

/*
 * Noise by differences of neighbours: ln 1.35 / sqrt(2) = 0.212, so the standard error between two levels of five is
 * 0.134. A step by 1.7092 is 4.0 of these, one by 2.0138 is 5.2.
 */
static void a_step_stands_out_of_the_noise(void **state)
{
	static const double four[][2] = { { 10000, 13500 }, { 17092, 23074 } };
	static const double five[][2] = { { 10000, 13500 }, { 20138, 27186 } };

	(void)state;
	assert_int_equal(changes_of(four, 2, 5), 0);
	assert_int_equal(changes_of(five, 2, 5), 1);
}

/* Levels that alternate by a factor of 2 scatter by ln 2 / 2 = 0.347: more than half a step by 1.65, less of 2.1. */
static void levels_are_stable(void **state)
{
	static const double unstable[][2] = { { 10000, 20000 }, { 16500, 33000 } };
	static const double stable[][2] = { { 10000, 20000 }, { 21000, 42000 } };

	(void)state;
	assert_int_equal(changes_of(unstable, 2, 81), 0);
	assert_int_equal(changes_of(stable, 2, 81), 1);
}

/* 20 s at 20k, 10 s of rest, 20 s at 5k: it changed when the load came back. */
static void a_rest_between_levels(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 50; i++)
		second(&m, READ, i < 20 ? 100000 : 400000, i < 20 ? 20000 : i < 30 ? 0 : 5000);
	judge(&m);
	f = only(&m, "level_change");
	assert_close(value(f, "at_s"), 30, 1e-9);
	assert_close(value(f, "rest_s"), 10, 1e-9);
	assert_close(value(f, "share"), 0.8, 1e-9);
	assert_string_equal(f->text, "sda read: IOPS fell from 20.0k to 5.00k at 30.0 s, after 80.0 % of the IOs; p50 100 us "
			    "before, 400 us after; queue depth 2.00 and 2.00, after a rest of 10.0 s: the device became "
			    "slower, as when a cache is exhausted");
	assert_count(&m, "stall", 0);
	end(&m);
}

/* Below 1 % of the median for 6 s of 100 is a stall, and no level; for 20 s it is a level, and no stall. */
static void crawling_or_slow(void **state)
{
	(void)state;
	for (u32 seconds = 6; seconds <= 20; seconds += 14) {
		struct made m;

		begin(&m, 1);
		for (u32 i = 0; i < 100; i++) {
			bool slow = i >= 40 && i < 40 + seconds;

			synthetic_io(&m.s, 0, READ, slow ? 16000000 : 100000, slow ? 2000 : 320000);
			synthetic_in_flight(&m.s, 0, 32, 50000);
			synthetic_tick(&m.s, 1);
		}
		judge(&m);
		assert_count(&m, "stall", seconds == 6);
		assert_count(&m, "level_change", seconds == 6 ? 0 : 2);
		end(&m);
	}
}

/* 20k, 5k, 20k: a drive that cleans up in between. */
static void three_levels(void **state)
{
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 300; i++)
		second(&m, WRITE, 1000000, i / 100 == 1 ? 5000 : 20000);
	judge(&m);
	assert_count(&m, "level_change", 2);
	assert_close(value(&m.fs.f[1], "at_s"), 100, 1e-6);
	assert_close(value(&m.fs.f[2], "at_s"), 200, 1e-6);
	assert_close(value(&m.fs.f[2], "share"), 2.5 / 4.5, 1e-6);
	assert_count(&m, "stall", 0);
	end(&m);
}

/* It does so every 30 s: told once. Every second: that is scatter and no level. */
static void many_levels(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 600; i++)
		second(&m, WRITE, 1000000, i / 30 % 2 ? 5000 : 20000);
	judge(&m);
	f = only(&m, "level_change");
	assert_close(value(f, "changes"), 19, 0);
	assert_close(value(f, "first_at_s"), 30, 1e-6);
	assert_close(value(f, "last_at_s"), 570, 1e-6);
	assert_close(value(f, "least_iops"), 5000, 1e-6);
	assert_close(value(f, "most_iops"), 20000, 1e-6);
	assert_string_equal(f->text, "sda write: the level changed 19 times from 30.0 s to 570.0 s; the lowest has 5.00k IOPS "
			    "with a p50 of 1.00 ms, the highest 20.0k IOPS with 1.00 ms");
	end(&m);

	begin(&m, 1);
	for (u32 i = 0; i < 600; i++)
		second(&m, WRITE, 1000000, i % 2 ? 5000 : 20000);
	judge(&m);
	assert_calm(&m);
	end(&m);
}

/* From 80k to 7k in even steps over 200 s: nowhere it changes at once. */
static void a_ramp_is_no_step(void **state)
{
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 300; i++) {
		double t = i < 50 ? 0 : i > 250 ? 200 : i - 50;

		second(&m, WRITE, 1000000, llround(80000 * pow(7.0 / 80, t / 200)));
	}
	judge(&m);
	assert_count(&m, "level_change", 0);
	end(&m);
}

/* 80k for 500 s, then 7k with much noise: steady from 1400 s on, as the rounds are averages. */
static void fill_up(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 2000; i++)
		second(&m, WRITE, i < 500 ? 400000 : 4500000,
		       i < 500 ? 80000 : llround(7000 * (0.4 + 1.2 * synthetic_random(&m.s))));
	judge(&m);
	f = only(&m, "level_change");
	assert_close(value(f, "at_s"), 500, 1);
	assert_close(value(f, "share"), 500 * 80000 / (500 * 80000 + 1500 * 7000.0), 0.01);
	f = only(&m, "steady_state");
	assert_close(value(f, "reached"), 1, 0);
	assert_close(value(f, "iops"), 7000, 200);
	assert_close(value(f, "first_reached_s"), 499, 5);
	assert_close(f->from_s, 1400, 1e-6);
	assert_count(&m, "stall", 0);
	end(&m);
}

/* --- stalls ---------------------------------------------------------------------------------- */

/* 7k, 7k, 0: the third second has 32 IOs in flight, which end 1 s old right after it. */
static void stops_every_third_second(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 1998; i++) {
		if (i % 3 < 2)
			synthetic_io(&m.s, 0, WRITE, 4500000, 7000);
		if (i && i % 3 == 0)
			synthetic_io(&m.s, 0, WRITE, 1004000000, 32);
		synthetic_in_flight(&m.s, 0, 32, i % 3 < 2 ? 2000000 : 1002000000);
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	f = only(&m, "stall");
	assert_int_equal(f->op, WRITE);
	assert_close(value(f, "stalls"), 666, 0);
	assert_close(value(f, "time_s"), 666, 1e-6);
	assert_close(value(f, "share"), 1 / 3.0, 1e-9);
	assert_close(value(f, "period_s"), 3, 1e-9);
	assert_close(value(f, "longest_s"), 1, 1e-9);
	assert_close(value(f, "median_iops"), 7000, 40);
	assert_close(f->from_s, 2, 1e-9);
	assert_close(f->to_s, 1998, 1e-9);
	assert_string_equal(f->text, "sda write: stalled 666 times, 666.0 s in all (33.3 % of the run), longest 1.0 s at 2.0 s, "
			    "regularly: about every 3.0 s; IOs were in flight, 7.00k IOPS is the median");
	assert_count(&m, "level_change", 0);
	end(&m);
}

/* No IO completes from 100.4 s to 103.4 s. */
static void one_stall_in_the_middle(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 200; i++) {
		double share = i == 100 ? 0.4 : i == 103 ? 0.6 : i == 101 || i == 102 ? 0 : 1;

		synthetic_io(&m.s, 0, READ, 320000, llround(100000 * share));
		if (i == 103)
			synthetic_io(&m.s, 0, READ, 3000000000, 32);
		synthetic_in_flight(&m.s, 0, 32, i < 100 || i > 102 ? 100000 : (i - 99) * 1000000000ULL - 400000000);
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	f = only(&m, "stall");
	assert_close(value(f, "stalls"), 1, 0);
	assert_close(value(f, "longest_at_s"), 101, 1e-9);
	assert_close(value(f, "longest_s"), 2, 1e-9);
	assert_false(has_value(f, "period_s"));
	assert_string_equal(f->text, "sda read: stalled for 2.0 s at 101.0 s; IOs were in flight, 100k IOPS is the median");
	f = only(&m, "hung");
	assert_close(value(f, "oldest_ns"), 2.6e9, 1);
	assert_close(f->from_s, 100.4, 1e-6);
	assert_string_equal(f->text, "sda: an IO hung: at 103.0 s it had been in flight for 2.60 s");
	end(&m);
}

/* Each witness alone: an age, a latency in the gap or after it, slow progress. And just less, and none. */
static void what_proves_a_stall(void **state)
{
	enum { AGE, WITHIN, AFTER, CRAWL, PARTED, NOTHING };
	static const struct { u32 witness, stalls; u64 ns; } cases[] = {
		{ AGE, 1, 500000000 }, { AGE, 0, 499999999 }, { WITHIN, 1, 500000000 }, { WITHIN, 0, 499999999 },
		{ AFTER, 1, 900000000 }, { AFTER, 0, 899999999 }, { CRAWL, 1, 62500000 }, { CRAWL, 0, 60000000 },
		{ PARTED, 0, 100000 }, { NOTHING, 0, 0 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		u32 w = cases[c].witness;
		struct made m;

		begin(&m, 1);
		for (u32 i = 0; i < 40; i++) {
			bool gap = i == 20;

			synthetic_io(&m.s, 0, READ, 100000, gap ? 0 : 10000);
			if (gap && w == WITHIN)
				synthetic_io(&m.s, 0, READ, cases[c].ns, 1);
			if (gap && w == CRAWL)		/* 8 * 62.5 ms: at a mean queue depth of half an IO */
				synthetic_io(&m.s, 0, READ, cases[c].ns, 8);
			if (gap && w == PARTED)		/* the last ones of the load before */
				synthetic_io(&m.s, 0, READ, cases[c].ns, 4);
			if (i == 21 && w == AFTER)
				synthetic_io(&m.s, 0, READ, cases[c].ns, 1);
			if (w == CRAWL && (gap || i == 19))
				synthetic_in_flight(&m.s, 0, 1, 50000);
			if (w == PARTED && i == 19)
				synthetic_in_flight(&m.s, 0, 4, 50000);
			if (w == AGE && gap)
				synthetic_in_flight(&m.s, 0, 1, cases[c].ns);
			if (w == AGE && i == 21)	/* it ends */
				synthetic_io(&m.s, 0, READ, cases[c].ns + 100000000, 1);
			synthetic_tick(&m.s, 1);
		}
		judge(&m);
		assert_count(&m, "stall", cases[c].stalls);
		end(&m);
	}
}

/* 1 % of the median, 100 of 10000, is not below it. */
static void one_percent(void **state)
{
	(void)state;
	for (u32 low = 99; low <= 100; low++) {
		struct made m;

		begin(&m, 1);
		for (u32 i = 0; i < 40; i++) {
			synthetic_io(&m.s, 0, READ, i == 20 ? 600000000 : 100000, i == 20 ? low : 10000);
			synthetic_tick(&m.s, 1);
		}
		judge(&m);
		assert_count(&m, "stall", low < 100);
		end(&m);
	}
}

/* Stalls 1, 10 and 13 s apart have no period; three do not make one; a skipped one does no harm. */
static void periods(void **state)
{
	static const struct { u32 at[8], n; double period_s; } cases[] = {
		{ { 10, 11 + 1, 22, 35, 37, 60 }, 6, 0 }, { { 10, 20, 30 }, 3, 0 }, { { 10, 20, 30, 40 }, 4, 10 },
		{ { 10, 20, 30, 40, 50, 70 }, 6, 10 }, { { 10, 12, 15, 17, 20, 22, 25 }, 7, 2.5 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		const struct finding *f;
		struct made m;

		begin(&m, 1);
		for (u32 i = 0; i < 100; i++) {
			bool gap = false, after = false;

			for (u32 j = 0; j < cases[c].n; j++) {
				gap |= cases[c].at[j] == i;
				after |= cases[c].at[j] + 1 == i;
			}
			synthetic_io(&m.s, 0, READ, 100000, gap ? 0 : 10000);
			synthetic_io(&m.s, 0, READ, 1000100000, after ? 8 : 0);
			synthetic_in_flight(&m.s, 0, 8, gap ? 1000000000 : 50000);
			synthetic_tick(&m.s, 1);
		}
		judge(&m);
		f = only(&m, "stall");
		assert_close(value(f, "stalls"), cases[c].n, 0);
		if (cases[c].period_s)
			assert_close(value(f, "period_s"), cases[c].period_s, 1e-9);
		else
			assert_false(has_value(f, "period_s"));
		end(&m);
	}
}

/* Writes stand still while reads go on: what is in flight is the reads', the writes' latency tells. */
static void one_op_stalls(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 100; i++) {
		bool gap = i >= 50 && i < 54;

		synthetic_io(&m.s, 0, READ, 100000, 5000);
		synthetic_io(&m.s, 0, WRITE, 100000, gap ? 0 : 5000);
		if (i == 54)
			synthetic_io(&m.s, 0, WRITE, 4000000000, 8);
		synthetic_in_flight(&m.s, 0, 8, 50000);
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	f = only(&m, "stall");
	assert_int_equal(f->op, WRITE);
	assert_close(value(f, "longest_s"), 4, 1e-9);
	assert_close(f->from_s, 50, 1e-9);
	end(&m);
}

/* Both stand still: that is the device, told once. */
static void all_ops_stall(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 100; i++) {
		bool gap = i >= 50 && i < 54;

		synthetic_io(&m.s, 0, READ, 100000, gap ? 0 : 5000);
		synthetic_io(&m.s, 0, WRITE, 100000, gap ? 0 : 5000);
		if (i == 54) {
			synthetic_io(&m.s, 0, READ, 4000000000, 8);
			synthetic_io(&m.s, 0, WRITE, 4000000000, 8);
		}
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	f = only(&m, "stall");
	assert_int_equal(f->op, -1);
	assert_string_equal(f->text, "sda: stalled for 4.0 s at 50.0 s; IOs were in flight, 10.0k IOPS is the median");
	end(&m);
}

/* Ctrl-C 0.4 s into an interval, in which one IO has taken 0.3 s so far: half an interval may be one. */
static void a_stub_is_no_stall(void **state)
{
	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct made m;

		begin(&m, 1);
		for (u32 j = 0; j < 20; j++)
			second(&m, READ, 100000, 10000);
		synthetic_in_flight(&m.s, 0, 1, 300000000);
		synthetic_tick(&m.s, i ? 0.5 : 0.4);
		judge(&m);
		assert_count(&m, "stall", i);
		end(&m);
	}
}

/* A disk at 8 ms an IO, looked at each millisecond: most intervals are empty, and nothing is wrong. */
static void short_intervals_are_empty(void **state)
{
	struct made m;

	(void)state;
	begin(&m, 0.001);
	for (u32 i = 0; i < 2000; i++) {
		synthetic_io(&m.s, 0, READ, 8000000, i % 8 == 7);
		synthetic_in_flight(&m.s, 0, 1, i % 8 * 1000000 + 1);
		synthetic_tick(&m.s, 0.001);
	}
	judge(&m);
	assert_count(&m, "stall", 0);
	end(&m);
}

/*
 * The capture missed an end: an IO seems to be in flight, older and older, while the workload rests, until its tag is
 * used again. Nothing of that age ever ends; and at the end of the run the kernel has counted all ends.
 */
static void an_end_that_was_missed(void **state)
{
	struct accounting *a;
	struct made m;

	(void)state;
	begin(&m, 1);
	a = &m.s.frames.f[0].accounting;
	for (u32 i = 0; i < 40; i++) {
		bool rest = (i >= 20 && i < 24) || i >= 36;

		synthetic_io(&m.s, 0, READ, 100000, rest ? 0 : 10000);
		synthetic_in_flight(&m.s, 0, rest, rest ? (i < 24 ? i - 19 : i - 35) * NSEC_PER_SEC : 0);
		if (i == 24)
			a->lost = a->lost_by[LOST_OVERWRITTEN] = 1;
		a->kernel_known = true;
		a->kernel_ios = a->completed + a->lost + rest;
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	assert_count(&m, "stall", 0);
	assert_count(&m, "hung", 0);
	assert_count(&m, "losses", 1);
	end(&m);
}

/* The same end of a run, but the kernel has not seen it end either. */
static void an_end_that_never_came(void **state)
{
	struct accounting *a;
	struct made m;

	(void)state;
	begin(&m, 1);
	a = &m.s.frames.f[0].accounting;
	a->kernel_known = true;
	for (u32 i = 0; i < 40; i++) {
		synthetic_io(&m.s, 0, READ, 100000, i < 36 ? 10000 : 0);
		synthetic_in_flight(&m.s, 0, i >= 36, i < 36 ? 0 : (i - 35) * NSEC_PER_SEC);
		a->kernel_ios = a->completed;
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	assert_close(value(only(&m, "stall"), "longest_s"), 4, 1e-9);
	assert_string_equal(only(&m, "hung")->text, "sda: an IO hung: at 40.0 s it had been in flight for 4.00 s, and it still "
			    "was when the run ended");
	end(&m);
}

/* --- pauses ---------------------------------------------------------------------------------- */

/* 2 s of load, 2 s of rest; the first IO after each of 100 pauses takes 100 us, the others 27 us. */
static void duty_cycle(void **state)
{
	const struct finding *f;
	struct made m;

	(void)state;
	begin(&m, 1);
	for (u32 i = 0; i < 404; i++) {
		if (i % 4 < 2)
			synthetic_io(&m.s, 0, READ, 27000, 37000);
		if (i % 4 == 0 && i)
			synthetic_first_io(&m.s, 0, READ, 100000, 1);
		synthetic_in_flight(&m.s, 0, i % 4 == 0, i % 4 == 0 ? 13000 : 0);
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	assert_count(&m, "stall", 0);
	assert_count(&m, "level_change", 0);
	assert_count(&m, "hung", 0);
	f = only(&m, "after_pause");
	assert_close(value(f, "ios"), 100, 0);
	assert_close(value(f, "share"), 100 / (202 * 37000 + 100.0), 1e-12);
	assert_close(value(f, "first_p50_ns"), 100000, 600);
	assert_close(value(f, "rest_p50_ns"), 27000, 160);
	assert_close(value(f, "first_mean_ns"), 100000, 0);
	assert_string_equal(f->text, "sda read: 100 IOs (0.0013 %) were the first after a pause of at least 100 ms: half of them "
			    "took 99.7 us or more, of the others 27.0 us");
	end(&m);
}

static void after_pause_limits(void **state)
{
	static const struct { u64 ns, ios, rest; u32 findings; } cases[] = {
		{ 152000, 5, 1000, 1 }, { 152000, 4, 1000, 0 }, { 147000, 5, 1000, 0 }, { 66000, 5, 1000, 1 },
		{ 69000, 5, 1000, 0 }, { 152000, 1000, 4, 0 }, { 152000, 1000, 5, 1 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		struct made m;

		begin(&m, 1);
		synthetic_io(&m.s, 0, READ, 100000, cases[c].rest);
		synthetic_first_io(&m.s, 0, READ, cases[c].ns, cases[c].ios);
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "after_pause", cases[c].findings);
		end(&m);
	}
}

/* --- peaks ----------------------------------------------------------------------------------- */

/* Hits of 27 us, 97 %; misses of 212 us: each a narrow log-normal. Shares are exact where nothing overlaps. */
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

/* 0.5 % is a peak, less is not; so few that chance may have made them are none, either. */
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

/* Plains of 60 bins each, wider than what is smoothed over: 1000 IOs a bin, 400 or 410, and 800. */
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
			/* Parted in the middle of the valley's floor, which smoothing leaves flat for 19 bins. */
			assert_close(value(f, "peak1_share"), (60 * 1000 + 30 * 400) / 132000.0, 0.005);
		}
		end(&m);
	}
}

/* 27 and 29 us are one peak at this smoothing; at scale 0, an octave a bin, 27 and 212 us still are two. */
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

/* --- health ---------------------------------------------------------------------------------- */

static void losses_and_errors(void **state)
{
	struct accounting *a;
	struct made m;

	(void)state;
	begin(&m, 1);
	a = &m.s.frames.f[0].accounting;
	synthetic_io(&m.s, 0, READ, 27000, 997);
	synthetic_tick(&m.s, 1);
	synthetic_io(&m.s, 0, READ, 27000, 1000);
	m.s.frames.f[0].ops[READ].errors = 2;
	a->lost = 3;
	a->lost_by[LOST_RECURSION] = 2;
	a->lost_by[LOST_TABLE_FULL] = 1;
	a->kernel_known = true;
	a->kernel_ios = 2004;
	synthetic_tick(&m.s, 1);
	judge(&m);
	assert_string_equal(only(&m, "losses")->text, "sda: 3 IOs are lost from the figures (0.15 %): 1 by table_full, 2 by "
			    "recursion");
	assert_string_equal(only(&m, "kernel_count")->text, "sda: the kernel's statistics counted 2 004 IOs, blklat 1 997");
	assert_string_equal(only(&m, "errors")->text, "sda read: 2 of 1 997 IOs failed, the first at 1.0 s");
	assert_close(only(&m, "errors")->from_s, 1, 1e-9);
	end(&m);
}

/*
 * Two in flight at the start and one that failed unissued explain a difference of three. Four they do not, unless IOs
 * moved while it was read.
 */
static void kernel_count_limits(void **state)
{
	(void)state;
	for (u32 more = 3; more <= 5; more++) {
		struct made m;

		begin(&m, 1);
		synthetic_io(&m.s, 0, READ, 27000, 997);
		m.s.frames.f[0].accounting.before = 2;
		m.s.frames.f[0].accounting.moved = more == 5;
		m.s.frames.f[0].accounting.unissued = 1;
		m.s.frames.f[0].accounting.kernel_known = true;
		m.s.frames.f[0].accounting.kernel_ios = 997 + more;
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "kernel_count", more == 4);
		end(&m);
	}
}

/* 1 s where 100 medians are less; 100 medians of 50 ms; never more than 30 s. */
static void hung_limits(void **state)
{
	static const struct { u64 p50_ns, age_ns; u32 findings; } cases[] = {
		{ 27000, 1000000000, 1 }, { 27000, 999999999, 0 }, { 50000000, 5000000000, 1 },
		{ 50000000, 4999999999, 0 }, { 900000000, 30000000000, 1 }, { 900000000, 29999999999, 0 },
	};

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		struct made m;

		begin(&m, 1);
		synthetic_io(&m.s, 0, READ, cases[c].p50_ns, 100);
		synthetic_tick(&m.s, 60);
		synthetic_io(&m.s, 0, READ, cases[c].p50_ns, 100);
		synthetic_in_flight(&m.s, 0, 1, cases[c].age_ns);
		synthetic_tick(&m.s, 1);
		judge(&m);
		assert_count(&m, "hung", cases[c].findings);
		if (cases[c].findings)
			assert_close(value(only(&m, "hung"), "pending"), 1, 0);
		end(&m);
	}
}

static void device_gone(void **state)
{
	struct made m;

	(void)state;
	synthetic_init(&m.s);
	synthetic_begin(&m.s, 2, 6, 1);
	for (u32 i = 0; i < 3; i++) {
		synthetic_io(&m.s, 1, READ, 27000, 100);
		m.s.frames.f[1].gone = i == 2;
		synthetic_tick(&m.s, 1);
	}
	m.s.frames.n = 1;
	synthetic_tick(&m.s, 1);
	m.s.frames.n = 2;
	judge(&m);
	assert_string_equal(only(&m, "gone")->text, "sdb: the device went away at 3.0 s");
	end(&m);
}

/* --- runs of all lengths --------------------------------------------------------------------- */

static void short_runs(void **state)
{
	struct made m;

	(void)state;
	begin(&m, 1);		/* no interval */
	judge(&m);
	assert_int_equal(m.fs.n, 0);
	end(&m);
	begin(&m, 1);		/* one without an IO */
	second(&m, READ, 0, 0);
	judge(&m);
	assert_int_equal(m.fs.n, 0);
	end(&m);
	begin(&m, 1);		/* one */
	second(&m, READ, 27000, 37000);
	judge(&m);
	assert_calm(&m);
	assert_string_equal(only(&m, "steady_state")->text, "sda read: run too short to tell whether it reached a steady state "
			    "(1 interval)");
	end(&m);
	begin(&m, 1);		/* 20 s */
	for (u32 i = 0; i < 20; i++)
		second(&m, READ, 27000, 37000);
	judge(&m);
	assert_calm(&m);
	assert_string_equal(only(&m, "steady_state")->text, "sda read: steady state reached from 10.0 s to 20.0 s: five rounds "
			    "of 2.0 s average 37.0k IOPS, differ by 0 % (limit 20 %) and rise by 0 % from first to last "
			    "(limit 10 %)");
	end(&m);
	begin(&m, 1);		/* it ended early */
	for (u32 i = 0; i < 20; i++)
		second(&m, READ, 27000, i < 9 ? 37000 : 0);
	judge(&m);
	assert_calm(&m);
	assert_string_equal(only(&m, "steady_state")->text, "sda read: no IO from 10.0 s to 20.0 s, where the steady state is "
			    "looked for");
	end(&m);
}

/* The same change at 100 s with intervals of 0.1 and 5 s, and in a ring that merged its first 64 s to intervals of 8. */
static void interval_lengths(void **state)
{
	static const double lengths[] = { 0.1, 5, 1 };

	(void)state;
	for (u32 c = 0; c < ARRAY_SIZE(lengths); c++) {
		double t = 0;
		struct made m;

		begin(&m, lengths[c]);
		while (t < 199.99) {
			double length = c == 2 && t < 63.99 ? 8 : lengths[c];
			bool fast = t < 99.99;

			synthetic_io(&m.s, 0, WRITE, fast ? 27000 : 212000, llround((fast ? 148148 : 18868) * length));
			synthetic_in_flight(&m.s, 0, 4, 10000);
			synthetic_tick(&m.s, length);
			t += length;
		}
		judge(&m);
		assert_close(value(only(&m, "level_change"), "at_s"), 100, 0.05);
		assert_close(value(only(&m, "level_change"), "before_iops"), 148148, 20);
		assert_count(&m, "stall", 0);
		assert_close(value(only(&m, "steady_state"), "reached"), 1, 0);
		end(&m);
	}
}

/* A run in two stages of the queue: the rate is judged once, at the device. */
static void stages(void **state)
{
	struct made m;

	(void)state;
	synthetic_init(&m.s);
	m.s.watch[1] = (struct watch){ &m.s.device[0], BLKLAT_STAGE_QUEUE };
	synthetic_begin(&m.s, 2, 6, 1);
	for (u32 i = 0; i < 40; i++) {
		synthetic_io(&m.s, 0, READ, 27000, i < 20 ? 30000 : 3000);
		synthetic_io(&m.s, 1, READ, 1000, i < 20 ? 30000 : 3000);
		synthetic_tick(&m.s, 1);
	}
	judge(&m);
	assert_non_null(strstr(only(&m, "level_change")->text, "sda (device) read: IOPS fell from 30.0k to 3.00k at 20.0 s"));
	assert_count(&m, "steady_state", 1);
	end(&m);
}

/* --- steady runs ----------------------------------------------------------------------------- */

/*
 * 200 runs that do not change: noise of 1, 5 and 20 % besides Poisson's, one peak or two (also half and half, where
 * the median may lie in either), 60 to 2000 intervals. Nothing may be found but peaks where there are two.
 */
static void steady_runs_are_calm(void **state)
{
	static const double noises[] = { 0.01, 0.05, 0.20 }, second_shares[] = { 0, 0, 0.02, 0.3, 0.5 };
	u64 seed = 88172645463325252ULL;

	(void)state;
	for (u32 run = 0; run < 200; run++) {
		double noise = noises[run % 3], share = second_shares[run % 5], rate, sigma;
		struct made m;
		u32 n;

		begin(&m, 1);
		m.s.random = seed;
		n = 60 + (u32)(pow(synthetic_random(&m.s), 3) * 1940);
		rate = exp(log(50) + synthetic_random(&m.s) * log(2000));
		sigma = 0.05 + 0.25 * synthetic_random(&m.s);
		for (u32 i = 0; i < n; i++) {
			double ios = rate * fmax(1 + noise * synthetic_normal(&m.s), 0.05);

			synthetic_spread(&m.s, 0, READ, (double[]){ 27000, sigma, ios * (1 - share) });
			if (share)
				synthetic_spread(&m.s, 0, READ, (double[]){ 212000, sigma, ios * share });
			synthetic_in_flight(&m.s, 0, 3, 20000);
			synthetic_tick(&m.s, 1);
		}
		seed = m.s.random;
		judge(&m);
		for (u32 i = 0; i < m.fs.n; i++) {
			const char *kind = m.fs.f[i].kind;

			if (strcmp(kind, "steady_state") && !(share && !strcmp(kind, "peaks"))) {
				show(&m);
				fail_msg("run %u: %u intervals, rate %.0f, noise %.2f, share %.2f, sigma %.2f", run, n,
					 rate, noise, share, sigma);
			}
		}
		if (share)
			assert_int_equal(only(&m, "peaks")->n, 4);
		end(&m);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cache_exhausted),
		cmocka_unit_test(cache_exhausted_at_a_fixed_rate),
		cmocka_unit_test(load_changed),
		cmocka_unit_test(level_limits),
		cmocka_unit_test(a_step_stands_out_of_the_noise),
		cmocka_unit_test(levels_are_stable),
		cmocka_unit_test(a_rest_between_levels),
		cmocka_unit_test(crawling_or_slow),
		cmocka_unit_test(three_levels),
		cmocka_unit_test(many_levels),
		cmocka_unit_test(a_ramp_is_no_step),
		cmocka_unit_test(fill_up),
		cmocka_unit_test(stops_every_third_second),
		cmocka_unit_test(one_stall_in_the_middle),
		cmocka_unit_test(what_proves_a_stall),
		cmocka_unit_test(one_percent),
		cmocka_unit_test(periods),
		cmocka_unit_test(one_op_stalls),
		cmocka_unit_test(all_ops_stall),
		cmocka_unit_test(a_stub_is_no_stall),
		cmocka_unit_test(short_intervals_are_empty),
		cmocka_unit_test(an_end_that_was_missed),
		cmocka_unit_test(an_end_that_never_came),
		cmocka_unit_test(duty_cycle),
		cmocka_unit_test(after_pause_limits),
		cmocka_unit_test(two_peaks),
		cmocka_unit_test(peak_limits),
		cmocka_unit_test(valley_limits),
		cmocka_unit_test(peaks_and_resolution),
		cmocka_unit_test(losses_and_errors),
		cmocka_unit_test(kernel_count_limits),
		cmocka_unit_test(hung_limits),
		cmocka_unit_test(device_gone),
		cmocka_unit_test(short_runs),
		cmocka_unit_test(interval_lengths),
		cmocka_unit_test(stages),
		cmocka_unit_test(steady_runs_are_calm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
