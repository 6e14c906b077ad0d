// SPDX-License-Identifier: GPL-2.0-only
/* Intervals as a run collects them: one by one, or several merged into one. */
#include "synthetic_run.h"

#include "report/run.h"

/* Begins a run of the synthetic's frames in place of the run that begin_run() made. */
static struct sink *sink;

static void begin(u32 n_watches, const struct collect_how *how)
{
	const struct run_info info = {
		.origin = &s.origin, .devices = &s.table, .watches = s.watch, .n_watches = n_watches, .engine = "bpf", .scale = 3,
		.interval_s = 1,
	};

	begin_run(n_watches, 3, 1);
	run_uninit(&s.run);
	assert_int_equal(collect_open(&info, how, &s.run, &sink), 0);
}

static void tick(u64 ios)
{
	synthetic_io(&s, 0, READ, 60000 + 1000 * ios, ios);
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
		assert_true(fabs(s.run.start_s[i] - start_s[i]) < 1e-9);
		assert_true(fabs(s.run.length_s[i] - length_s[i]) < 1e-9);
		assert_int_equal(s.run.watches[0].ops[READ].ios[i], ios[i]);
	}
}

TEST(each_for_itself)
{
	const struct collect_how how = { .merged = 1 };

	begin(1, &how);
	for (u64 i = 1; i <= 3; i++)
		tick(i);
	end();
	assert_run(3, (double[]){ 0, 1, 2 }, (double[]){ 1, 1, 1 }, (u64[]){ 1, 2, 3 });
}

/* The last one may have fewer. Intervals on both sides of a gap in the clock are not merged. */
TEST(a_gap_is_between_two)
{
	const struct collect_how how = { .merged = 4 };

	begin(1, &how);
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
}

/* The last frames of a device end the merged interval; the device is in no other. */
TEST(a_device_that_goes)
{
	const struct collect_how how = { .merged = 4 };

	begin(2, &how);
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
