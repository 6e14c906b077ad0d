// SPDX-License-Identifier: GPL-2.0-only
/* Phases between marks: which intervals belong to them, and that their figures are of just these. */
#include "synthetic_run.h"

#include <errno.h>

#include "core/snapshot.h"
#include "report/phases.h"

static struct mark mark(double at_s, char *text)
{
	return (struct mark){ .mono_ns = SYNTHETIC_START_NS + llround(at_s * 1e9), .text = text };
}

static void begin(struct mark *marks, u32 n, u32 watches)
{
	init_run();
	s.origin.marks = marks;
	s.origin.n_marks = n;
	synthetic_begin(&s, watches, 6, 1);
}

static void reads(u32 ns, u32 n)
{
	synthetic_io(&s, 0, READ, ns, n);
	synthetic_tick(&s, 1);
}

static const struct op_frame *figures(u32 phase, u32 watch, u32 op)
{
	return &s.run.phases.p[phase].of[watch]->ops[op];
}

/*
 * The first load begins 0.75 s after its mark and ends 0.5 s before the next. The others have IOs in flight at a phase's end,
 * so they last until there, and from there.
 */
TEST(rates_are_over_the_time_of_the_ios)
{
	static const u32 ios[] = { 0, 100, 400, 400, 200, 250, 1000, 1000, 70, 100, 80 };
	static const double length_s[] = { 2.75, 2.25, 3 }, iops[] = { 400, 1000, 250 / 3.0 };
	struct mark marks[] = { mark(1, "a"), mark(5, "b"), mark(8, "c") };
	struct run part;

	begin(marks, 3, 1);
	for (u32 i = 0; i < ARRAY_SIZE(ios); i++) {
		synthetic_in_flight(&s, 0, i == 7 || i == 10, 1000);
		reads(100000, ios[i]);
	}
	run_finish(&s.run);
	for (u32 k = 0; k < ARRAY_SIZE(iops); k++) {
		assert_close(figures(k, 0, READ)->iops, iops[k], 1e-9);
		assert_close(s.run.phases.p[k].length_s, length_s[k], 1e-9);
		assert_int_equal(phase_run_make(&s.run, &s.run.phases.p[k], &part), 0);
		assert_close(active_time(&part, &part.watches[0]), length_s[k], 1e-9);
		phase_run_free(&part);
	}
}

/* Marks on the boundaries of intervals, or off by less than a thousandth: nothing is left out. */
TEST(marks_on_borders)
{
	struct mark marks[] = { mark(0, "a"), mark(2.0005, "b") };

	begin(marks, 2, 1);
	for (u32 i = 1; i <= 5; i++)
		reads(100000 * i, i);
	run_finish(&s.run);
	assert_int_equal(figures(0, 0, READ)->ios, 1 + 2);
	assert_int_equal(figures(1, 0, READ)->ios, 3 + 4 + 5);
	assert_close(s.run.phases.p[1].to_s, 5, 1e-9);
}

/* Too short for a whole interval: takes the one whose middle it covers; below half an interval: no figures. */
TEST(short_phases)
{
	struct mark marks[] = { mark(0.2, "most"), mark(1.1, "some"), mark(1.3, "pause"), mark(2.4, "two"), mark(3.9, "late") };
	const struct phase *p;

	begin(marks, 5, 1);
	for (u32 i = 1; i <= 4; i++)
		reads(1000, 10 * i);
	run_finish(&s.run);
	p = s.run.phases.p;
	assert_int_equal(s.run.phases.n, 4);
	assert_true(p[0].partial && p[0].n == 1 && p[0].first == 0);
	assert_int_equal(p[1].n, 0);
	assert_null(p[1].of);
	assert_true(p[2].partial && p[2].n == 2 && p[2].first == 2);
	assert_int_equal(p[3].n, 0);
	assert_close(figures(2, 0, READ)->iops, 35, 1e-9);
}

/* A partial interval gives way to the first whole one, with all its figures. */
TEST(whole_takes_the_place)
{
	struct mark marks[] = { mark(0.4, "a") };

	begin(marks, 1, 2);
	synthetic_io(&s, 1, WRITE, 7000000, 3);
	synthetic_first_io(&s, 0, READ, 9000000, 1);
	synthetic_tick(&s, 1);
	reads(1000, 10);
	reads(2000, 20);
	run_finish(&s.run);
	assert_false(s.run.phases.p[0].partial);
	assert_int_equal(figures(0, 0, READ)->ios, 30);
	assert_int_equal(figures(0, 0, READ)->max_ns, 2000);
	assert_int_equal(figures(0, 0, READ)->after_idle_ios, 0);
	assert_int_equal(hist_count(&figures(0, 0, READ)->hist), 30);
	assert_int_equal(figures(0, 1, WRITE)->ios, 0);
}

/* A rest at either end of a phase is not part of it, one in its middle is. An IO that hangs is no rest. */
TEST(rests)
{
	static const u32 ios[] = { 0, 0, 100, 0, 200, 0, 0, 0 };
	struct mark marks[] = { mark(0, "a"), mark(8, "b") };

	begin(marks, 2, 2);
	for (u32 i = 0; i < ARRAY_SIZE(ios); i++)
		reads(1000, ios[i]);
	synthetic_in_flight(&s, 0, 1, 500000000);
	reads(1000, 0);
	synthetic_in_flight(&s, 0, 0, 0);
	synthetic_io(&s, 0, READ, 1200000000, 1);
	reads(1000, 9);
	run_finish(&s.run);
	assert_int_equal(s.run.phases.p[0].first, 2);
	assert_int_equal(s.run.phases.p[0].n, 3);
	assert_close(figures(0, 0, READ)->iops, 100, 1e-9);
	assert_null(s.run.phases.p[0].of[1]);
	assert_int_equal(s.run.phases.p[1].n, 2);
	/* It began with the IO that was in flight, 0.5 s before the first interval's end. */
	assert_close(figures(1, 0, READ)->iops, 10 / 1.5, 1e-9);
	assert_close(s.run.phases.p[1].of[0]->queue_depth, (1200000000 + 9000) / 1.5e9, 1e-9);
}

/* More marks than phases can be shown; their memory is counted, and bounded. */
TEST(bounded)
{
	static struct mark marks[PHASES_MAX + 10];
	u64 before;

	for (u32 i = 0; i < PHASES_MAX + 10; i++)
		marks[i] = mark(i, i == 3 ? "pause" : "again");
	begin(marks, PHASES_MAX + 10, 1);
	assert_int_equal(s.run.phases.n, PHASES_MAX);
	assert_int_equal(s.run.phases.left_out, 9);
	reads(1000, 1);
	before = s.run.budget.taken;
	reads(1000, 1);
	assert_int_equal(s.run.budget.taken - before, sizeof(struct frame) + sizeof(void *) + OP_CELLS(6) * sizeof(u64) +
						     sizeof(struct watch_run) + sizeof(struct frame));
	s.run.budget.most = s.run.budget.taken + 100;
	synthetic_io(&s, 0, READ, 1000, 1);
	s.now.mono_ns += NSEC_PER_SEC;
	s.frames.f[0].interval_s = 1;
	assert_int_equal(run_add(&s.run, &s.frames), -E2BIG);
	assert_true(s.run.budget.exceeded);
	assert_int_equal(s.run.n, 2);
}
