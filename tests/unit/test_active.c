// SPDX-License-Identifier: GPL-2.0-only
/* The active window, and the rates over it, of runs whose load is known by construction. */
#include "synthetic_run.h"

#include "report/active.h"
#include "report/steady.h"

#define READ BLKLAT_OP_READ
#define WRITE BLKLAT_OP_WRITE
#define LATENCY_NS 1000000

static void begin(struct synthetic *s, u32 watches)
{
	synthetic_init(s);
	synthetic_begin(s, watches, 0, 1);
}

static void second(struct synthetic *s, u64 ios)
{
	synthetic_io(s, 0, WRITE, LATENCY_NS, ios);
	synthetic_tick(s, 1);
}

/* The window, and that the first device's IOs are over it. */
static void assert_window(const struct synthetic *s, u32 first, u32 n, double from_s, double to_s)
{
	const struct active_window *w = &s->run.active;
	const struct frame *f = s->run.watches[0].total;

	assert_int_equal(w->first, first);
	assert_int_equal(w->n, n);
	assert_close(w->from_s, from_s, 1e-9);
	assert_close(w->to_s, to_s, 1e-9);
	assert_int_equal(w->left_out, (from_s > s->run.start_s[first]) + (to_s < run_end_of(&s->run, first + n - 1)));
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		assert_close(f->ops[op].iops * (to_s - from_s), f->ops[op].ios, 1e-6);
}

/* 400 IOs a second for a minute that begins 0.3 s into the second interval; then 2 s without. */
static void the_ends_count_by_their_ios(void **state)
{
	struct steady_window active;
	struct consistency c;
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	second(&s, 0);
	second(&s, 280);
	for (u32 i = 0; i < 59; i++)
		second(&s, 400);
	second(&s, 120);
	second(&s, 0);
	second(&s, 0);
	run_finish(&s.run);
	assert_window(&s, 1, 61, 1.3, 61.3);
	steady_window_active(&s.run, &active);
	consistency_of(&s.run, s.run.watches[0].ops[WRITE].ios, &active, &c);
	assert_true(c.mean == 400 && c.deviation == 0 && c.worst == 400 && c.intervals_at_0 == 0);
	assert_close(c.worst_at_s, 2, 0);
	assert_int_equal(s.run.watches[0].total->ops[WRITE].ios, 400 * 60);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 400, 1e-9);
	assert_close(s.run.watches[0].total->ops[WRITE].bytes_per_s, 400 * 4096, 1e-6);
	assert_close(s.run.watches[0].total->queue_depth, 0.4, 1e-9);	/* 400 a second that take 1 ms each */
	synthetic_uninit(&s);
}

/* A recording of fio, which did 27 331 IOPS for 8.0 s. */
static void a_short_run_of_uneven_seconds(void **state)
{
	static const u64 ios[] = { 43763, 15800, 16967, 17784, 18117, 17197, 16799, 58253, 13992 };
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	for (u32 i = 0; i < ARRAY_SIZE(ios); i++)
		second(&s, ios[i]);
	run_finish(&s.run);
	assert_window(&s, 0, 9, 0, 8 + 13992 / 58253.0);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 27331, 0.03 * 27331);
	synthetic_uninit(&s);
}

/* In the first second there are reads alone. It is no less whole for the writes that begin after it. */
static void each_op_by_its_own_rate(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 2);
	for (u32 i = 0; i < 4; i++) {
		synthetic_io(&s, 0, READ, LATENCY_NS, i < 3 ? 400 : 200);
		synthetic_io(&s, 1, WRITE, LATENCY_NS, i ? 800 : 0);
		synthetic_io(&s, 1, READ, LATENCY_NS, i ? 0 : 1);	/* never again, so nothing is known of its rate */
		synthetic_tick(&s, 1);
	}
	run_finish(&s.run);
	assert_window(&s, 0, 4, 0, 3 + (200 * 0.5 + 800 * 1) / 1000);
	synthetic_uninit(&s);
}

/* Four IOs in flight throughout, for 0.5 s of the first second and 0.25 s of the last, however fast the device is. */
static void by_queue_depth_where_that_is_steadier(void **state)
{
	static const u64 ios[] = { 2000, 1000, 4000, 2000, 3000, 3000 };
	static const double busy_s[] = { 0.5, 1, 1, 1, 1, 0.25 };
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	for (u32 i = 0; i < ARRAY_SIZE(ios); i++) {
		synthetic_io(&s, 0, WRITE, llround(4e9 * busy_s[i] / ios[i]), ios[i]);
		synthetic_tick(&s, 1);
	}
	run_finish(&s.run);
	assert_close(s.run.active.from_s, 0.5, 1e-6);
	assert_close(s.run.active.to_s, 5.25, 1e-6);
	synthetic_uninit(&s);
}

static void a_rest_is_not_cut_out(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	for (u32 i = 0; i < 30; i++)
		second(&s, i < 10 || i >= 20 ? 400 : 0);
	run_finish(&s.run);
	assert_window(&s, 0, 30, 0, 30);
	synthetic_uninit(&s);
}

