// SPDX-License-Identifier: GPL-2.0-only
/* Runs that stall, or only rest: what proves a stall, how long it is, whether it is periodic. */
#include "findings_run.h"

/* No IO completes from 100.4 s to 103.4 s. */
TEST(one_stall_in_the_middle)
{
	for (u32 i = 0; i < 200; i++) {
		double share = i == 100 ? 0.4 : i == 103 ? 0.6 : i == 101 || i == 102 ? 0 : 1;

		synthetic_io(&s, 0, READ, 320000, llround(100000 * share));
		if (i == 103)
			synthetic_io(&s, 0, READ, 3000000000, 32);
		synthetic_in_flight(&s, 0, 32, i < 100 || i > 102 ? 100000 : (i - 99) * 1000000000ULL - 400000000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_value("stall", "stalls", 1, 0);
	assert_value("stall", "longest_at_s", 100.4, 1e-3);
	assert_value("stall", "longest_s", 3, 1e-9);
	assert_value("stall", "intervals", 4, 0);
	assert_false(has_value(only("stall"), "period_s"));
	assert_text("stall", "sda read: stalled for 3.00 s at 100.4 s, with IOs in flight; the median is 100k IOPS");
	assert_value("stall", "pending", 0, 0);
	assert_count("hung", 0);
}

/* Each kind of evidence alone: an age, a latency in the gap or after it, slow progress. Or just too little. */
TEST(what_proves_a_stall)
{
	enum { AGE, WITHIN, AFTER, CRAWL, PARTED, NOTHING };
	static const struct { u32 witness, stalls; u64 ns; } cases[] = {
		{ AGE, 1, 500000000 }, { AGE, 0, 499999999 }, { WITHIN, 1, 500000000 }, { WITHIN, 0, 499999999 },
		{ AFTER, 1, 500000000 }, { AFTER, 0, 499999999 }, { CRAWL, 1, 62500000 }, { CRAWL, 0, 60000000 },
		{ PARTED, 0, 100000 }, { NOTHING, 0, 0 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		u32 w = cases[c].witness;

		begin(1);
		for (u32 i = 0; i < 40; i++) {
			bool gap = i == 20;

			synthetic_io(&s, 0, READ, 100000, gap ? 0 : 10000);
			if (gap && w == WITHIN)
				synthetic_io(&s, 0, READ, cases[c].ns, 1);
			if (gap && w == CRAWL)		/* 8 * 62.5 ms: at a mean queue depth of half an IO */
				synthetic_io(&s, 0, READ, cases[c].ns, 8);
			if (gap && w == PARTED)		/* the last IOs before the load stopped */
				synthetic_io(&s, 0, READ, cases[c].ns, 4);
			if (i == 21 && w == AFTER)
				synthetic_io(&s, 0, READ, cases[c].ns, 1);
			if (w == CRAWL && (gap || i == 19))
				synthetic_in_flight(&s, 0, 1, 50000);
			if (w == PARTED && i == 19)
				synthetic_in_flight(&s, 0, 4, 50000);
			if (w == AGE && gap)
				synthetic_in_flight(&s, 0, 1, cases[c].ns);
			if (w == AGE && i == 21)	/* it ends */
				synthetic_io(&s, 0, READ, cases[c].ns, 1);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("stall", cases[c].stalls);
	}
}

/* 1 % of the median, 100 of 10000, does not count as below 1 %. */
TEST(one_percent)
{
	for (u32 low = 99; low <= 100; low++) {
		begin(1);
		for (u32 i = 0; i < 40; i++) {
			/* 99 IOs of 6 ms: at a mean queue depth of 0.594. */
			synthetic_io(&s, 0, READ, i == 20 ? 6000000 : 100000, i == 20 ? low : 10000);
			synthetic_in_flight(&s, 0, 1, 50000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("stall", low < 100);
	}
}

/* Stalls 1, 10 and 13 s apart have no period; nor do three stalls. A skipped one does no harm. */
TEST(periods)
{
	static const struct { u32 at[8], n; double period_s; } cases[] = {
		{ { 10, 11 + 1, 22, 35, 37, 60 }, 6, 0 }, { { 10, 20, 30 }, 3, 0 }, { { 10, 20, 30, 40 }, 4, 10 },
		{ { 10, 20, 30, 40, 50, 70 }, 6, 10 }, { { 10, 12, 15, 17, 20, 22, 25 }, 7, 2.5 },
	};

	for (u32 c = 0; c < ARRAY_SIZE(cases); c++) {
		begin(1);
		for (u32 i = 0; i < 100; i++) {
			bool gap = false, after = false;

			for (u32 j = 0; j < cases[c].n; j++) {
				gap |= cases[c].at[j] == i;
				after |= cases[c].at[j] + 1 == i;
			}
			synthetic_io(&s, 0, READ, 100000, gap ? 0 : 10000);
			synthetic_io(&s, 0, READ, 1000100000, after ? 8 : 0);
			synthetic_in_flight(&s, 0, 8, gap ? 1000000000 : 50000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_value("stall", "stalls", cases[c].n, 0);
		if (cases[c].period_s)
			assert_value("stall", "period_s", cases[c].period_s, 1e-9);
		else
			assert_false(has_value(only("stall"), "period_s"));
	}
}

/*
 * Writes stand still while reads go on: the IOs in flight are reads, so only the writes' latency shows it. Or both stand still:
 * that is the device, reported once.
 */
TEST(one_op_stalls_or_all)
{
	for (u32 all = 0; all < 2; all++) {
		begin(1);
		for (u32 i = 0; i < 100; i++) {
			bool gap = i >= 50 && i < 54;

			synthetic_io(&s, 0, READ, 100000, gap && all ? 0 : 5000);
			synthetic_io(&s, 0, WRITE, 100000, gap ? 0 : 5000);
			synthetic_io(&s, 0, READ, 4000000000, i == 54 && all ? 8 : 0);
			synthetic_io(&s, 0, WRITE, 4000000000, i == 54 ? 8 : 0);
			synthetic_in_flight(&s, 0, all ? 0 : 8, all ? 0 : 50000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_int_equal(only("stall")->op, all ? -1 : WRITE);
		assert_value("stall", "longest_s", 4, 1e-9);
		assert_close(only("stall")->from_s, 50, 1e-9);
		assert_text("stall", all ? "sda: stalled for 4.00 s at 50.0 s, with IOs in flight; the median is 10.0k IOPS" :
				    "sda write: stalled for 4.00 s at 50.0 s, with IOs in flight; the median is 5.00k IOPS");
	}
}

/* Both stand still for 2 s, and writes for longer: told with its whole length, if at least half of it was not told yet. */
TEST(one_op_stalls_for_longer)
{
	for (u32 takes = 3; takes <= 6; takes++) {
		begin(1);
		for (u32 i = 0; i < 100; i++) {
			synthetic_io(&s, 0, READ, 100000, i >= 50 && i < 52 ? 0 : 20000);
			synthetic_io(&s, 0, READ, 2000000000, i == 52 ? 8 : 0);
			synthetic_io(&s, 0, WRITE, 100000, i >= 50 && i < 50 + takes ? 0 : 2000);
			synthetic_io(&s, 0, WRITE, takes * NSEC_PER_SEC, i == 50 + takes ? 8 : 0);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("stall", takes < 4 ? 1 : 2);
		assert_int_equal(fs.f[0].op, -1);
		assert_close(value(&fs.f[0], "longest_s"), 2, 1e-9);
		if (takes >= 4) {
			assert_int_equal(fs.f[1].op, WRITE);
			assert_close(value(&fs.f[1], "longest_s"), takes, 1e-9);
		}
	}
}

/* What stalls the device stalls its total as well: reported once. In the total alone, it is reported there. */
TEST(one_device_at_two_stages)
{
	for (u32 alone = 0; alone < 2; alone++) {
		init_run();
		s.watch[1] = (struct watch){ .device = s.watch[0].device, .stage = BLKLAT_STAGE_TOTAL };
		synthetic_begin(&s, 2, 6, 1);
		for (u32 i = 0; i < 100; i++) {
			for (u32 w = 0; w < 2; w++) {
				bool gap = i >= 50 && i < 54 && (w || !alone);

				synthetic_io(&s, w, READ, 100000, gap ? 0 : 5000);
				synthetic_in_flight(&s, w, 8, gap ? (i - 49) * NSEC_PER_SEC : 50000);
				synthetic_io(&s, w, READ, 4000000000, i == 54 && (w || !alone) ? 8 : 0);
			}
			synthetic_tick(&s, 1);
		}
		judge();
		assert_int_equal(only("stall")->watch->stage, alone ? BLKLAT_STAGE_TOTAL : BLKLAT_STAGE_DEVICE);
		assert_value("stall", "longest_s", 4, 1e-9);
		assert_count("hung", 0);
	}
}

/* An IO hangs for 30 s, and the device stalls for 4 of these: it is another matter. */
TEST(a_stall_while_an_io_hangs)
{
	for (u32 i = 0; i < 60; i++) {
		synthetic_io(&s, 0, READ, 100000, i >= 20 && i < 24 ? 0 : 5000);
		synthetic_io(&s, 0, READ, 30 * NSEC_PER_SEC, i == 40);
		synthetic_in_flight(&s, 0, 8, i >= 10 && i < 40 ? (i - 9) * NSEC_PER_SEC : 50000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_value("stall", "longest_s", 4, 1e-9);
	assert_value("hung", "oldest_ns", 30e9, 1);
}

/* Ctrl-C 0.4 s into an interval, in which one IO has taken 0.3 s so far. Half an interval may be a stall. */
TEST(a_stub_is_no_stall)
{
	for (u32 i = 0; i < 2; i++) {
		begin(1);
		for (u32 j = 0; j < 20; j++)
			second(READ, 100000, 10000);
		synthetic_in_flight(&s, 0, 1, 300000000);
		synthetic_tick(&s, i ? 0.5 : 0.4);
		judge();
		assert_count("stall", i);
	}
}

/* A disk at 8 ms an IO, looked at each millisecond: most intervals are empty, and nothing is wrong. */
TEST(short_intervals_are_empty)
{
	begin(0.001);
	for (u32 i = 0; i < 2000; i++) {
		synthetic_io(&s, 0, READ, 8000000, i % 8 == 7);
		synthetic_in_flight(&s, 0, 1, i % 8 * 1000000 + 1);
		synthetic_tick(&s, 0.001);
	}
	judge();
	assert_count("stall", 0);
}

/*
 * The capture missed an end: an IO seems to be in flight, older and older, while the workload rests, until its tag is
 * used again. No IO of that age ever ends, and at the end of the run the kernel has counted all ends.
 */
TEST(an_end_that_was_missed)
{
	struct accounting *a;

	a = &s.frames.f[0].accounting;
	for (u32 i = 0; i < 40; i++) {
		bool rest = (i >= 20 && i < 24) || i >= 36;

		synthetic_io(&s, 0, READ, 100000, rest ? 0 : 10000);
		synthetic_in_flight(&s, 0, rest, rest ? (i < 24 ? i - 19 : i - 35) * NSEC_PER_SEC : 0);
		if (i == 24)
			a->lost = a->lost_by[LOST_OVERWRITTEN] = 1;
		a->kernel_known = true;
		a->kernel_ios = a->completed + a->lost + rest;
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("stall", 0);
	assert_count("hung", 0);
	assert_count("losses", 1);
}

/* The same end of a run, but the kernel has the IO in flight, too, even if it counted another one that blklat missed. */
TEST(an_end_that_never_came)
{
	for (u32 unseen = 0; unseen < 2; unseen++) {
		struct accounting *a;

		begin(1);
		a = &s.frames.f[0].accounting;
		a->kernel_known = true;
		for (u32 i = 0; i < 40; i++) {
			synthetic_io(&s, 0, READ, 100000, i < 36 ? 10000 : 0);
			synthetic_in_flight(&s, 0, i >= 36, i < 36 ? 0 : (i - 35) * NSEC_PER_SEC);
			a->kernel_ios = a->completed + unseen;
			a->kernel_in_flight = i >= 36;
			synthetic_tick(&s, 1);
		}
		judge();
		assert_value("stall", "longest_s", 4, 1e-9);
		assert_value("stall", "pending", 1, 0);
		assert_text("stall", "sda read: stalled for 4.00 s at 36.0 s, until the run ended, "
				    "with IOs in flight; the median is 10.0k IOPS");
		assert_count("hung", 0);
		assert_count("kernel_count", 0);
	}
}

/* How much a device completes in [from_s, to_s) if it stalls for @takes_s every @period_s, from @begin_s on. */
static double goes_on_s(double from_s, double to_s, double begin_s, double takes_s, double period_s)
{
	double on_s = to_s - from_s;

	for (double at = begin_s; at < to_s; at += period_s)
		on_s -= fmax(fmin(to_s, at + takes_s) - fmax(from_s, at), 0);
	return on_s;
}

#define PERIOD_S 3.0

/* A steady 5000 IOPS at queue depth 32 that stalls for @takes_s 18 times, wherever that falls in the intervals. */
static void play_stalls(double interval_s, double begin_s, double takes_s)
{
	enum { SECONDS = 54 };

	begin(interval_s);
	for (u32 i = 0; i < lround((SECONDS + 2) / interval_s); i++) {
		double from_s = i * interval_s, to_s = (i + 1) * interval_s, in_stall_s = fmod(to_s - begin_s + PERIOD_S, PERIOD_S);
		bool within = to_s > begin_s && in_stall_s < takes_s, ends = false;

		for (double at = begin_s + takes_s; at < to_s; at += PERIOD_S)
			ends |= at >= from_s;
		synthetic_io(&s, 0, READ, 6400000, llround(5000 * goes_on_s(from_s, to_s, begin_s, takes_s, PERIOD_S)));
		if (ends)
			synthetic_io(&s, 0, READ, llround(takes_s * 1e9), 32);
		synthetic_in_flight(&s, 0, 32, within ? llround(in_stall_s * 1e9) : 6000000);
		synthetic_tick(&s, interval_s);
	}
}

/*
 * Few intervals of 1 s are empty, but most of those of 100 ms within a stall are. All stalls are found, with their length and
 * period, and the run is reported as steady only on average.
 */
static void stalls_at(double interval_s, double begin_s, double takes_s)
{
	enum { STALLS = 18 };
	const struct finding *f;

	play_stalls(interval_s, begin_s, takes_s);
	judge();
	f = only("stall");
	assert_true(value(f, "stalls") >= STALLS && value(f, "stalls") <= STALLS + 1);
	assert_value("stall", "longest_s", takes_s, 0.05);
	assert_value("stall", "mean_s", takes_s, 0.05);
	assert_true(value(f, "mean_s") <= value(f, "longest_s"));
	assert_value("stall", "period_s", PERIOD_S, 0.05);
	assert_true(value(f, "period_deviation_s") < 0.1);
	assert_close(f->from_s, begin_s, 0.05);
	f = only("steady_state");
	/* A stall in which the run ends may be known only in part. */
	assert_value("steady_state", "stalled_share",
		     1 - goes_on_s(f->from_s, f->to_s, begin_s, takes_s, PERIOD_S) / (f->to_s - f->from_s), 0.035);
	assert_true(!value(f, "reached") || strstr(f->text, "; steady on average only: the device stalled for "));
}

TEST(stalls_within_intervals)
{
	for (u32 tenth = 0; tenth < 20; tenth++) {
		stalls_at(1, 0.5 + tenth / 10.0, 1.05);
		stalls_at(1, 0.5 + tenth / 10.0, 1.005);
		stalls_at(0.1, 1.003 + tenth / 200.0, 1.05);
	}
}

/* The second half no longer stalls, so the run is uneven; the rounds before it were even, but stalled. */
TEST(rounds_that_stalled)
{
	play_stalls(1, 1, 1.05);
	for (u32 i = 0; i < 20; i++)
		second(READ, 6400000, 5000);
	judge();
	assert_value("steady_state", "reached", 0, 0);
	assert_ends(only("steady_state"), "s on were steady, in the mean only: the device stalled in them");
}

/* One IO takes a second while all others go on, at a steady load or at a varying one: the device goes on. */
TEST(a_long_io_is_no_stall)
{
	for (u32 noisy = 0; noisy < 2; noisy++) {
		begin(1);
		for (u32 i = 0; i < 400; i++) {
			synthetic_io(&s, 0, READ, 320000, noisy ? 4000 + (u64)(synthetic_random(&s) * 12000) : 10000);
			if (i % 7 == 6)
				synthetic_io(&s, 0, READ, 1000000000, 1);
			synthetic_in_flight(&s, 0, 32, 300000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("stall", 0);
	}
}

/* A few IOs a second, some of them slow: an empty interval may be chance. */
TEST(a_trickle_does_not_stall)
{
	for (u32 i = 0; i < 100; i++) {
		synthetic_io(&s, 0, READ, 5000000, i % 10 == 5 ? 1 : 4);
		if (i % 10 == 5)
			synthetic_io(&s, 0, READ, 900000000, 1);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("stall", 0);
}

static void begin_glanced(void)
{
	begin(1);
	init_run();
	s.glanced = true;
	synthetic_begin(&s, 1, 6, 1);
}

/* The load catches up within the second; each freeze of 0.9 s crosses the end of an interval. */
TEST(freezes_that_a_load_catches_up_with)
{
	begin_glanced();
	for (u32 i = 0; i < 36; i++) {
		synthetic_io(&s, 0, WRITE, 50000, i % 3 == 1 ? 600 : i % 3 == 2 ? 5392 : 3000);
		if (i % 3 == 1)
			synthetic_halt(&s, 0, 0.2, 1);
		if (i % 3 == 2) {
			synthetic_halt(&s, 0, 0, 0.1);
			synthetic_io(&s, 0, WRITE, 910000000, 8);
		}
		synthetic_in_flight(&s, 0, 8, i % 3 == 1 ? 800000000 : 50000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_value("stall", "stalls", 12, 0);
	assert_value("stall", "time_s", 12 * 0.9, 1e-6);
	assert_value("stall", "mean_s", 0.9, 1e-9);
	assert_value("stall", "period_s", 3, 1e-6);
	assert_close(only("stall")->from_s, 1.2, 1e-9);
}

/* None of its IOs ends any more, so those in flight tell when it began. */
TEST(a_stall_until_the_end)
{
	begin_glanced();
	for (u32 i = 0; i < 30; i++) {
		synthetic_io(&s, 0, WRITE, 50000, i < 20 ? 3000 : i == 20 ? 600 : 0);
		if (i >= 20)
			synthetic_halt(&s, 0, i == 20 ? 0.2 : 0, 1);
		synthetic_in_flight(&s, 0, 8, i < 20 ? 50000 : (i - 20) * 1000000000ULL + 800000000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_value("stall", "time_s", 9.8, 1e-6);
	assert_close(only("stall")->from_s, 20.2, 1e-9);
}

/*
 * Not a stall: an IO whose end was missed, while the load rests, as none that ends took as long; a halt too short to be measured;
 * a load so slow that chance has none end for a while; what usually takes as long.
 */
TEST(halts_that_are_no_stalls)
{
	begin_glanced();
	for (u32 i = 0; i < 30; i++) {
		synthetic_io(&s, 0, WRITE, 50000, 3000);
		if (i == 10)
			synthetic_halt(&s, 0, 0.3, 1);
		if (i == 20) {
			synthetic_halt(&s, 0, 0.3, 0.5);
			synthetic_io(&s, 0, WRITE, 200000000, 8);
		}
		synthetic_in_flight(&s, 0, 8, 50000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("stall", 0);
	/* 25, 24 IOs a second: in 0.4 s, by chance there is one. */
	for (u32 few = 0; few < 2; few++) {
		begin_glanced();
		for (u32 i = 0; i < 30; i++) {
			synthetic_io(&s, 0, READ, 20000000, 25 - few - (i % 4 == 1));
			if (i % 4 == 1) {
				synthetic_halt(&s, 0, 0.3, 0.7);
				synthetic_io(&s, 0, READ, 400000000, 1);
			}
			synthetic_in_flight(&s, 0, 1, 10000000);
			synthetic_tick(&s, 1);
		}
		judge();
		assert_count("stall", !few);
	}
	/* While a flush takes as long as each does, its writer waits. */
	begin_glanced();
	for (u32 i = 0; i < 30; i++) {
		synthetic_io(&s, 0, WRITE, 5000000, 100);
		synthetic_halt(&s, 0, 0.5, 0.9);
		synthetic_io(&s, 0, BLKLAT_OP_FLUSH, 400000000, 1);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_count("stall", 0);
}

/* However uneven the load is, and however few intervals are without a freeze: IOs that waited for all of it are proof enough. */
TEST(freezes_of_an_uneven_load)
{
	static const u32 ios[] = { 500, 60, 900, 1400, 80, 300, 1000, 50, 1300, 200, 700, 90 };

	begin_glanced();
	for (u32 i = 0; i < 12; i++) {
		synthetic_io(&s, 0, WRITE, 500000, ios[i]);
		if (i == 1 || i == 4 || i == 7) {
			synthetic_halt(&s, 0, 0.05, 0.95);
			synthetic_io(&s, 0, WRITE, 900000000, 8);
		}
		synthetic_in_flight(&s, 0, 2, 500000);
		synthetic_tick(&s, 1);
	}
	judge();
	assert_value("stall", "stalls", 3, 0);
	assert_value("stall", "time_s", 2.7, 1e-6);
}
