// SPDX-License-Identifier: GPL-2.0-only
/* A run made of frames: nothing is lost, nothing invented, whatever its length. */
#include "synthetic_run.h"

#include <errno.h>

TEST(empty)
{
	struct run zero = { 0 };

	begin_run(2, 6, 1);
	run_finish(&s.run);
	assert_int_equal(s.run.n, 0);
	assert_true(run_end(&s.run) == 0);
	assert_int_equal(s.run.watches[0].total->ops[READ].ios, 0);
	assert_null(s.run.watches[0].ops[READ].ios);
	assert_true(percentiles_run_ns(&s.run.watches[0].ops[READ].percentiles, 0, 0) < 0);
	run_uninit(&zero);
}

/* One series begins late, and a device goes away. tests/report/test_document.py has the figures of those that stay. */
TEST(late_and_gone)
{
	const struct watch_run *w;
	const struct series_run *o;

	begin_run(2, 6, 1);
	synthetic_io(&s, 0, READ, 60000, 10);
	synthetic_tick(&s, 1);
	synthetic_io(&s, 0, READ, 50000, 1);
	synthetic_io(&s, 0, READ, 900000, 1);
	synthetic_io(&s, 0, WRITE, 2000000, 4);
	s.frames.f[0].ops[WRITE].errors = 2;
	s.frames.f[0].accounting.lost = 7;
	s.frames.f[1].accounting.lost = 2;
	synthetic_io(&s, 1, READ, 70000, 5);
	synthetic_tick(&s, 0.5);
	s.frames.n = 1;		/* the second device went away before */
	synthetic_tick(&s, 2);
	s.frames.n = 2;
	run_finish(&s.run);

	w = &s.run.watches[0];
	assert_ptr_not_equal(w->watch, &s.watch[0]);
	assert_true(w->watch->device == &s.run.devices.d[0]);
	assert_false(w->gone);
	assert_int_equal(w->lost[1], 7);
	o = &w->ops[READ];
	assert_int_equal(o->min_ns[1], 50000);
	assert_int_equal(o->sum_ns[1], 950000);
	assert_true(percentiles_run_ns(&o->percentiles, 2, 0) < 0);
	o = &w->ops[WRITE];
	assert_int_equal(o->ios[0], 0);
	assert_true(percentiles_run_ns(&o->percentiles, 0, 0) < 0);
	assert_int_equal(o->errors[1], 2);
	assert_null(w->ops[BLKLAT_OP_FLUSH].ios);
	assert_true(run_iops(&s.run, w->ops[BLKLAT_OP_FLUSH].ios, 1) == 0);

	w = &s.run.watches[1];
	assert_true(w->gone);
	assert_int_equal(w->lost[0], 0);
	assert_int_equal(w->lost[2], 2);
	assert_true(w->queue_depth[2] == 0);
	assert_int_equal(w->ops[READ].ios[2], 0);
	assert_int_equal(w->total->ops[READ].ios, 5);
	assert_close(w->total->interval_s, 1.5, 1e-12);
}

/* A recording whose oldest intervals were dropped begins where it does; marks share the axis. */
TEST(begins_late)
{
	struct mark mark = { .mono_ns = SYNTHETIC_START_NS + 100250000000ULL, .text = "QD 16 starts" };

	init_run();
	s.origin.marks = &mark;
	s.origin.n_marks = 1;
	s.origin.host = "h";
	s.now.mono_ns += 100 * NSEC_PER_SEC;
	synthetic_begin(&s, 1, 3, 1);
	synthetic_tick(&s, 1);
	assert_close(s.run.start_s[0], 100, 1e-9);
	assert_close(s.run.duration_s, 1, 1e-12);
	mark.text = "gone";
	assert_string_equal(s.run.origin.marks[0].text, "QD 16 starts");
	assert_string_equal(s.run.origin.host, "h");
	assert_string_equal(s.run.origin.label, "");
	assert_close(mark_s(&s.run.origin, &s.run.origin.marks[0]), 100.25, 1e-9);
}

