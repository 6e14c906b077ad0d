// SPDX-License-Identifier: GPL-2.0-only
/* Someone who watches: heard while the loop waits, and at the end of a replay. */
#include "loop_fakes.h"

#include <sys/wait.h>

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
	struct listener l = { .last_call = 5 };

	begin(1, true);
	assert_int_equal(listen(&l, 0.01), LOOP_DONE);
	assert_int_equal(l.calls, 5);
	/* A clock may wake the loop a moment too early; then it is asked once more. */
	assert_in_range(run.intervals, 3, 5);
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
