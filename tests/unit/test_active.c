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

static void assert_window(const struct synthetic *s, u32 first, u32 n, u32 left_out)
{
	const struct active_window *w = &s->run.active;

	assert_int_equal(w->first, first);
	assert_int_equal(w->n, n);
	assert_int_equal(w->left_out, left_out);
	assert_close(w->from_s, s->run.start_s[first], 0);
	assert_close(w->to_s, run_end_of(&s->run, first + n - 1), 0);
}

/* 400 IOs a second for a minute that begins 0.3 s into the second interval; then 2 s without. */
static void only_whole_intervals_of_the_load_count(void **state)
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
	assert_window(&s, 2, 59, 2);
	steady_window_active(&s.run, &active);
	consistency_of(&s.run, s.run.watches[0].ops[WRITE].ios, &active, &c);
	assert_true(c.mean == 400 && c.deviation == 0 && c.worst == 400 && c.intervals_at_0 == 0);
	assert_close(c.worst_at_s, 2, 0);
	assert_int_equal(s.run.watches[0].total->ops[WRITE].ios, 400 * 60);
	assert_true(s.run.watches[0].total->ops[WRITE].iops == 400);
	assert_true(s.run.watches[0].total->ops[WRITE].bytes_per_s == 400 * 4096);
	assert_close(s.run.watches[0].total->queue_depth, 0.4, 1e-9);	/* 400 a second that take 1 ms each */
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
	assert_window(&s, 1, 28, 2);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 18 * 400 / 28.0, 1e-9);
	synthetic_uninit(&s);
}

/* Of six intervals only four would remain. */
static void few_intervals_all_count(void **state)
{
	struct synthetic s;

	(void)state;
	begin(&s, 1);
	for (u32 i = 0; i < 8; i++)
		second(&s, i && i < 7 ? 100 * i : 0);
	run_finish(&s.run);
	assert_window(&s, 1, 6, 0);
	assert_close(s.run.watches[0].total->ops[WRITE].iops, 350, 1e-9);
	synthetic_uninit(&s);
}

/* A device that hangs until the end counts as active; an IO whose end was missed is not in flight. */
static void in_flight_is_active(void **state)
{
	(void)state;
	for (u64 missed = 0; missed < 2; missed++) {
		struct synthetic s;

		begin(&s, 1);
		s.frames.f[0].accounting.kernel_known = missed;
		s.frames.f[0].accounting.kernel_ios = 4001;	/* the kernel saw the end of that one, too */
		for (u32 i = 0; i < 20; i++) {
			if (i >= 10)
				synthetic_in_flight(&s, 0, 1, (i - 9) * NSEC_PER_SEC);
			second(&s, i < 10 ? 400 : 0);
		}
		run_finish(&s.run);
		if (missed)
			assert_window(&s, 1, 8, 2);
		else
			assert_window(&s, 1, 18, 2);
		synthetic_uninit(&s);
	}
}

/* The first IOs start in one interval and end in the next. All of them end, and the kernel has counted as many. */
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
	assert_window(&s, 5, 4, 0);
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
	assert_window(&s, 11, 18, 2);
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
	assert_window(&s, 1, 8, 2);
	assert_close(s.run.watches[0].total->ops[READ].iops, 100, 1e-9);
	assert_close(s.run.watches[1].total->ops[READ].iops, 100, 1e-9);	/* in 1 s to 5 s */
	synthetic_uninit(&s);
}

static void what_was_asked_for_stays(void **state)
{
	static const struct { bool from, to; u32 first, n, left_out; } cases[] = {
		{ false, false, 3, 14, 2 }, { true, false, 0, 17, 1 }, { false, true, 3, 17, 1 }, { true, true, 0, 20, 0 },
	};

	(void)state;
	for (u32 k = 0; k < ARRAY_SIZE(cases); k++) {
		struct synthetic s;

		begin(&s, 1);
		s.run.asked = (struct asked_window){ cases[k].from, cases[k].to, 0, INFINITY };
		for (u32 i = 0; i < 20; i++)
			second(&s, i >= 2 && i < 18 ? 400 : 0);
		run_finish(&s.run);
		assert_window(&s, cases[k].first, cases[k].n, cases[k].left_out);
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
	assert_window(&s, 0, 10, 0);
	assert_true(s.run.watches[0].total->queue_depth == 0);
	synthetic_uninit(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_intervals_of_the_load_count),
		cmocka_unit_test(a_rest_is_not_cut_out),
		cmocka_unit_test(few_intervals_all_count),
		cmocka_unit_test(in_flight_is_active),
		cmocka_unit_test(a_begin_without_ends_is_active),
		cmocka_unit_test(devices_with_little_io_do_not_count),
		cmocka_unit_test(a_device_that_went_away),
		cmocka_unit_test(what_was_asked_for_stays),
		cmocka_unit_test(no_io_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