/* Without a clock. An interval of length 0 does not count. */
TEST(without_origin)
{
	init_run();
	s.origin = (struct origin){ 0 };
	s.watch[1].device = &s.device[0];
	synthetic_begin(&s, 2, 1, 1);
	s.frames.now = NULL;
	assert_int_equal(run_add(&s.run, &s.frames), 0);
	assert_int_equal(s.run.n, 0);
	s.frames.f[0].interval_s = s.frames.f[1].interval_s = 2;
	assert_int_equal(run_add(&s.run, &s.frames), 0);
	assert_int_equal(run_add(&s.run, &s.frames), 0);
	assert_close(s.run.start_s[1], 2, 0);
	assert_string_equal(s.run.origin.file, "");
	assert_string_equal(s.run.watches[1].watch->device->name, "sda");
	assert_ptr_equal(s.run.watches[0].watch->device, s.run.watches[1].watch->device);
}

/* Begins a run of the synthetic's frames in place of the run that begin_run() made. */
static struct sink *sink;

static void collect(u32 n_watches, u64 max_bytes, struct collect_how how)
{
	const struct run_info info = {
		.origin = &s.origin, .devices = &s.table, .watches = s.watch, .n_watches = n_watches, .engine = "bpf",
		.scale = 3,
		.interval_s = 1,
	};

	run_uninit(&s.run);
	s.run = (struct run){ .budget.most = max_bytes };
	assert_int_equal(collect_open(&info, &how, &s.run, &sink), 0);
}

static void begin(u32 n_watches, struct collect_how how)
{
	begin_run(n_watches, 3, 1);
	collect(n_watches, 0, how);
}

/* Beyond its limit the run refuses an interval. Another series needs room as well. */
TEST(limited)
{
	for (u32 series = 0; series < 2; series++) {
		u64 bytes;
		int err;

		begin_run(1, 3, 1);
		for (u32 i = 0; i < 1000; i++) {
			synthetic_io(&s, 0, READ, 1000, series);
			synthetic_tick(&s, 1);
		}
		bytes = s.run.budget.taken;
		begin_run(1, 3, 1);
		collect(1, bytes - 1, (struct collect_how){ 0 });
		sink->ops->close(sink);
		synthetic_io(&s, 0, READ, 1000, series);
		s.frames.f[0].interval_s = 1;
		do {
			assert_true(s.run.budget.taken < bytes);
			err = run_add(&s.run, &s.frames);
		} while (!err);
		assert_int_equal(err, -E2BIG);
		/* A heat that knows its bound leaves more to intervals. */
		assert_true(s.run.budget.exceeded && s.run.n >= 500 && (series || s.run.n < 1000));
		/* 48 bytes per interval and watch, 80 per series; columns of 4.3 KiB at most. */
		assert_in_range(bytes, 1000 * (48 + series * 80), 1500 * (48 + series * 80) + series * 600 * 4400);
	}
}

static u64 heat_sum(const struct heat *h, u32 column)
{
	struct hist c = heat_column(h, column);

	return hist_count(&c);
}

/* 600 columns of one interval; one more makes 301 of two. None is lost, at any length. */
TEST(heat_halves)
{
	const struct heat *h;
	u64 all = 0;

	begin_run(1, 6, 1);
	h = &s.run.watches[0].ops[READ].heat;
	for (u32 i = 0; i < 600; i++) {
		synthetic_io(&s, 0, READ, 60000, i + 1);
		synthetic_tick(&s, 1);
	}
	assert_int_equal(h->scale, 4);
	assert_int_equal(h->per_column, 1);
	assert_int_equal(h->n, 600);
	assert_int_equal(heat_sum(h, 599), 600);
	synthetic_io(&s, 0, READ, 60000, 5);
	synthetic_tick(&s, 1);
	assert_int_equal(h->per_column, 2);
	assert_int_equal(h->n, 301);
	assert_int_equal(heat_sum(h, 0), 1 + 2);
	assert_int_equal(heat_sum(h, 299), 599 + 600);
	assert_int_equal(heat_sum(h, 300), 5);
	for (u32 i = 0; i < 2000; i++) {
		synthetic_io(&s, 0, READ, 2000000, 1);
		synthetic_tick(&s, 1);
	}
	/* 2601 intervals: 8 a column */
	assert_int_equal(h->per_column, 8);
	assert_int_equal(h->n, 326);
	assert_int_equal(heat_sum(h, 0), 36);
	for (u32 i = 0; i < h->n; i++)
		all += heat_sum(h, i);
	assert_int_equal(all, 600 * 601 / 2 + 5 + 2000);
	/* 60 us at 16 cells an octave: 767 of the worked row in bins.h, at 64 an octave. */
	assert_int_equal(heat_column(h, 0).cells[(767 - 1) / 4 + 1], 36);
}

