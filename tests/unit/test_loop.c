// SPDX-License-Identifier: GPL-2.0-only
/* The loop between an engine and a sink that are both made up here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "run/loop.h"
#include "run/signals.h"
#include "util/clock.h"

#define MS 1000000ULL

enum { MOST_READS = 64, WATCHES = 4, CELL = 100, IOS_A_READ = 10 };

/* a has two watches that do not lie side by side, b and c one each. */
static const struct device devices[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
static struct watch watches[WATCHES] = {
	{ &devices[0], BLKLAT_STAGE_DEVICE }, { &devices[1], BLKLAT_STAGE_DEVICE },
	{ &devices[0], BLKLAT_STAGE_TOTAL }, { &devices[2], BLKLAT_STAGE_DEVICE },
};

/* What the engine is to do and what happened; one run's, so that the callbacks find it. */
static struct run {
	struct capture capture;
	struct sink sink;
	u32 fail_read;			/* this read fails, counted from 0 for the one before the loop; 0: none */
	int fail_err;
	u32 signal_at_read;		/* SIGTERM comes while it is read; 0: never */
	u64 work_ns;			/* what a read takes before it looks at the clock */
	u32 late_read;			/* this read takes late_ns more */
	u64 late_ns;
	u32 gone_at[WATCHES];		/* read from which on the watch is gone; 0: never */
	u32 stored;			/* replay: reads that there are */
	u32 fail_interval;		/* this call of the sink fails, counted from 1; 0: none */
	int sink_err, summary_err;

	u32 reads, intervals, summaries;
	u64 mono_ns[MOST_READS];
	double interval_s[MOST_READS];
	u64 ios[MOST_READS];
	u32 shown[MOST_READS];		/* bit i: watch i */
	u32 shown_gone[MOST_READS];	/* the same of those said to be gone */
	u64 summary_ios;
	double summary_s;
	u32 summary_frames;
	char gone[64];			/* names in the order of the calls */
} run;

static void sleep_ns(u64 ns)
{
	const struct timespec t = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };

	if (ns)
		nanosleep(&t, NULL);
}

static void fill(struct watch_counts *w, u32 i, u32 n)
{
	struct op_counts *op = &w->ops[BLKLAT_OP_READ];

	w->gone = run.gone_at[i] && n >= run.gone_at[i];
	if (run.gone_at[i] && n >= run.gone_at[i])
		n = run.gone_at[i] - 1;
	op->hist.cells[CELL] = n * IOS_A_READ;
	op->min_ns = op->max_ns = hist_upper_ns(6, CELL);
	op->sum_ns = n * IOS_A_READ * op->max_ns;
	w->started = w->started_after = n * IOS_A_READ;
}

static int fake_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	u32 n = run.reads++;

	assert_ptr_equal(c, &run.capture);
	assert_true(n < MOST_READS);
	assert_int_equal(s->n, c->n_watches);
	sleep_ns(run.work_ns + (n && n == run.late_read ? run.late_ns : 0));
	if (n && n == run.fail_read)
		return run.fail_err == -ENODATA ? -ENODATA : problem_set(p, run.fail_err, "the engine broke");
	if (!c->live && n > run.stored)
		return -ENODATA;
	if (n && n == run.signal_at_read)
		kill(getpid(), SIGTERM);
	s->mono_ns = run.mono_ns[n] = c->live ? now_ns() : n * 7 * NSEC_PER_SEC;
	for (u32 i = 0; i < s->n; i++)
		fill(&s->w[i], i, n);
	return 0;
}

static int fake_interval(struct sink *s, const struct frames *fs)
{
	u32 n = run.intervals++;

	assert_ptr_equal(s, &run.sink);
	/* Whatever frames it is shown, it can look at all that was counted. */
	assert_non_null(fs->now);
	assert_int_equal(fs->now->n, run.capture.n_watches);
	assert_int_equal(fs->now->mono_ns, run.mono_ns[run.reads - 1]);
	run.interval_s[n] = fs->f[0].interval_s;
	for (u32 i = 0; i < fs->n; i++) {
		run.ios[n] += fs->f[i].ops[BLKLAT_OP_READ].ios;
		run.shown[n] |= 1u << (fs->f[i].watch - watches);
		run.shown_gone[n] |= (u32)fs->f[i].gone << (fs->f[i].watch - watches);
	}
	return run.intervals == run.fail_interval ? run.sink_err : 0;
}

static int fake_summary(struct sink *s, const struct frames *fs)
{
	assert_ptr_equal(s, &run.sink);
	run.summaries++;
	run.summary_frames = fs->n;
	for (u32 i = 0; i < fs->n; i++)
		run.summary_ios += fs->f[i].ops[BLKLAT_OP_READ].ios;
	run.summary_s = fs->f[0].interval_s;
	return run.summary_err;
}

