// SPDX-License-Identifier: GPL-2.0-only
/* Runs whose level changes, or seems to: where, by how much, and what caused it. */
#include "findings_run.h"

/*
 * QD 4, closed: 148148 IOPS of 27 us, then 18868 of 212 us, from 438.4 s on of 2000 s. At the change
 * 438.4 * 148148 = 64 948 083 of 94 416 500 IOs are done: 68.8 %.
 */
TEST(cache_exhausted)
{
	for (u32 i = 0; i < 2000; i++) {
		double fast = i < 438 ? 1 : i > 438 ? 0 : 0.4;

		synthetic_io(&s, 0, WRITE, 27000, llround(fast * 148148));
		second(WRITE, 212000, llround((1 - fast) * 18868));
	}
	judge();
	assert_int_equal(only("level_change")->op, WRITE);
	assert_value("level_change", "at_s", 438.4, 0.01);
	assert_value("level_change", "share", 0.6879, 0.0001);
	assert_value("level_change", "before_iops", 148148, 1);
	assert_value("level_change", "after_iops", 18868, 1);
	assert_value("level_change", "before_p50_ns", 27000, 150);
	assert_value("level_change", "after_p50_ns", 212000, 1200);
	assert_value("level_change", "times_slower_by_latency", 212. / 27, 0.01);
	assert_value("level_change", "times_slower_by_iops", 148148. / 18868, 0.01);
	assert_text("level_change", "sda write: IOPS fell from 148k to 18.9k at 438.4 s, after 68.8 % of the IOs; mean latency rose 7.85 times, "
		    "from 27.0 us to 212 us; p50 from 27.0 us to 212 us, as when a cache is exhausted");
	assert_count("stall", 0);
	assert_value("steady_state", "reached", 1, 0);
	assert_value("steady_state", "first_reached_s", 437, 0);
	assert_close(only("steady_state")->from_s, 1400, 0);
	assert_count("peaks", 0);	/* these are the levels */
}

/* The same at a fixed rate: 10000 IOPS throughout, so only latency shows it. 438 of 2000 s are 21.9 % of the IOs. */
TEST(cache_exhausted_at_a_fixed_rate)
{
	for (u32 i = 0; i < 2000; i++)
		second(WRITE, i < 438 ? 27000 : 212000, 10000);
	judge();
	assert_value("level_change", "at_s", 438, 1);
	assert_value("level_change", "share", 0.219, 0.01);
	assert_value("level_change", "before_queue_depth", 0.27, 0.001);
	assert_value("level_change", "after_queue_depth", 2.12, 0.001);
	assert_text("level_change", "sda write: mean latency rose 7.85 times at 438.0 s, from 27.0 us to 212 us, after 21.9 % of the IOs, at "
		    "10.0k IOPS; p50 from 27.0 us to 212 us, as when a cache is exhausted");
}

TEST(discards_exhaust_no_cache)
{
	for (u32 i = 0; i < 60; i++)
		second(BLKLAT_OP_DISCARD, i < 30 ? 27000 : 212000, 10000);
	judge();
	assert_ends(only("level_change"), "; p50 from 27.0 us to 212 us");
}

/*
 * The same beside another drive and another op. A cache is named only if neither is slower by a factor of 1.5, nor has the
 * drive that much more to do, and if it does not recover.
 */
