// SPDX-License-Identifier: GPL-2.0-only
/* The active window, and the rates over it, of runs whose load is known by construction. */
#include "synthetic_run.h"

#include "report/active.h"
#include "report/steady.h"

#define LATENCY_NS 1000000

static void begin(u32 watches)
{
	begin_run(watches, 0, 1);
}

static void second(u64 ios)
{
	synthetic_io(&s, 0, WRITE, LATENCY_NS, ios);
	synthetic_tick(&s, 1);
}

/* The window, and that the first device's IOs are over it. */
static void assert_window(u32 first, u32 n, double from_s, double to_s)
{
	const struct active_window *w = &s.run.active;
	const struct frame *f = s.run.watches[0].total;

	assert_int_equal(w->first, first);
	assert_int_equal(w->n, n);
	assert_close(w->from_s, from_s, 1e-9);
	assert_close(w->to_s, to_s, 1e-9);
	assert_int_equal(w->left_out, (from_s > s.run.start_s[first]) + (to_s < run_end_of(&s.run, first + n - 1)));
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		assert_close(f->ops[op].iops * (to_s - from_s), f->ops[op].ios, 1e-6);
}

/* 400 IOs a second for a minute that begins 0.3 s into the second interval; then 2 s without. */
TEST(the_ends_count_by_their_ios)
{
	struct steady_window active;
	struct consistency c;

	begin(1);
	second(0);
	second(280);
	for (u32 i = 0; i < 59; i++)
		second(400);
	second(120);
	second(0);
	second(0);
	run_finish(&s.run);
	assert_window(1, 61, 1.3, 61.3);
	active = steady_window_active(&s.run);
	c = consistency_of(&s.run, &s.run.watches[0], WRITE, &active);
	assert_true(c.mean == 400 && c.deviation == 0 && c.worst == 400 && c.intervals_at_0 == 0);
	assert_close(c.worst_at_s, 2, 0);
	assert_int_equal(s.run.watches[0].total->ops[WRITE].ios, 400 * 60);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 400, 1e-9);
	assert_close(s.run.watches[0].total->ops[WRITE].bytes_per_s, 400 * 4096, 1e-6);
	assert_close(s.run.watches[0].total->queue_depth, 0.4, 1e-9);	/* 400 a second that take 1 ms each */
}

/* In the first second there are reads alone. It is no less whole for the writes that begin after it. */
TEST(each_op_by_its_own_rate)
{
	begin(2);
	for (u32 i = 0; i < 4; i++) {
		synthetic_io(&s, 0, READ, LATENCY_NS, i < 3 ? 400 : 200);
		synthetic_io(&s, 1, WRITE, LATENCY_NS, i ? 800 : 0);
		synthetic_io(&s, 1, READ, LATENCY_NS, i ? 0 : 1);	/* never again, so nothing is known of its rate */
		synthetic_tick(&s, 1);
	}
	run_finish(&s.run);
	assert_window(0, 4, 0, 3 + (200 * 0.5 + 800 * 1) / 1000);
}

/* Four IOs in flight throughout, for 0.5 s of the first second and 0.25 s of the last, however fast the device is. */
TEST(by_queue_depth_where_that_is_steadier)
{
	static const u64 ios[] = { 2000, 1000, 4000, 2000, 3000, 3000 };
	static const double busy_s[] = { 0.5, 1, 1, 1, 1, 0.25 };

	begin(1);
	for (u32 i = 0; i < ARRAY_SIZE(ios); i++) {
		synthetic_io(&s, 0, WRITE, llround(4e9 * busy_s[i] / ios[i]), ios[i]);
		synthetic_tick(&s, 1);
	}
	run_finish(&s.run);
	assert_close(s.run.active.from_s, 0.5, 1e-6);
	assert_close(s.run.active.to_s, 5.25, 1e-6);
}

TEST(a_rest_is_not_cut_out)
{
	begin(1);
	for (u32 i = 0; i < 30; i++)
		second(i < 10 || i >= 20 ? 400 : 0);
	run_finish(&s.run);
	assert_window(0, 30, 0, 30);
}