static const struct capture_ops fake_capture = { .name = "fake", .read = fake_read };
static const struct sink_ops fake_sink = {
	.name = "fake", .interval = fake_interval, .summary = fake_summary,
};

static void on_gone(const struct device *d)
{
	strcat(run.gone, d->name);
}

static void begin(u32 n_watches, bool live)
{
	memset(&run, 0, sizeof(run));
	run.capture = (struct capture){
		.ops = &fake_capture, .watches = watches, .n_watches = n_watches, .scale = 6, .cpus = 1,
		.live = live, .engine = "fake",
	};
	run.sink.ops = &fake_sink;
}

static enum loop_end go(double interval_s, u64 count, double duration_s, struct problem *p)
{
	const struct loop_config cfg = {
		.interval_s = interval_s, .count = count, .duration_s = duration_s,
		.percentiles = &percentiles_default,
	};

	p->text[0] = '\0';
	return loop_run(&run.capture, &run.sink, &cfg, on_gone, p);
}

/* How many whole intervals after the begin read @n came, and how much later than that. */
static u64 grid(u32 n, u64 interval_ns, u64 *ret_late_ns)
{
	u64 elapsed = run.mono_ns[n] - run.mono_ns[0];

	*ret_late_ns = elapsed % interval_ns;
	return elapsed / interval_ns;
}

static void check_lengths(void)
{
	double sum = 0;

	for (u32 n = 0; n < run.intervals; n++) {
		double true_s = (run.mono_ns[n + 1] - run.mono_ns[n]) / 1e9;

		assert_true(run.interval_s[n] > true_s - 1e-9 && run.interval_s[n] < true_s + 1e-9);
		sum += true_s;
	}
	assert_true(run.summary_s > sum - 1e-6 && run.summary_s < sum + 1e-6);
}

static void test_count(void **state)
{
	struct problem p;
	u64 late_ns;

	(void)state;
	begin(1, true);
	assert_int_equal(go(0.010, 20, 0, &p), LOOP_DONE);
	assert_int_equal(run.reads, 21);
	assert_int_equal(run.intervals, 20);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 20 * IOS_A_READ);
	for (u32 n = 0; n < 20; n++)
		assert_int_equal(run.ios[n], IOS_A_READ);
	/* Never early, at most once for each point of the grid, and not seconds behind. */
	for (u32 n = 1; n <= 20; n++)
		assert_true(grid(n, 10 * MS, &late_ns) > grid(n - 1, 10 * MS, &late_ns));
	assert_in_range(run.mono_ns[20] - run.mono_ns[0], 200 * MS, 2000 * MS);
	check_lengths();
}

/*
 * Each read takes a millisecond. A loop that waits a whole interval after a read drifts by as much,
 * so its last reads are 7 ms and more behind the grid; of a good one's, some are still punctual even
 * on a busy machine.
 */
static void test_deadlines_do_not_drift(void **state)
{
	struct problem p;
	u64 late_ns, least_ns = UINT64_MAX;

	(void)state;
	begin(1, true);
	run.work_ns = 1 * MS;
	assert_int_equal(go(0.020, 12, 0, &p), LOOP_DONE);
	for (u32 n = 1; n <= 12; n++) {
		assert_true(grid(n, 20 * MS, &late_ns) > grid(n - 1, 20 * MS, &late_ns));
		grid(n, 20 * MS, &late_ns);
		if (n > 6 && late_ns < least_ns)
			least_ns = late_ns;
	}
	assert_in_range(least_ns, 1 * MS, 5 * MS);
	check_lengths();
}

/* One read is two and a half intervals late: the points it missed are left out, the next is kept. */
static void test_late_read(void **state)
{
	struct problem p;
	u64 late_ns, after;
	double longest = 0;

	(void)state;
	begin(1, true);
	run.late_read = 3;
	run.late_ns = 50 * MS;
	assert_int_equal(go(0.020, 6, 0, &p), LOOP_DONE);
	assert_true(grid(3, 20 * MS, &late_ns) >= 5);
	after = grid(4, 20 * MS, &late_ns);
	assert_true(after > grid(3, 20 * MS, &late_ns));
	assert_true(run.mono_ns[4] - run.mono_ns[0] >= after * 20 * MS);
	for (u32 n = 0; n < 6; n++)
		longest = run.interval_s[n] > longest ? run.interval_s[n] : longest;
	assert_true(run.interval_s[2] >= 0.050);	/* it says its true length */
	assert_true(run.interval_s[2] == longest);
	check_lengths();
}