TEST(a_cache_only_where_nothing_else_changed)
{
	static const struct { u64 sdb_ns, sdb_ios, read_ns; u32 until; bool cache; } cases[] = {
		{ 100000, 1000, 100000, 60, true }, { 140000, 1400, 140000, 60, true }, { 150000, 1000, 100000, 60, false },
		{ 100000, 1500, 100000, 60, false }, { 100000, 1000, 150000, 60, false }, { 100000, 1000, 100000, 50, false },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin_run(2, 6, 1);
		for (u32 i = 0; i < 60; i++) {
			synthetic_io(&s, 0, WRITE, i < 30 || i >= cases[c].until ? 27000 : 212000, 10000);
			synthetic_io(&s, 0, READ, i < 30 ? 100000 : cases[c].read_ns, 1000);
			synthetic_io(&s, 1, READ, i < 30 ? 100000 : cases[c].sdb_ns, i < 30 ? 1000 : cases[c].sdb_ios);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_non_null(strstr(fs.f[0].text, " at 30.0 s, from "));
		assert_int_equal(strstr(fs.f[0].text, "as when a cache is exhausted") != NULL, cases[c].cache);
	}
}

/*
 * A limit that lets 50 IOs a second through in bursts: most take less time than before, and the 10 that wait make it
 * slower, 0.30 ms on average before and 19.8 ms after.
 */
TEST(limited_in_bursts)
{
	for (u32 i = 0; i < 30; i++)
		second(READ, 300000, 500);
	for (u32 i = 0; i < 30; i++) {
		synthetic_io(&s, 0, READ, 30000, 40);
		second(READ, 99000000, 10);
	}
	judge();
	assert_text("level_change", "sda read: IOPS fell from 500 to 50 at 30.0 s, after 90.9 % of the IOs; mean latency rose 66.1 times, "
		    "from 300 us to 19.8 ms; p50 from 300 us to 30.1 us; p90 from 300 us to 98.7 ms");
}

/* Half the queue depth gives half the IOPS: not the drive's doing. */
TEST(load_changed)
{
	for (u32 i = 0; i < 60; i++)
		second(READ, 100000, i < 30 ? 320000 : 10000);
	judge();
	assert_value("level_change", "at_s", 30, 1e-6);
	assert_text("level_change", "sda read: IOPS fell from 320k to 10.0k at 30.0 s, after 97.0 % of the IOs, at the "
		    "same latency (mean 100 us, p50 100 us): the load changed");
}

/*
 * Reads, 1000 a second, take ten times as long (or as short) from 30 s on, and writes go from one rate to another, at the
 * same time or not. These are of 4 KiB and 5 ms, and count from 1 % of the IOs, a factor of 1.5 and within two intervals on.
 * As many flushes take less time, so they are not named. The last second before has two fifths of the change.
 */
TEST(another_load)
{
	static const struct { u64 before_ns, after_ns; u32 at, from, to; const char *words; } cases[] = {
		{ 100000, 1000000, 30, 0, 500, ": at 29.6 s 500 writes/s of 4.00 KiB began; they have 70.4 % of the device's time since, and "
		  "reads went from p99 100 us to 1.00 ms, p50 100 us to 1.00 ms, mean 100 us to 1.00 ms (10.0 times slower)" },
		{ 100000, 1000000, 28, 0, 500, ": at 27.6 s 500 writes/s of 4.00 KiB began; " },
		{ 100000, 1000000, 32, 0, 500, "; p50 from 100 us to 1.00 ms; at the same time 500 writes/s of 4.00 KiB began" },
		{ 100000, 1000000, 27, 0, 500, "; p50 from 100 us to 1.00 ms" },
		{ 100000, 1000000, 33, 0, 500, "; p50 from 100 us to 1.00 ms" },
		{ 100000, 1000000, 30, 0, 10, ": at 29.6 s 10 writes/s of 4.00 KiB began; they have 4.76 % of the device's time since" },
		{ 100000, 1000000, 30, 0, 9, ", as when a cache is exhausted" },
		{ 100000, 1000000, 30, 100, 150, ": at 29.6 s the device went from 100 to 150 writes/s of 4.00 KiB; " },
		{ 100000, 1000000, 30, 100, 149, ", as when a cache is exhausted" },
		{ 100000, 1000000, 30, 500, 100, "; p50 from 100 us to 1.00 ms" },	/* it suffers as well */
		{ 1000000, 100000, 30, 500, 0, "; p50 from 1.00 ms to 100 us; at the same time 500 writes/s of 4.00 KiB ended" },
		{ 1000000, 100000, 30, 0, 500, "; p50 from 1.00 ms to 100 us" },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		const struct finding *f;

		begin(1);
		for (u32 i = 0; i < 60; i++) {
			double part = i + 1 < cases[c].at ? 0 : i < cases[c].at ? 0.4 : 1;
			u64 others = llround((1 - part) * cases[c].from + part * cases[c].to);

			synthetic_io(&s, 0, WRITE, 5000000, others);
			synthetic_io(&s, 0, BLKLAT_OP_FLUSH, 100000, others);
			second(READ, i < 30 ? cases[c].before_ns : cases[c].after_ns, 1000);
		}
		judge();
		for (f = fs.f; strcmp(f->kind, "level_change") || f->op != READ;)
			f++;
		if (!strstr(f->text, cases[c].words))
			fail_msg("case %u: '%s' must have '%s'", c, f->text, cases[c].words);
		assert_int_equal(strstr(f->text, "cache") != NULL, strstr(cases[c].words, "cache") != NULL);
		assert_close(value(f, "times_slower_by_latency"), (double)cases[c].after_ns / cases[c].before_ns, 1e-9);
	}
}

/* The limits of a level: a factor of 1.5, five intervals on both sides. Just below them there is no level change. */
TEST(level_limits)
{
	static const struct { u32 before, after; u64 from, to; u32 changes; } cases[] = {
		{ 20, 20, 15000, 10000, 1 }, { 20, 20, 14900, 10000, 0 }, { 20, 20, 10000, 15000, 1 },
		{ 20, 20, 10000, 14900, 0 }, { 5, 20, 40000, 10000, 1 }, { 4, 20, 40000, 10000, 0 },
		{ 20, 5, 40000, 10000, 1 }, { 20, 4, 40000, 10000, 0 }, { 5, 5, 40000, 10000, 1 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		for (u32 i = 0; i < cases[c].before + cases[c].after; i++)
			second(READ, 100000, i < cases[c].before ? cases[c].from : cases[c].to);
		judge();
		assert_count("level_change", cases[c].changes);
		if (cases[c].changes)
			assert_value("level_change", "at_s", cases[c].before, 1e-6);
	}
}

/*
 * Two levels, each of which alternates between two rates.
 *
 * Noise from the differences of neighbours: ln 1.35 / sqrt(2) = 0.212, so the standard error between two levels of
 * five is 0.134. A step by 1.7092 is 4.0 of these, one by 2.0138 is 5.2: it stands out of the noise.
 * Levels that alternate by a factor of 2 scatter by ln 2 / 2 = 0.347: over half a step by 1.65, under half of 2.1.
 */
TEST(noisy_levels)
{
	static const struct { u32 seconds; u64 level[2][2]; u32 changes; } cases[] = {
		{ 5, { { 10000, 13500 }, { 17092, 23074 } }, 0 }, { 5, { { 10000, 13500 }, { 20138, 27186 } }, 1 },
		{ 81, { { 10000, 20000 }, { 16500, 33000 } }, 0 }, { 81, { { 10000, 20000 }, { 21000, 42000 } }, 1 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		for (u32 i = 0; i < 2 * cases[c].seconds; i++)
			second(READ, 100000, cases[c].level[i / cases[c].seconds][i % cases[c].seconds % 2]);
		judge();
		assert_count("level_change", cases[c].changes);
	}
}

/* 20 s at 20k, 10 s of rest, 20 s at 5k: the change is where the load came back. */
TEST(a_rest_between_levels)
{
	for (u32 i = 0; i < 50; i++)
		second(READ, i < 20 ? 100000 : 400000, i < 20 ? 20000 : i < 30 ? 0 : 5000);
	judge();
	assert_value("level_change", "at_s", 30, 1e-9);
	assert_value("level_change", "rest_s", 10, 1e-9);
	assert_value("level_change", "share", 0.8, 1e-9);
	assert_text("level_change", "sda read: IOPS fell from 20.0k to 5.00k at 30.0 s, after 80.0 % of the IOs; mean latency rose 4.00 times, from 100 us "
		    "to 400 us; p50 from 100 us to 400 us; a rest of 10.0 s came before");
	assert_count("stall", 0);
}

/* Below 1 % of the median for 6 s of 100 is a stall, not a level; for 20 s it is a level, not a stall. */
TEST(crawling_or_slow)
{
	for (u32 seconds = 6; seconds <= 20; seconds += 14) {
		begin(1);
		for (u32 i = 0; i < 100; i++) {
			bool slow = i >= 40 && i < 40 + seconds;

			synthetic_io(&s, 0, READ, slow ? 16000000 : 100000, slow ? 2000 : 320000);
			synthetic_in_flight(&s, 0, 32, 50000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("stall", seconds == 6);
		assert_count("level_change", seconds == 6 ? 0 : 2);
	}
}

/* 20k, 5k, 20k: a drive that cleans up in between. */
TEST(three_levels)
{
	for (u32 i = 0; i < 300; i++)
		second(WRITE, 1000000, i / 100 == 1 ? 5000 : 20000);
	judge();
	assert_count("level_change", 2);
	assert_close(value(&fs.f[0], "at_s"), 100, 1e-6);
	assert_close(value(&fs.f[1], "at_s"), 200, 1e-6);
	assert_close(value(&fs.f[1], "share"), 2.5 / 4.5, 1e-6);
	assert_count("stall", 0);
}

/* Every 30 s: reported once. Every second: that is scatter, not a level. */
TEST(many_levels)
{
	static const u32 rates[] = { 20000, 5000, 10000 };

	for (u32 i = 0; i < 600; i++)
		second(WRITE, 1000000, rates[i / 30 % 3]);
	judge();
	assert_value("level_change", "changes", 19, 0);
	assert_value("level_change", "first_at_s", 30, 1e-6);
	assert_value("level_change", "last_at_s", 570, 1e-6);
	assert_value("level_change", "least_iops", 5000, 1e-6);
	assert_value("level_change", "most_iops", 20000, 1e-6);
	assert_text("level_change", "sda write: the level changed 19 times from 30.0 s to 570.0 s; the lowest has 5.00k IOPS "
			    "with a p50 of 1.00 ms, the highest 20.0k IOPS with 1.00 ms");

	begin(1);
	for (u32 i = 0; i < 600; i++)
		second(WRITE, 1000000, i % 2 ? 5000 : 20000);
	judge();
	assert_calm();
}

/* Named by what moved: every 30 s latency alone, to two levels in turn or to three. The load alone is worth knowing, but not wrong. */
TEST(many_levels_of_latency)
{
	for (u32 i = 0; i < 300; i++)
		second(READ, i / 30 % 2 ? 400000 : 100000, 1000);
	judge();
	assert_text("level_change", "sda read: mean latency rose 4.00 times at 30.0 s for 30.0 s, and 4 times more, every 60.0 s, from 100 us to "
		    "400 us, after 10.0 % of the IOs, at 1.00k IOPS; p50 from 100 us to 400 us");
	assert_value("level_change", "episodes", 5, 0);
	assert_int_equal(only("level_change")->grade, FINDING_WRONG);
	begin(1);
	for (u32 i = 0; i < 300; i++)
		second(READ, i / 30 % 3 ? i / 30 % 3 * 400000 : 100000, 1000);
	judge();
	assert_text("level_change", "sda read: the level changed 9 times from 30.0 s to 270.0 s; the mean is 100 us in the fastest and 800 us in "
		    "the slowest, at 1.00k IOPS");
	begin(1);
	for (u32 i = 0; i < 300; i++)
		second(READ, 100000, i / 30 % 2 ? 4000 : 1000);
	judge();
	assert_int_equal(only("level_change")->grade, FINDING_DIFFERS);
}

/* Of 0.5 % of the IOs: 5 flushes a second of 2 ms, and of 40 ms from 60 s on, beside 40 ms of writes. One a second are too few. */
TEST(flushes_that_cost)
{
	for (u32 n = 1; n <= 5; n += 4) {
		begin(1);
		for (u32 i = 0; i < 90; i++) {
			synthetic_io(&s, 0, BLKLAT_OP_FLUSH, i < 60 ? 2000000 : 40000000, n);
			second(WRITE, 40000, 1000);
		}
		judge();
		assert_count("flush_cost", n > 1);
		if (n == 1)
			continue;
		assert_text("level_change", "sda flush: mean latency rose 20.0 times at 60.0 s, from 2.00 ms to 40.0 ms, after 66.7 % of the IOs, at 5 "
			    "IOPS; p50 from 2.00 ms to 40.0 ms");
		assert_text("flush_cost", "sda flush: 64.7 % of the device's time goes to flushes: 5 IOPS, mean 14.7 ms, p99 40.0 ms; that is 73.3 us "
			    "for each write, which takes 40.0 us itself");
	}
}

/*
 * Six slow seconds of every twenty, from the start on or not: each of them is found, although one between others explains
 * little of the whole variance.
 */
TEST(bursts_in_a_row)
{
	for (u32 start = 0; start < 2; start++) {
		begin(1);
		for (u32 i = 0; i < 106; i++)
			second(READ, (i + 14 * start) % 20 >= 14 ? 450000 : 90000, 2000);
		judge();
		assert_non_null(strstr(only("level_change")->text, start ? " at 20.0 s for 6.0 s, and 4 times more, every 20.0 s, and from the start until 6.0 s, "
				       : " at 14.0 s for 6.0 s, and 4 times more, every 20.0 s, "));
	}
}

/* From 80k to 7k in even steps over 200 s: no sudden change anywhere. */
TEST(a_ramp_is_no_step)
{
	for (u32 i = 0; i < 300; i++) {
		double t = i < 50 ? 0 : i > 250 ? 200 : i - 50;

		second(WRITE, 1000000, llround(80000 * pow(7.0 / 80, t / 200)));
	}
	judge();
	assert_count("level_change", 0);
	assert_value("steady_state", "reached", 0, 0);
	assert_true(value(only("steady_state"), "slope_share") < -0.1);
}

/* From the first fifth to the last latency rises by a factor of 1.52 or 1.45, or not from the second to the third, or falls by those. */
TEST(a_drift)
{
	static const struct { double rise, dip; const char *told; } cases[] = {
		{ 0.7, 0, "rose 1.53 times little by little, from 107 us to 163 us" }, { 0.6, 0, NULL }, { 2, 0.25, NULL },
		{ -0.41, 0, "fell 1.52 times little by little, from 96.1 us to 63.3 us" }, { -0.38, 0, NULL }, { -0.6, -0.1, NULL },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		for (u32 i = 0; i < 100; i++)
			second(READ, 100000 * (1 + cases[c].rise * i / 100 - (i >= 40 && i < 60 ? cases[c].dip * 2 : 0)), 1000);
		judge();
		assert_int_equal(fs.n && strstr(fs.f[0].text, "little by little, "), !!cases[c].told);
		if (cases[c].told) {
			assert_non_null(strstr(fs.f[0].text, cases[c].told));
			assert_value("level_change", "times_slower_by_latency",
				     (1 + cases[c].rise * 0.895) / (1 + cases[c].rise * 0.095), 1e-5);
			assert_close(fs.f[0].to_s, 100, 1e-9);
		}
	}
	/* In the first 30 s, and in the last: when most of it is, if not for a third of the time or longer. */
	for (u32 late = 0; late < 2; late++) {
		begin(1);
		for (u32 i = 0; i < 100; i++)
			second(READ, 100000 * (1 + (late ? fmax(0, i - 70.0) : fmin(0, i - 30.0) * -1) / 10), 1000);
		judge();
		assert_non_null(strstr(only("level_change")->text,
				       late ? " rose 2.95 times little by little from 72.0 s on, from 100 us to 295 us, "
					    : " fell 3.05 times little by little until 29.0 s, from 305 us to 100 us, "));
	}
	begin(1);
	for (u32 i = 0; i < 100; i++) {
		synthetic_io(&s, 0, READ, 100000, 980);
		second(READ, 1000000 * (1 + i / 25.0), 20);
	}
	judge();
	/* Of a fifth the median second: 1.38 and 4.58 ms, to a bin. */
	assert_memory_equal(only("level_change")->text, "sda read: p99 rose 3.", 21);
	assert_non_null(strstr(only("level_change")->text, " times little by little, from 1.3"));
	assert_value("level_change", "after_tail_ns", 4600000, 0.03 * 4600000);
}

/* 100 us, and a tail of another latency in each half of the run. */
static void tails(const u64 tail_ns[2], u64 tail, u64 ios)
{
	begin(1);
	for (u32 i = 0; i < 40; i++) {
		synthetic_io(&s, 0, READ, 100000, ios - tail);
		second(READ, tail_ns[i >= 20], tail);
	}
	judge();
}

/* The tail grows, the median stays: from a factor of 2 on, and with 2 IOs beyond the percentile. */
TEST(a_tail_grows)
{
	static const struct { u64 ns[2], tail, ios; const char *name; } cases[] = {
		{ { 200000, 20000000 }, 20, 1000, "p99" }, { { 200000, 404000 }, 20, 1000, "p99" }, { { 200000, 396000 }, 20, 1000, NULL },
		{ { 200000, 2000000 }, 4, 200, "p99" }, { { 200000, 2000000 }, 4, 199, NULL },	/* nor has p90 the tail */
		{ { 200000, 2000000 }, 4, 20, "p90" }, { { 200000, 2000000 }, 4, 19, NULL },
		{ { 200000, 2000000 }, 4, 2000, "p99.9" }, { { 200000, 2000000 }, 4, 1999, NULL },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		tails(cases[c].ns, cases[c].tail, cases[c].ios);
		assert_count("level_change", cases[c].name != NULL);
		if (!cases[c].name)
			continue;
		assert_value("level_change", "at_s", 20, 1e-9);
		assert_memory_equal(only("level_change")->text + strlen("sda read: "), cases[c].name, strlen(cases[c].name));
		assert_value("level_change", "after_tail_ns", cases[c].ns[1], 0.012 * cases[c].ns[1]);
		assert_non_null(strstr(only("level_change")->text, "; p50 did not ("));
		assert_count("peaks", 0);
	}
	tails(cases[0].ns, 20, 1000);
	assert_value("level_change", "after_mean_ns", 0.98 * 100000 + 0.02 * 20000000, 1e-6);
	assert_text("level_change", "sda read: p99 rose 99.9 times at 20.0 s, from 199 us to 19.9 ms; p50 did not (100 us); mean from 102 us "
		    "to 498 us, at 1.00k IOPS");
}

/*
 * Slower for less than five seconds: told if all IOs take 2.25 times as long, the mean is 1.5 times as long, 20 IOs lie beyond the
 * median, and four seconds on either side are not slow, of which two may be beyond the run; at the end it takes two.
 */
TEST(short_rises)
{
	static const struct { u32 from, to, again; u64 ns, ios, fast; u32 told; } cases[] = {
		{ 20, 21, 0, 226000, 1000, 0, 1 }, { 20, 21, 0, 224000, 1000, 0, 0 }, { 20, 24, 0, 2000000, 1000, 0, 1 },
		{ 38, 40, 0, 2000000, 1000, 0, 1 }, { 39, 40, 0, 2000000, 1000, 0, 0 },
		{ 2, 4, 0, 2000000, 1000, 0, 1 }, { 1, 3, 0, 2000000, 1000, 0, 0 },
		{ 20, 21, 25, 2000000, 1000, 0, 1 }, { 20, 21, 24, 2000000, 1000, 0, 0 },
		{ 20, 21, 0, 2000000, 40, 0, 1 }, { 20, 21, 0, 2000000, 39, 0, 0 },
		{ 20, 21, 0, 240000, 600, 360, 1 }, { 20, 21, 0, 230000, 600, 360, 0 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		for (u32 i = 0; i < 40; i++) {
			bool slow = (i >= cases[c].from && i < cases[c].to) || (cases[c].again && i == cases[c].again);

			synthetic_io(&s, 0, READ, 10000, slow ? cases[c].fast : 0);
			second(READ, slow ? cases[c].ns : 100000, slow ? cases[c].ios : 1000);
		}
		judge();
		assert_count("level_change", cases[c].told);
		if (c == 2)
			assert_text("level_change", "sda read: mean latency rose 20.0 times at 20.0 s for 4.0 s, from 100 us to 2.00 ms, after 50.0 % of the IOs, at "
				    "1.00k IOPS; p50 from 100 us to 2.00 ms");
		if (cases[c].again == 25)
			assert_non_null(strstr(only("level_change")->text, " at 20.0 s for 1.0 s, and once more at 25.0 s, from "));
	}
}
