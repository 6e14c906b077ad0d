// SPDX-License-Identifier: GPL-2.0-only
/* The loop and a command: which starts when, and which ends because of the other. */
#define TEAR_DOWN tear_down
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "live/loop.h"
#include "util/clock.h"

#define MS 1000000ULL

static const struct device device = { .name = "a" };
static struct watch watch = { .device = &device, .stage = BLKLAT_STAGE_DEVICE };

static struct run {
	struct child child;
	u32 signal_at_read;	/* SIGTERM is sent to us during this read; 0: never */
	bool break_down;	/* the second interval can't be written */
	u32 reads, intervals, summaries;
	u64 first_ns, last_ns;	/* clock of the snapshots */
} run;

static int fake_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	(void)c;
	(void)p;
	assert_true(run.reads ? run.child.pid || run.child.ended : !run.child.pid);
	if (run.reads && run.reads == run.signal_at_read)
		kill(getpid(), SIGTERM);
	s->mono_ns = run.last_ns = now_ns();
	if (!run.reads++)
		run.first_ns = s->mono_ns;
	return 0;
}

static int fake_interval(struct sink *s, const struct frames *fs)
{
	(void)s;
	(void)fs;
	return ++run.intervals == 2 && run.break_down ? -ENOSPC : 0;
}

static int fake_summary(struct sink *s, const struct frames *fs)
{
	(void)s;
	(void)fs;
	run.summaries++;
	return 0;
}

static void no_gone(const struct device *d, bool replaced)
{
	(void)d, (void)replaced;
	fail();
}

static void begin(char *script)
{
	static char *argv[] = { "sh", "-c", NULL, NULL };
	const sigset_t none = { 0 };
	struct problem p;

	memset(&run, 0, sizeof(run));
	argv[2] = script;
	/* Events of the machine's own devices may have arrived after the previous loop ended: drop them. */
	signal(SIGIO, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGIO, SIG_DFL);
	assert_int_equal(child_init(&run.child, argv, &p), 0);
	signals_block();
}

static void fake_look(struct capture *c)
{
	(void)c;	/* the machine's own devices may come and go */
}

static enum loop_end go(double interval_s, double duration_s)
{
	static const struct capture_ops fake_capture = { .name = "fake", .read = fake_read };
	static const struct live_ops fake_live = { .look = fake_look };
	static const struct sink_ops fake_sink = { .interval = fake_interval, .summary = fake_summary };
	struct capture capture = {
		.ops = &fake_capture, .watches = &watch, .n_watches = 1, .cpus = 1, .live = &fake_live, .engine = "fake",
	};
	struct sink sink = { .ops = &fake_sink };
	const struct loop_config cfg = {
		.interval_s = interval_s, .duration_s = duration_s, .percentiles = &percentiles_default,
		.child = &run.child,
	};
	struct problem p;

	return loop_run(&capture, &sink, &cfg, no_gone, &p);
}

static int tear_down(void **state)
{
	(void)state;
	child_end(&run.child);
	child_uninit(&run.child);
	return 0;
}

/* It starts after the first read. Its end is the end of the run, at once, with a last interval. */
TEST(test_its_end_is_the_runs)
{
	/* A busy machine may skip an interval, but not most of them. */
	begin("sleep 0.5; exit 4");
	assert_int_equal(go(0.050, 0), LOOP_DONE);
	assert_true(run.child.ended);
	assert_int_equal(child_status(&run.child), 4);
	assert_true(run.intervals >= 3);
	assert_int_equal(run.summaries, 1);
	assert_true(run.last_ns - run.first_ns >= 500 * MS);
}

TEST(test_it_ends_before_an_interval)
{
	u64 before = now_ns();

	begin("exit 0");
	assert_int_equal(go(3600, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 1);
	assert_true(now_ns() - before < 5000 * MS);
}

/* If the run ends otherwise, the command keeps running: whoever started it decides. */
TEST(test_it_lives_on)
{
	begin("exec sleep 60");
	assert_int_equal(go(0.010, 0.025), LOOP_DONE);
	assert_in_range(run.intervals, 1, 3);
	assert_true(run.child.pid > 0 && !run.child.ended && run.child.asked == CHILD_NOT_ASKED);
	child_end(&run.child);
	assert_int_equal(child_status(&run.child), 128 + SIGTERM);
}

TEST(test_it_lives_on_when_writing_fails)
{
	begin("sleep 0.2; exit 7");
	run.break_down = true;
	assert_int_equal(go(0.010, 0), LOOP_FAILED);
	assert_int_equal(run.intervals, 2);
	assert_true(run.child.pid > 0);
	assert_true(child_wait(&run.child, UINT64_MAX));
	assert_int_equal(child_status(&run.child), 7);
}

/* A signal is passed on to the command; the loop goes on until that ends. */
TEST(test_it_gets_the_signals)
{
	begin("trap 'sleep 0.1; exit 6' TERM; while :; do sleep 0.01; done");
	run.signal_at_read = 5;
	assert_int_equal(go(0.020, 0), LOOP_DONE);
	assert_int_equal(child_status(&run.child), 6);
	assert_true(run.intervals >= 5 + 100 / 20);
}

TEST(test_it_can_not_begin)
{
	begin("exit 0");
	free(run.child.path);
	run.child.path = strdup("/no/such/program");
	assert_int_equal(go(1, 0), LOOP_FAILED);
	assert_int_equal(run.child.start_err, -ENOENT);
	assert_int_equal(run.reads, 1);
	assert_int_equal(run.intervals, 0);
	assert_int_equal(run.summaries, 0);
	/* There is no one to end, certainly not the whole process group. */
	child_end(&run.child);
	assert_true(child_wait(&run.child, UINT64_MAX));
	assert_int_equal(run.child.asked, CHILD_NOT_ASKED);
}