/* A series that begins after halving has columns as wide as the others', and empty ones before it. */
TEST(heat_of_a_late_series)
{
	const struct heat *h;

	begin_run(1, 2, 1);
	for (u32 i = 0; i < 1250; i++)
		synthetic_tick(&s, 1);
	synthetic_io(&s, 0, WRITE, 60000, 9);
	synthetic_tick(&s, 1);
	h = &s.run.watches[0].ops[WRITE].heat;
	assert_int_equal(h->scale, 2);
	assert_int_equal(h->per_column, 4);
	assert_int_equal(h->n, 313);
	assert_int_equal(heat_sum(h, 312), 9);
	for (u32 i = 0; i < 312; i++)
		assert_int_equal(heat_sum(h, i), 0);
}

/* Parts have arrays of their own, but take nothing from the wholes' charts over time. */
TEST(parts)
{
	static const struct part small = { "size", "4 KiB", 1 }, large = { "size", "8 KiB", 2 };
	struct synthetic whole;

	synthetic_init(&whole);
	synthetic_begin(&whole, 2, 6, 1);
	init_run();
	for (u32 i = 0; i < 6; i++)
		s.watch[i] = (struct watch){ .device = &s.device[i / 3], .part = (const struct part *[]){ NULL, &small, &large }[i % 3] };
	synthetic_begin(&s, 6, 6, 1);
	assert_int_equal(run_parts(&s.run, 0), 2);
	assert_int_equal(run_parts(&s.run, 3), 2);
	assert_int_equal(run_parts(&whole.run, 0), 0);
	assert_int_equal(s.run.watches[0].ops[READ].heat.columns_max, whole.run.watches[0].ops[READ].heat.columns_max);

	synthetic_io(&s, 3, READ, 60000, 10);
	synthetic_io(&s, 4, READ, 60000, 7);
	synthetic_io(&s, 5, READ, 60000, 3);
	synthetic_tick(&s, 1);
	run_finish(&s.run);
	assert_int_equal(s.run.watches[3].ops[READ].heat.n, 1);
	assert_int_equal(s.run.watches[4].ops[READ].heat.n, 1);
	assert_int_equal(s.run.watches[4].ops[READ].heat.columns_max, 32);
	assert_int_equal(s.run.watches[4].ops[READ].ios[0], 7);
	assert_int_equal(s.run.watches[5].ops[READ].total->ios, 3);
	assert_string_equal(s.run.watches[5].watch->part->label, "8 KiB");
	/* The watches; 64 intervals: two numbers each, five per watch, ten per series; heat maps with room for 16 columns. */
	assert_int_equal(s.run.budget.taken, 6 * (sizeof(struct watch) + sizeof(struct watch_run)) + 64 * 8 * (2 + 6 * 5 + 3 * 10) +
					     3 * 16 * heat_column_bytes(6));
	synthetic_uninit(&whole);
}

/* --- as a run collects them: one by one, or several merged into one --------------------------- */

static void tick(u64 ios)
{
	synthetic_io(&s, 0, READ, 60000 + 1000 * ios, ios);
	synthetic_in_flight(&s, 0, ios, 1000);
	s.now.mono_ns += NSEC_PER_SEC;
	for (u32 i = 0; i < s.frames.n; i++)
		s.frames.f[i].interval_s = 1;
	assert_int_equal(sink->ops->interval(sink, &s.frames), 0);
	for (u32 i = 0; i < s.frames.n; i++)
		synthetic_clear(&s.frames.f[i]);
}

static void end(void)
{
	assert_int_equal(sink->ops->summary(sink, NULL), 0);
	sink->ops->close(sink);
}

static void assert_run(u32 n, const double *start_s, const double *length_s, const u64 *ios)
{
	assert_int_equal(s.run.n, n);
	for (u32 i = 0; i < n; i++) {
		assert_close(s.run.start_s[i], start_s[i], 1e-9);
		assert_close(s.run.length_s[i], length_s[i], 1e-9);
		assert_int_equal(s.run.watches[0].ops[READ].ios[i], ios[i]);
	}
}

