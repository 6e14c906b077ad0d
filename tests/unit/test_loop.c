// SPDX-License-Identifier: GPL-2.0-only
/* When the loop reads: on the grid of its intervals, and as often and as long as asked; what ends it; who is heard. */
#include "loop_fakes.h"

#include <sys/wait.h>

/* How many whole intervals after the start read @n came, and how much later than that. */
static u64 grid(u32 n, u64 interval_ns, u64 *ret_late_ns)
{
	u64 elapsed = run.mono_ns[n] - run.mono_ns[0];

	*ret_late_ns = elapsed % interval_ns;
	return elapsed / interval_ns;
}

TEST(test_count)
{
	u32 at_the_next = 0;
	u64 late_ns;

	begin(1, true);
	assert_int_equal(go(0.010, 20, 0), LOOP_DONE);
	assert_int_equal(run.reads, 21);
	assert_int_equal(run.intervals, 20);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 20 * IOS_A_READ);
	for (u32 n = 0; n < 20; n++)
		assert_int_equal(run.ios[n], IOS_A_READ);
	/* Never early, at most once for each point of the grid, sometimes at the next one, and not seconds behind. */
	for (u32 n = 1; n <= 20; n++) {
		u64 points = grid(n, 10 * MS, &late_ns) - grid(n - 1, 10 * MS, &late_ns);

		assert_true(points >= 1);
		at_the_next += points == 1;
	}
	assert_true(at_the_next > 0);
	assert_in_range(run.mono_ns[20] - run.mono_ns[0], 200 * MS, 2000 * MS);
	check_lengths();
}

/*
 * Each read takes a millisecond. A loop that waits a whole interval after a read drifts by as much, so its last reads
 * are 7 ms and more behind the grid; of a good one's, some are still punctual even on a busy machine.
 */
TEST(test_deadlines_do_not_drift)
{
	u64 late_ns, least_ns = UINT64_MAX;

	begin(1, true);
	run.work_ns = 1 * MS;
	assert_int_equal(go(0.020, 12, 0), LOOP_DONE);
	for (u32 n = 1; n <= 12; n++) {
		assert_true(grid(n, 20 * MS, &late_ns) > grid(n - 1, 20 * MS, &late_ns));
		grid(n, 20 * MS, &late_ns);
		if (n > 6 && late_ns < least_ns)
			least_ns = late_ns;
	}
	assert_in_range(least_ns, 1 * MS, 5 * MS);
	check_lengths();
}

/* One read is two and a half intervals late: the points it missed are skipped, the next one is kept. */
TEST(test_late_read)
{
	u64 late_ns, after;
	double longest = 0;

	begin(1, true);
	run.late_read = 3;
	run.late_ns = 50 * MS;
	assert_int_equal(go(0.020, 6, 0), LOOP_DONE);
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

TEST(test_durations)
{
	static const struct { double interval_s; u64 count; double duration_s; u32 most; } cases[] = {
		{ 0.040, 0, 0.100, 3 },		/* the last ends the duration, between two points */
		{ 0.050, 0, 0.150, 3 },		/* no fourth of length 0 */
		{ 3600, 0, 0.030, 1 },
		{ 0.005, 2, 60, 2 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 interval_ns = cases[i].interval_s * 1e9, least_ns = cases[i].count ? 0 : cases[i].duration_s * 1e9, late_ns;

		begin(1, true);
		assert_int_equal(go(cases[i].interval_s, cases[i].count, cases[i].duration_s), LOOP_DONE);
		assert_in_range(run.intervals, cases[i].count ?: 1, cases[i].most);	/* fewer if the machine was slow */
		assert_in_range(run.mono_ns[run.reads - 1] - run.mono_ns[0], least_ns, least_ns + 1000 * MS);
		/* All but the last are on the grid. */
		for (u32 n = 1; n < run.reads - 1 && !cases[i].count; n++)
			assert_in_range(grid(n, interval_ns, &late_ns), n, cases[i].most - 1);
		for (u32 n = 0; n < run.intervals; n++)
			assert_true(run.interval_s[n] > 0.001);
		assert_int_equal(run.summaries, 1);
		assert_int_equal(run.summary_ios, run.intervals * IOS_A_READ);
		check_lengths();
	}
}

/* --- its end: signals, a reader that goes away, a failure, the last device, a replay's last interval ---------------- */

TEST(test_signals_wait_for_the_loop)
{
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	assert_true(sigismember(&set, SIGTERM) && sigismember(&set, SIGINT) && sigismember(&set, SIGHUP));
}

/* In the middle of an interval of an hour: the part so far is shown, then the summary, once. */
static void check_signal(int signal)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	const struct itimerspec once = { .it_value.tv_nsec = 30 * MS };
	timer_t timer;

	begin(2, true);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &once, NULL);
	assert_int_equal(go(3600, 0, 0), LOOP_DONE);
	timer_delete(timer);
	assert_int_equal(run.intervals, 1);
	assert_int_equal(run.ios[0], 2 * IOS_A_READ);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 2 * IOS_A_READ);
	assert_true(run.interval_s[0] > 0.001 && run.interval_s[0] < 60);
	check_lengths();
}