/* A single interval, cut short as the recorded command ended, has nothing beside it. */
TEST(one_interval_counts_as_a_whole)
{
	begin(1);
	synthetic_io(&s, 0, WRITE, LATENCY_NS, 300);
	synthetic_tick(&s, 0.6);
	run_finish(&s.run);
	assert_window(0, 1, 0, 0.6);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 500, 1e-9);
}

/*
 * What is in flight at the end was so until then, and so the load lasts to there; an IO whose end was missed is not in
 * flight.
 */
TEST(in_flight_is_active)
{
	for (u64 missed = 0; missed < 2; missed++) {
		begin(1);
		s.frames.f[0].accounting.kernel_known = missed;
		s.frames.f[0].accounting.kernel_ios = 3901;	/* the kernel saw the end of that one, too */
		for (u32 i = 0; i < 20; i++) {
			if (i >= 10)
				synthetic_in_flight(&s, 0, 1, (i - 9) * NSEC_PER_SEC);
			second(i < 9 ? 400 : i < 10 ? 300 : 0);
		}
		run_finish(&s.run);
		if (missed)
			assert_window(0, 10, 0, 9.75);
		else
			assert_window(0, 20, 0, 20);
	}
}

/* The first IOs start in one interval, 0.1 s before its end, and end in the next. The kernel has counted as many. */
TEST(a_begin_without_ends_is_active)
{
	begin(1);
	for (u32 i = 0; i < 12; i++) {
		synthetic_in_flight(&s, 0, i == 5 ? 32 : 0, i == 5 ? NSEC_PER_SEC / 10 : 0);
		s.frames.f[0].accounting.kernel_known = true;
		s.frames.f[0].accounting.kernel_ios = 1200;
		second(i >= 6 && i < 9 ? 400 : 0);
	}
	run_finish(&s.run);
	assert_window(5, 4, 5.9, 9);
}

/* Another device writes its log now and then, throughout the run, and has one write in flight at the end. */
TEST(devices_with_little_io_do_not_count)
{
	begin(2);
	for (u32 i = 0; i < 40; i++) {
		synthetic_io(&s, 1, WRITE, LATENCY_NS, 1);
		if (i == 39)
			synthetic_in_flight(&s, 1, 1, 1000);
		second(i >= 10 && i < 30 ? 400 : 0);
	}
	run_finish(&s.run);
	assert_window(10, 20, 10, 30);
}

TEST(a_device_that_went_away)
{
	begin(2);
	for (u32 i = 0; i < 10; i++) {
		synthetic_io(&s, 0, READ, LATENCY_NS, 100);
		synthetic_io(&s, 1, READ, LATENCY_NS, 100);
		if (i == 5) {
			s.frames.n = 1;
			synthetic_clear(&s.frames.f[1]);
		}
		synthetic_tick(&s, 1);
	}
	s.frames.n = 2;
	run_finish(&s.run);
	assert_window(0, 10, 0, 10);
	assert_close(s.run.watches[0].total->ops[READ].iops, 100, 1e-9);
	assert_close(s.run.watches[1].total->ops[READ].iops, 100, 1e-9);	/* in 0 s to 5 s */
}

TEST(what_was_asked_for_stays)
{
	static const struct { bool from, to; u32 first, n; double from_s, to_s; } cases[] = {
		{ false, false, 2, 16, 2.25, 17.5 }, { true, false, 0, 18, 0, 17.5 }, { false, true, 2, 18, 2.25, 20 },
		{ true, true, 0, 20, 0, 20 },
	};

	for (u32 k = 0; k < ARRAY_SIZE(cases); k++) {
		begin(1);
		s.run.asked = (struct asked_window){ cases[k].from, cases[k].to, 0, INFINITY };
		for (u32 i = 0; i < 20; i++)
			second(i == 2 ? 300 : i > 2 && i < 17 ? 400 : i == 17 ? 200 : 0);
		run_finish(&s.run);
		assert_window(cases[k].first, cases[k].n, cases[k].from_s, cases[k].to_s);
	}
}

TEST(no_io_at_all)
{
	begin(1);
	run_finish(&s.run);
	assert_int_equal(s.run.active.n, 0);
	begin(1);
	for (u32 i = 0; i < 10; i++)
		second(0);
	run_finish(&s.run);
	assert_window(0, 10, 0, 10);
	assert_true(s.run.watches[0].total->queue_depth == 0);
}
