// SPDX-License-Identifier: GPL-2.0-only
/* The loop and a command: which starts when, and which ends because of the other. */
#include "loop_fakes.h"

static struct child child;

/* As the engine's read, which also looks at the command: that starts after the first one. */
static int read_and_look(struct capture *c, struct snapshot *s, struct problem *p)
{
	assert_true(run.reads ? child.pid || child.ended : !child.pid);
	return fake_read(c, s, p);
}

static void begin_with(char *script)
{
	static const struct capture_ops looking = { .name = "fake", .read = read_and_look };
	static char *argv[] = { "sh", "-c", NULL, NULL };
	const sigset_t none = { 0 };

	begin(1, true);
	run.capture.ops = &looking;
	argv[2] = script;
	/* Events of the machine's own devices may have arrived after the previous loop ended: drop them. */
	signal(SIGIO, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGIO, SIG_DFL);
	assert_int_equal(child_init(&child, argv, &run.p), 0);
	signals_block();
}

static enum loop_end go_with(double interval_s, double duration_s)
{
	const struct loop_config cfg = {
		.interval_s = interval_s, .duration_s = duration_s, .percentiles = &percentiles_default, .child = &child,
	};

	enum loop_end end = loop_run(&run.capture, &run.sink, &cfg, on_gone, &run.p);

	assert_string_equal(run.gone, "");
	return end;
}

void tear_down(void)
{
	child_end(&child);
	child_uninit(&child);
	memset(&child, 0, sizeof(child));
}

/* Its end is the end of the run, at once, with a last interval. */
TEST(test_its_end_is_the_runs)
{
	/* A busy machine may skip an interval, but not most of them. */
	begin_with("sleep 0.5; exit 4");
	assert_int_equal(go_with(0.050, 0), LOOP_DONE);
	assert_true(child.ended);
	assert_int_equal(child_status(&child), 4);
	assert_true(run.intervals >= 3);
	assert_int_equal(run.summaries, 1);
	assert_true(run.mono_ns[run.reads - 1] - run.mono_ns[0] >= 500 * MS);
}

TEST(test_it_ends_before_an_interval)
{
	u64 before = now_ns();

	begin_with("exit 0");
	assert_int_equal(go_with(3600, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 1);
	assert_true(now_ns() - before < 5000 * MS);
}

/* If the run ends otherwise, the command keeps running: whoever started it decides. */
TEST(test_it_lives_on)
{
	begin_with("exec sleep 60");
	assert_int_equal(go_with(0.010, 0.025), LOOP_DONE);
	assert_in_range(run.intervals, 1, 3);
	assert_true(child.pid > 0 && !child.ended && child.asked == CHILD_NOT_ASKED);
	child_end(&child);
	assert_int_equal(child_status(&child), 128 + SIGTERM);
}

TEST(test_it_can_not_begin)
{
	begin_with("exit 0");
	free(child.path);
	child.path = strdup("/no/such/program");
	assert_int_equal(go_with(1, 0), LOOP_FAILED);
	assert_int_equal(child.start_err, -ENOENT);
	assert_int_equal(run.reads, 1);
	assert_int_equal(run.intervals, 0);
	assert_int_equal(run.summaries, 0);
	/* There is no one to end, certainly not the whole process group. */
	child_end(&child);
	assert_true(child_wait(&child, UINT64_MAX));
	assert_int_equal(child.asked, CHILD_NOT_ASKED);
}