TEST(test_signals)
{
	check_signal(SIGTERM);
	check_signal(SIGINT);
	check_signal(SIGHUP);
}

/* A signal that comes during a read is noticed at the next wait. */
TEST(test_signal_while_reading)
{
	begin(1, true);
	run.signal_at_read = 2;
	assert_int_equal(go(0.010, 0, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 3);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 3 * IOS_A_READ);
}

TEST(test_what_fails)
{
	static const struct {
		u32 fail_interval, fail_read;
		int sink_err, summary_err, fail_err;
		u64 count;
		enum loop_end end;
		u32 intervals, summaries;
		const char *says;
	} cases[] = {
		/* The reader of the pipe goes, maybe before the summary. */
		{ .fail_interval = 2, .sink_err = -EPIPE, .count = 5, .end = LOOP_PIPE, .intervals = 2, .says = "" },
		{ .summary_err = -EPIPE, .count = 1, .end = LOOP_PIPE, .intervals = 1, .summaries = 1, .says = "" },
		{ .fail_interval = 1, .sink_err = -ENOSPC, .count = 5, .end = LOOP_FAILED, .intervals = 1,
		  .says = "could not write the output: No space left on device" },
		{ .summary_err = -ENOSPC, .count = 1, .end = LOOP_FAILED, .intervals = 1, .summaries = 1,
		  .says = "could not write the output: No space left on device" },
		{ .fail_read = 3, .fail_err = -EIO, .count = 5, .end = LOOP_FAILED, .intervals = 2, .says = "the engine broke" },
		/* The end of a replay. A live engine never ends that way: whatever it means, no endless loop. */
		{ .fail_read = 2, .fail_err = -ENODATA, .count = 20, .end = LOOP_FAILED, .intervals = 1, .says = NULL },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("case %u\n", i);
		begin(1, true);
		run.fail_interval = cases[i].fail_interval;
		run.fail_read = cases[i].fail_read;
		run.sink_err = cases[i].sink_err;
		run.summary_err = cases[i].summary_err;
		run.fail_err = cases[i].fail_err;
		assert_int_equal(go(0.002, cases[i].count, 0), cases[i].end);
		assert_int_equal(run.intervals, cases[i].intervals);
		assert_int_equal(run.summaries, cases[i].summaries);
		if (cases[i].says)
			assert_string_equal(run.p.text, cases[i].says);
	}
}