/* The last one may have fewer. Intervals on both sides of a gap in the clock are not merged. */
TEST(a_gap_is_between_two)
{
	begin(1, (struct collect_how){ .merged = 4 });
	for (u64 i = 1; i <= 6; i++)
		tick(i);
	s.now.mono_ns += 10 * NSEC_PER_SEC;
	for (u64 i = 7; i <= 9; i++)
		tick(i);
	end();
	assert_run(3, (double[]){ 0, 4, 16 }, (double[]){ 4, 2, 3 }, (u64[]){ 1 + 2 + 3 + 4, 5 + 6, 7 + 8 + 9 });
	assert_true(fabs(s.run.duration_s - 9) < 1e-9);
	assert_int_equal(s.run.watches[0].total->ops[READ].ios, 45);
	assert_int_equal(s.run.watches[0].ops[READ].min_ns[0], 61000);
	assert_int_equal(s.run.watches[0].ops[READ].max_ns[0], 64000);
	assert_int_equal(s.run.watches[0].ops[READ].bytes[0], (1 + 2 + 3 + 4) * 4096);
	assert_close(percentiles_run_ns(&s.run.watches[0].ops[READ].percentiles, 0, RUN_P50), 63000, 6000);	/* bins are 9 % wide */
	assert_int_equal(s.run.watches[0].in_flight[0], 4);
}

/* Within an interval, between two, and of a pause. */
TEST(none_goes_beyond_a_mark)
{
	struct mark marks[] = {
		{ .mono_ns = SYNTHETIC_START_NS + 1500000000, .text = "a" }, { .mono_ns = SYNTHETIC_START_NS + 5 * NSEC_PER_SEC, .text = "b" },
		{ .mono_ns = SYNTHETIC_START_NS + 8 * NSEC_PER_SEC, .text = "pause" },
	};

	begin_run(1, 3, 1);
	s.origin.marks = marks;
	s.origin.n_marks = ARRAY_SIZE(marks);
	collect(1, 0, (struct collect_how){ .merged = 4 });
	for (u64 i = 1; i <= 12; i++)
		tick(i);
	end();
	assert_run(5, (double[]){ 0, 1, 2, 5, 8 }, (double[]){ 1, 1, 3, 3, 4 }, (u64[]){ 1, 2, 3 + 4 + 5, 6 + 7 + 8, 9 + 10 + 11 + 12 });
}

/* The last frames of a device end the merged interval; the device is in no other. */
TEST(a_device_that_goes)
{
	begin(2, (struct collect_how){ .merged = 4 });
	tick(1);
	synthetic_io(&s, 1, READ, 70000, 5);
	s.frames.f[1].gone = true;
	tick(2);
	s.frames.n = 1;
	for (u64 i = 3; i <= 7; i++)
		tick(i);
	end();
	assert_run(3, (double[]){ 0, 2, 6 }, (double[]){ 2, 4, 1 }, (u64[]){ 1 + 2, 3 + 4 + 5 + 6, 7 });
	assert_true(s.run.watches[1].gone);
	assert_int_equal(s.run.watches[1].n_there, 1);
	assert_int_equal(s.run.watches[1].ops[READ].ios[0], 5);
	assert_int_equal(s.run.watches[1].total->ops[READ].ios, 5);
	assert_true(fabs(s.run.watches[1].total->interval_s - 2) < 1e-9);
}

/* It has nothing before, and its time counts from there. */
TEST(a_device_that_comes)
{
	begin(2, (struct collect_how){ .merged = 2 });
	s.frames.n = 1;
	for (u64 i = 1; i <= 4; i++)
		tick(i);
	s.frames.n = 2;
	for (u64 i = 5; i <= 6; i++) {
		synthetic_io(&s, 1, READ, 70000, 5);
		tick(i);
	}
	end();
	assert_int_equal(s.run.n, 3);
	assert_false(s.run.watches[1].gone);
	assert_true(s.run.watches[1].first_there == 2 && s.run.watches[1].n_there == 3);
	assert_int_equal(s.run.watches[1].ops[READ].ios[1], 0);
	assert_int_equal(s.run.watches[1].ops[READ].ios[2], 10);
	assert_true(fabs(s.run.watches[1].total->interval_s - 2) < 1e-9);
	assert_true(fabs(active_time(&s.run, &s.run.watches[1]) - 2) < 1e-9);
	assert_true(fabs(s.run.watches[1].total->ops[READ].iops - 5) < 1e-9);
}
