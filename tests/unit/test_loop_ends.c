// SPDX-License-Identifier: GPL-2.0-only
/* What ends the loop: signals, a reader that goes away, a failure, the last device, a replay's last interval. */
#include "loop_fakes.h"

static void test_signals_wait_for_the_loop(void **state)
{
	sigset_t set;

	(void)state;
	sigprocmask(SIG_BLOCK, NULL, &set);
	assert_true(sigismember(&set, SIGTERM) && sigismember(&set, SIGINT) && sigismember(&set, SIGHUP));
}

/* In the middle of an interval of an hour: the part so far is shown, then the summary, once. */
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

/* A signal that comes during a read is noticed at the next wait. */
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

/* -ENODATA is the end of a replay. A live engine never ends that way: whatever it means, no endless loop. */
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

/* Reported once, shown once more with what it did until then, then left out. */
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
	/* The summary still has it, with its one interval. */
	assert_int_equal(run.summary_frames, WATCHES);
	assert_int_equal(run.summary_ios, (3 * 4 + 1) * IOS_A_READ);
}

/* Both watches of a at once, and b's between them: one call per device. The loop ends when c goes too. */
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

/* An engine may notice that one watch of a device is gone a read before it notices the other. */
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

/* No waiting for a clock: stored intervals come as fast as they are read, and have their own length. */
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

int main(void)
{
	static const int of_end[] = { SIGINT, SIGTERM, SIGHUP };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals_wait_for_the_loop),
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

	/* Whoever runs us may have made us ignore them, as nohup(1) does. */
	for (u32 i = 0; i < ARRAY_SIZE(of_end); i++)
		signal(of_end[i], SIG_DFL);
	return cmocka_run_group_tests(tests, block_signals, NULL);
}