/* Reported once, shown once more with what it did until then, then left out. The summary still has it. */
TEST(test_devices_go)
{
	static const struct {
		u32 gone_at[WATCHES];
		u64 count;
		enum loop_end end;
		const char *gone;
		u32 intervals, shown[5], shown_gone[5], summary_reads;
	} cases[] = {
		{ { 0, 2 }, 4, LOOP_DONE, "b", 4, { 0xf, 0xf, 0xd, 0xd }, { 0, 0x2 }, 3 * 4 + 1 },
		/* Both watches of a at once, and b's between them: one call per device. The loop ends when c goes too. */
		{ { 2, 2, 2, 4 }, 10, LOOP_GONE, "abc", 4, { 0xf, 0xf, 0x8, 0x8 }, { 0, 0x7, 0, 0x8 }, 3 * 1 + 3 },
		/* An engine may notice that one watch of a device is gone a read before it notices the other. */
		{ { 2, 0, 3 }, 5, LOOP_DONE, "a", 5, { 0xf, 0xf, 0xe, 0xa, 0xa }, { 0, 0x1, 0x4 }, 2 * 5 + 1 + 2 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(WATCHES, true);
		memcpy(run.gone_at, cases[i].gone_at, sizeof(run.gone_at));
		assert_int_equal(go(0.002, cases[i].count, 0), cases[i].end);
		assert_string_equal(run.gone, cases[i].gone);
		assert_int_equal(run.intervals, cases[i].intervals);
		for (u32 n = 0; n < run.intervals; n++) {
			u32 here = cases[i].shown[n] & ~cases[i].shown_gone[n];

			assert_int_equal(run.shown[n], cases[i].shown[n]);
			assert_int_equal(run.shown_gone[n], cases[i].shown_gone[n]);
			assert_int_equal(run.ios[n], __builtin_popcount(here) * IOS_A_READ);
		}
		assert_int_equal(run.summaries, 1);
		assert_int_equal(run.summary_frames, WATCHES);
		assert_int_equal(run.summary_ios, cases[i].summary_reads * IOS_A_READ);
	}
}

/* No waiting for a clock: stored intervals come as fast as they are read, and have their own length. */
TEST(test_replay)
{
	u64 before = now_ns();

	begin(2, false);
	run.stored = 30;
	assert_int_equal(go(3600, 0, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 30);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, 2 * 30 * IOS_A_READ);
	assert_true(run.interval_s[29] > 7 - 1e-9 && run.interval_s[29] < 7 + 1e-9);
	assert_true(now_ns() - before < 5 * NSEC_PER_SEC);
}

TEST(test_replay_ends_early)
{
	begin(1, false);
	run.stored = 30;
	assert_int_equal(go(1, 4, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 4);
	assert_int_equal(run.summaries, 1);

	begin(1, false);
	run.stored = 30;
	run.signal_at_read = 5;
	assert_int_equal(go(1, 0, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 5);
	assert_int_equal(run.summaries, 1);
}

/* --- someone who watches: heard while the loop waits, and at the end of a replay ------------------------------------ */

struct listener {
	struct loop_input input;
	u32 calls;
	u32 last_call;		/* the call that ends the run; 0: the first one after the summary */
};

static bool on_take(struct loop_input *in)
{
	struct listener *l = (struct listener *)in;

	l->calls++;
	return l->last_call ? l->calls != l->last_call : !run.summaries;
}

static enum loop_end listen(struct listener *l, double interval_s)
{
	const struct loop_config cfg = { .interval_s = interval_s, .percentiles = &percentiles_default, .input = &l->input };

	l->input.take = on_take;
	return loop_run(&run.capture, &run.sink, &cfg, on_gone, &run.p);
}

/* Another process sends SIGIO after @ns. */
static pid_t signal_after(u64 ns)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	sleep_ns(ns);
	kill(parent, SIGIO);
	_exit(0);
}

/* The loop does not wait for the next interval, an hour from now. */
TEST(test_heard_within_an_interval)
{
	struct listener l = { .last_call = 1 };
	u64 before = now_ns();
	pid_t child;

	begin(1, true);
	child = signal_after(100 * MS);
	assert_int_equal(listen(&l, 3600), LOOP_DONE);
	assert_true(now_ns() - before < 20 * NSEC_PER_SEC);
	assert_int_equal(l.calls, 1);
	assert_int_equal(run.intervals, 1);
	assert_int_equal(run.summaries, 1);
	waitpid(child, NULL, 0);
}

/* No signal came, and it is asked all the same: input may have come before anybody listened. */
TEST(test_asked_after_each_interval)
{
	struct listener l = { .last_call = 50 };

	begin(1, true);
	assert_int_equal(listen(&l, 0.01), LOOP_DONE);
	assert_int_equal(l.calls, 50);
	/* It is asked once more if a clock wakes the loop a moment too early, or a device comes to the machine. */
	assert_in_range(run.intervals, 1, 50);
}

/* A stored interval takes as long as the interval asked for. After the summary, it stays until somebody quits. */
TEST(test_a_replay_is_looked_at)
{
	struct listener l = { 0 };
	u64 before = now_ns();
	pid_t child;

	begin(1, false);
	run.stored = 10;
	child = signal_after(1000 * MS);	/* ten intervals of 50 ms, and half a second of waiting */
	assert_int_equal(listen(&l, 0.05), LOOP_DONE);
	assert_true(now_ns() - before > 1000 * MS - 50 * MS);
	assert_int_equal(run.intervals, 10);
	assert_int_equal(run.summaries, 1);
	waitpid(child, NULL, 0);
}