static void test_duration_with_a_part_at_the_end(void **state)
{
	struct problem p;
	u64 late_ns;

	(void)state;
	begin(1, true);
	assert_int_equal(go(0.040, 0, 0.100, &p), LOOP_DONE);
	assert_int_equal(run.summaries, 1);
	assert_in_range(run.intervals, 1, 3);		/* three, unless the machine was slow */
	assert_in_range(run.mono_ns[run.reads - 1] - run.mono_ns[0], 100 * MS, 1100 * MS);
	/* All but the last are on the grid; the last ends the duration, between two points. */
	for (u32 n = 1; n < run.reads - 1; n++)
		assert_in_range(grid(n, 40 * MS, &late_ns), n, 2);
	assert_int_equal(run.summary_ios, run.intervals * IOS_A_READ);
	check_lengths();
}

static void test_duration_of_whole_intervals(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	assert_int_equal(go(0.050, 0, 0.150, &p), LOOP_DONE);
	assert_in_range(run.intervals, 1, 3);		/* no fourth of no length */
	for (u32 n = 0; n < run.intervals; n++)
		assert_true(run.interval_s[n] > 0.001);
	assert_in_range(run.mono_ns[run.reads - 1] - run.mono_ns[0], 150 * MS, 1150 * MS);
}

static void test_shorter_than_an_interval(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	assert_int_equal(go(3600, 0, 0.030, &p), LOOP_DONE);
	assert_int_equal(run.intervals, 1);
	assert_in_range(run.mono_ns[1] - run.mono_ns[0], 30 * MS, 1030 * MS);
	assert_int_equal(run.summaries, 1);
}

static void test_count_before_duration(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	assert_int_equal(go(0.005, 2, 60, &p), LOOP_DONE);
	assert_int_equal(run.intervals, 2);
	assert_int_equal(run.summaries, 1);
}

/* In the middle of an interval of an hour: what has come of it is shown, then the summary, once. */
static void check_signal(int signal)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	const struct itimerspec once = { .it_value.tv_nsec = 30 * MS };
	struct problem p;
	timer_t timer;

	begin(2, true);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &once, NULL);
	assert_int_equal(go(3600, 0, 0, &p), LOOP_DONE);
	timer_delete(timer);
	assert_int_equal(run.intervals, 1);
	assert_int_equal(run.ios[0], 2 * IOS_A_READ);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 2 * IOS_A_READ);
	assert_true(run.interval_s[0] > 0.001 && run.interval_s[0] < 60);
	check_lengths();
}

static void test_signals(void **state)
{
	(void)state;
	check_signal(SIGTERM);
	check_signal(SIGINT);
	check_signal(SIGHUP);
}

/* One that comes while the engine is read is seen at the next wait. */
static void test_signal_while_reading(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	run.signal_at_read = 2;
	assert_int_equal(go(0.010, 0, 0, &p), LOOP_DONE);
	assert_int_equal(run.intervals, 3);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 3 * IOS_A_READ);
}

static void test_reader_of_the_pipe_goes(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	run.fail_interval = 2;
	run.sink_err = -EPIPE;
	assert_int_equal(go(0.002, 5, 0, &p), LOOP_PIPE);
	assert_int_equal(run.intervals, 2);
	assert_int_equal(run.summaries, 0);
}

static void test_pipe_goes_before_the_summary(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	run.summary_err = -EPIPE;
	assert_int_equal(go(0.002, 1, 0, &p), LOOP_PIPE);
	assert_int_equal(run.summaries, 1);
}

static void test_output_fails(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	run.fail_interval = 1;
	run.sink_err = -ENOSPC;
	assert_int_equal(go(0.002, 5, 0, &p), LOOP_FAILED);
	assert_int_equal(run.summaries, 0);
	assert_non_null(strstr(p.text, "output"));
	assert_non_null(strstr(p.text, strerror(ENOSPC)));

	begin(1, true);
	run.summary_err = -ENOSPC;
	assert_int_equal(go(0.002, 1, 0, &p), LOOP_FAILED);
	assert_non_null(strstr(p.text, strerror(ENOSPC)));
}

static void test_engine_fails(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	run.fail_read = 3;
	run.fail_err = -EIO;
	assert_int_equal(go(0.002, 5, 0, &p), LOOP_FAILED);
	assert_string_equal(p.text, "the engine broke");
	assert_int_equal(run.intervals, 2);
	assert_int_equal(run.summaries, 0);
}

/* -ENODATA is the end of a replay. A live engine has none: whatever it means, no endless loop. */
static void test_live_engine_without_data(void **state)
{
	struct problem p;

	(void)state;
	begin(1, true);
	run.fail_read = 2;
	run.fail_err = -ENODATA;
	assert_int_equal(go(0.002, 20, 0, &p), LOOP_FAILED);
	assert_int_equal(run.reads, 3);
}