/* A single interval, cut short as the recorded command ended, has nothing beside it. */
static void one_interval_counts_as_a_whole(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	synthetic_io(&s, 0, WRITE, LATENCY_NS, 300);
	synthetic_tick(&s, 0.6);
	run_finish(&s.run);
	assert_window(&s, 0, 1, 0, 0.6);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 500, 1e-9);
	synthetic_uninit(&s);
}

/*
 * What is in flight at the end was so until then, and so the load lasts to there; an IO whose end was missed is not in
 * flight.
 */
static void in_flight_is_active(void **state)
{
	(void)state;
	for (u64 missed = 0; missed < 2; missed++) {
		struct synthetic s;

		begin(&s, 1);
		s.frames.f[0].accounting.kernel_known = missed;
		s.frames.f[0].accounting.kernel_ios = 3901;	/* the kernel saw the end of that one, too */
		for (u32 i = 0; i < 20; i++) {
			if (i >= 10)
				synthetic_in_flight(&s, 0, 1, (i - 9) * NSEC_PER_SEC);
			second(&s, i < 9 ? 400 : i < 10 ? 300 : 0);
		}
		run_finish(&s.run);
		if (missed)
			assert_window(&s, 0, 10, 0, 9.75);
		else
			assert_window(&s, 0, 20, 0, 20);
		synthetic_uninit(&s);
	}
}

/* The first IOs start in one interval, 0.1 s before its end, and end in the next. The kernel has counted as many. */
static void a_begin_without_ends_is_active(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	for (u32 i = 0; i < 12; i++) {
		synthetic_in_flight(&s, 0, i == 5 ? 32 : 0, i == 5 ? NSEC_PER_SEC / 10 : 0);
		s.frames.f[0].accounting.kernel_known = true;
		s.frames.f[0].accounting.kernel_ios = 1200;
		second(&s, i >= 6 && i < 9 ? 400 : 0);
	}
	run_finish(&s.run);
	assert_window(&s, 5, 4, 5.9, 9);
	synthetic_uninit(&s);
}

/* Another device writes its log now and then, throughout the run, and has one write in flight at the end. */
static void devices_with_little_io_do_not_count(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 2);
	for (u32 i = 0; i < 40; i++) {
		synthetic_io(&s, 1, WRITE, LATENCY_NS, 1);
		if (i == 39)
			synthetic_in_flight(&s, 1, 1, 1000);
		second(&s, i >= 10 && i < 30 ? 400 : 0);
	}
	run_finish(&s.run);
	assert_window(&s, 10, 20, 10, 30);
	synthetic_uninit(&s);
}

static void a_device_that_went_away(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 2);
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
	assert_window(&s, 0, 10, 0, 10);
	assert_close(s.run.watches[0].total->ops[READ].iops, 100, 1e-9);
	assert_close(s.run.watches[1].total->ops[READ].iops, 100, 1e-9);	/* in 0 s to 5 s */
	synthetic_uninit(&s);
}

static void what_was_asked_for_stays(void **state)
{
	static const struct { bool from, to; u32 first, n; double from_s, to_s; } cases[] = {
		{ false, false, 2, 16, 2.25, 17.5 }, { true, false, 0, 18, 0, 17.5 }, { false, true, 2, 18, 2.25, 20 },
		{ true, true, 0, 20, 0, 20 },
	};

	(void)state;
	for (u32 k = 0; k < ARRAY_SIZE(cases); k++) {
		struct synthetic s;

		begin(&s, 1);
		s.run.asked = (struct asked_window){ cases[k].from, cases[k].to, 0, INFINITY };
		for (u32 i = 0; i < 20; i++)
			second(&s, i == 2 ? 300 : i > 2 && i < 17 ? 400 : i == 17 ? 200 : 0);
		run_finish(&s.run);
		assert_window(&s, cases[k].first, cases[k].n, cases[k].from_s, cases[k].to_s);
		synthetic_uninit(&s);
	}
}

static void no_io_at_all(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	run_finish(&s.run);
	assert_int_equal(s.run.active.n, 0);
	synthetic_uninit(&s);
	begin(&s, 1);
	for (u32 i = 0; i < 10; i++)
		second(&s, 0);
	run_finish(&s.run);
	assert_window(&s, 0, 10, 0, 10);
	assert_true(s.run.watches[0].total->queue_depth == 0);
	synthetic_uninit(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ends_count_by_their_ios),
		cmocka_unit_test(a_short_run_of_uneven_seconds),
		cmocka_unit_test(each_op_by_its_own_rate),
		cmocka_unit_test(by_queue_depth_where_that_is_steadier),
		cmocka_unit_test(a_rest_is_not_cut_out),
		cmocka_unit_test(one_interval_counts_as_a_whole),
		cmocka_unit_test(in_flight_is_active),
		cmocka_unit_test(a_begin_without_ends_is_active),
		cmocka_unit_test(devices_with_little_io_do_not_count),
		cmocka_unit_test(a_device_that_went_away),
		cmocka_unit_test(what_was_asked_for_stays),
		cmocka_unit_test(no_io_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
