// SPDX-License-Identifier: GPL-2.0-only
/* What ends the loop: signals, a reader that goes away, a failure, the last device, a replay's last interval. */
#include "loop_fakes.h"

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

/* Reported once, shown once more with what it did until then, then left out. */
TEST(test_one_device_goes)
{
	begin(WATCHES, true);
	run.gone_at[1] = 2;
	assert_int_equal(go(0.002, 4, 0), LOOP_DONE);
	assert_string_equal(run.gone, "b");
	assert_int_equal(run.shown[0], 0xf);
	assert_int_equal(run.shown[1], 0xf);
	assert_int_equal(run.shown[2], 0xd);
	assert_int_equal(run.shown[3], 0xd);
	assert_int_equal(run.shown_gone[0], 0);
	assert_int_equal(run.shown_gone[1], 0x2);
	assert_int_equal(run.ios[2], 3 * IOS_A_READ);
	/* The summary still has it, with its one interval. */
	assert_int_equal(run.summary_frames, WATCHES);
	assert_int_equal(run.summary_ios, (3 * 4 + 1) * IOS_A_READ);
}

/* Both watches of a at once, and b's between them: one call per device. The loop ends when c goes too. */
TEST(test_all_devices_go)
{
	begin(WATCHES, true);
	run.gone_at[0] = run.gone_at[1] = run.gone_at[2] = 2;
	run.gone_at[3] = 4;
	assert_int_equal(go(0.002, 10, 0), LOOP_GONE);
	assert_string_equal(run.gone, "abc");
	assert_int_equal(run.intervals, 4);
	assert_int_equal(run.shown[2], 0x8);
	assert_int_equal(run.shown[3], 0x8);
	assert_int_equal(run.summaries, 1);
	assert_int_equal(run.summary_ios, (3 * 1 + 3) * IOS_A_READ);
}

/* An engine may notice that one watch of a device is gone a read before it notices the other. */
TEST(test_watches_of_one_device_go_apart)
{
	begin(WATCHES, true);
	run.gone_at[0] = 2;
	run.gone_at[2] = 3;
	assert_int_equal(go(0.002, 5, 0), LOOP_DONE);
	assert_string_equal(run.gone, "a");
	assert_int_equal(run.shown[1], 0xf);
	assert_int_equal(run.shown[2], 0xe);
	assert_int_equal(run.shown[3], 0xa);
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