/* Told once, shown once more with what it did until then, then left out. */
static void test_one_device_goes(void **state)
{
	struct problem p;

	(void)state;
	begin(WATCHES, true);
	run.gone_at[1] = 2;
	assert_int_equal(go(0.002, 4, 0, &p), LOOP_DONE);
	assert_string_equal(run.gone, "b");
	assert_int_equal(run.shown[0], 0xf);
	assert_int_equal(run.shown[1], 0xf);
	assert_int_equal(run.shown[2], 0xd);
	assert_int_equal(run.shown[3], 0xd);
	assert_int_equal(run.shown_gone[0], 0);
	assert_int_equal(run.shown_gone[1], 0x2);
	assert_int_equal(run.ios[2], 3 * IOS_A_READ);
	/* The summary has it nonetheless, with its one interval. */
	assert_int_equal(run.summary_frames, WATCHES);
	assert_int_equal(run.summary_ios, (3 * 4 + 1) * IOS_A_READ);
}

/* Both watches of a at once, with b's between: one call; and the end when c goes too. */
static void test_all_devices_go(void **state)
{
	struct problem p;

	(void)state;
	begin(WATCHES, true);
	run.gone_at[0] = run.gone_at[1] = run.gone_at[2] = 2;
	run.gone_at[3] = 4;
	assert_int_equal(go(0.002, 10, 0, &p), LOOP_GONE);
	assert_string_equal(run.gone, "abc");
	assert_int_equal(run.intervals, 4);
	assert_int_equal(run.shown[2], 0x8);
	assert_int_equal(run.shown[3], 0x8);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, (3 * 1 + 3) * IOS_A_READ);
}

/* An engine can find one watch of a device gone a read before the other. */
static void test_watches_of_one_device_go_apart(void **state)
{
	struct problem p;

	(void)state;
	begin(WATCHES, true);
	run.gone_at[0] = 2;
	run.gone_at[2] = 3;
	assert_int_equal(go(0.002, 5, 0, &p), LOOP_DONE);
	assert_string_equal(run.gone, "a");
	assert_int_equal(run.shown[1], 0xf);
	assert_int_equal(run.shown[2], 0xe);
	assert_int_equal(run.shown[3], 0xa);
}

/* No clock is waited for: stored intervals come as fast as they are read, and say their own length. */
static void test_replay(void **state)
{
	struct problem p;
	u64 before = now_ns();

	(void)state;
	begin(2, false);
	run.stored = 30;
	assert_int_equal(go(3600, 0, 0, &p), LOOP_DONE);
	assert_int_equal(run.intervals, 30);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 2 * 30 * IOS_A_READ);
	assert_true(run.interval_s[29] > 7 - 1e-9 && run.interval_s[29] < 7 + 1e-9);
	assert_true(now_ns() - before < 5 * NSEC_PER_SEC);
}

static void test_replay_ends_early(void **state)
{
	struct problem p;

	(void)state;
	begin(1, false);
	run.stored = 30;
	assert_int_equal(go(1, 4, 0, &p), LOOP_DONE);
	assert_int_equal(run.intervals, 4);
	assert_int_equal(run.summaries, 1);

	begin(1, false);
	run.stored = 30;
	run.signal_at_read = 5;
	assert_int_equal(go(1, 0, 0, &p), LOOP_DONE);
	assert_int_equal(run.intervals, 5);
	assert_int_equal(run.summaries, 1);
}

static void test_signals_wait_for_the_loop(void **state)
{
	sigset_t set;

	(void)state;
	sigprocmask(SIG_BLOCK, NULL, &set);
	assert_true(sigismember(&set, SIGTERM) && sigismember(&set, SIGINT) && sigismember(&set, SIGHUP));
}

static int block_signals(void **state)
{
	(void)state;
	signals_block();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_wait_for_the_loop),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_deadlines_do_not_drift),
		cmocka_unit_test(test_late_read),
		cmocka_unit_test(test_duration_with_a_part_at_the_end),
		cmocka_unit_test(test_duration_of_whole_intervals),
		cmocka_unit_test(test_shorter_than_an_interval),
		cmocka_unit_test(test_count_before_duration),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signal_while_reading),
		cmocka_unit_test(test_reader_of_the_pipe_goes),
		cmocka_unit_test(test_pipe_goes_before_the_summary),
		cmocka_unit_test(test_output_fails),
		cmocka_unit_test(test_engine_fails),
		cmocka_unit_test(test_live_engine_without_data),
		cmocka_unit_test(test_one_device_goes),
		cmocka_unit_test(test_all_devices_go),
		cmocka_unit_test(test_watches_of_one_device_go_apart),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_replay_ends_early),
	};

	return cmocka_run_group_tests(tests, block_signals, NULL);
}
