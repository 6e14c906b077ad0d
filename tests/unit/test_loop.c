// SPDX-License-Identifier: GPL-2.0-only
/* When the loop reads: on the grid of its intervals, and as often and as long as asked; what ends it; who is heard. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "live/loop.h"
#include "util/clock.h"
#include "util/ending.h"

/* --- a fake engine and a fake sink for the loop between them: what they are to do, and what happened -------------- */

#define MS 1000000ULL

enum { MOST_READS = 128, WATCHES = 4, CELL = 100, IOS_A_READ = 10 };

/* a has two watches that are not adjacent, b and c one each. */
static const struct device devices[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
static struct watch watches[WATCHES] = {
	{ .device = &devices[0], .stage = BLKLAT_STAGE_DEVICE }, { .device = &devices[1], .stage = BLKLAT_STAGE_DEVICE },
	{ .device = &devices[0], .stage = BLKLAT_STAGE_TOTAL }, { .device = &devices[2], .stage = BLKLAT_STAGE_DEVICE },
};

/* What the engine is to do and what happened. Global, so that the callbacks find it. */
static struct run {
	struct monitor monitor;
	struct capture capture;
	bool follow;
	struct sink sink;
	u32 fail_read;			/* this read fails, 0 being the one before the loop; 0: none */
	int fail_err;
	u32 signal_at_read;		/* SIGTERM arrives during this read; 0: never */
	bool signal_at_look;		/* the same for a look for devices that went away */
	u64 work_ns;			/* what a read takes before it looks at the clock */
	u32 late_read;			/* this read takes late_ns longer */
	u64 late_ns;
	u32 gone_at[WATCHES];		/* the watch is gone from this read on; 0: never */
	u32 since[WATCHES];		/* it was added after so many reads */
	u32 stored;			/* replay: number of stored reads */
	u32 fail_interval;		/* this call of the sink fails, counted from 1; 0: none */
	int sink_err, summary_err;

	u32 reads, intervals, summaries;
	u64 mono_ns[MOST_READS];
	double interval_s[MOST_READS];
	u64 ios[MOST_READS];
	u32 shown[MOST_READS];		/* bit i: watch i */
	u32 shown_gone[MOST_READS];	/* the same for those reported as gone */
	u32 slow[MOST_READS];		/* the same for those with slow IOs */
	u64 summary_ios;
	double summary_s;
	u32 summary_frames, summary_numbers, forgotten;	/* numbers: the sum of the frames' */
	char gone[128];			/* names in the order of the calls */
	struct problem p;
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
	n -= run.since[i];
	hist_clear(&op->hist);
	hist_put(&op->hist, CELL, n * IOS_A_READ);
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
	/* One of the second watch. */
	if (c->slow) {
		slow_ios_clear(c->slow);
		slow_ios_add(c->slow, &(struct slow_io){ .watch = 1 });
	}
	return 0;
}

static int fake_interval(struct sink *s, const struct frames *fs)
{
	u32 n = run.intervals++;

	assert_ptr_equal(s, &run.sink);
	/* Every frame it is shown has the counts behind it. */
	assert_non_null(fs->now);
	assert_int_equal(fs->now->n, run.capture.n_watches);
	assert_int_equal(fs->now->mono_ns, run.mono_ns[run.reads - 1]);
	run.interval_s[n] = fs->interval_s;
	for (u32 i = 0; i < fs->n; i++) {
		run.ios[n] += fs->f[i].ops[BLKLAT_OP_READ].ios;
		run.shown[n] |= 1u << (fs->f[i].watch - run.monitor.all) % 32;
		run.shown_gone[n] |= (u32)fs->f[i].gone << (fs->f[i].watch - run.monitor.all) % 32;
	}
	for (u32 i = 0; i < fs->n; i++)
		run.slow[n] |= (u32)(fs->f[i].slow && fs->f[i].slow->found) << (fs->f[i].watch - run.monitor.all) % 32;
	return run.intervals == run.fail_interval ? run.sink_err : 0;
}

static int fake_summary(struct sink *s, const struct frames *fs)
{
	assert_ptr_equal(s, &run.sink);
	run.summaries++;
	run.summary_frames = fs->n;
	run.forgotten = fs->forgotten;
	for (u32 i = 0; i < fs->n; i++) {
		run.summary_ios += fs->f[i].ops[BLKLAT_OP_READ].ios;
		run.summary_numbers += fs->f[i].number;
	}
	run.summary_s = fs->interval_s;
	return run.summary_err;
}

/* The machine's own devices may come and go. */
static void fake_look(struct capture *c)
{
	assert_ptr_equal(c, &run.capture);
	if (run.signal_at_look)
		kill(getpid(), SIGTERM);
}

static int fake_open(const struct capture_config *cfg, struct capture **ret, struct problem *p);
static void fake_close(struct capture *c);
static const struct capture_ops fake_capture = { .name = "fake", .open = fake_open, .read = fake_read, .close = fake_close };
static void fake_set_slow(struct capture *c, const u64 *from_ns)
{
	assert_int_equal(from_ns[(c->n_watches - 1) * BLKLAT_OPS], 1000);
}

static const struct live_ops fake_live = { .look = fake_look, .set_slow = fake_set_slow };
static const struct sink_ops fake_sink = {
	.interval = fake_interval, .summary = fake_summary,
};

static void on_gone(void *into, const struct device *d, bool replaced)
{
	(void)into, (void)replaced;
	strcat(run.gone, d->name);
}

static int fake_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	(void)cfg, (void)p;
	*ret = &run.capture;
	return 0;
}

static void fake_close(struct capture *c)
{
	assert_ptr_equal(c, &run.capture);
}

static void begin(u32 n_watches, bool live)
{
	struct ending_signal before;

	while (ending_take(&before))
		;
	memset(&run, 0, sizeof(run));
	run.capture = (struct capture){
		.ops = &fake_capture, .watches = watches, .n_watches = n_watches, .room = WATCHES, .scale = 6, .cpus = 1,
		.live = live ? &fake_live : NULL, .engine = "fake",
	};
	run.sink.ops = &fake_sink;
}

/* No devices are looked for, as if it was a replay. */
static enum loop_end go_with(const struct loop_config *cfg)
{
	const struct monitor_config of = {
		.engine = &fake_capture, .capture = { .follow = run.follow, .replay_file = "" }, .hooks.gone = on_gone,
	};
	struct run_info info;
	enum loop_end end;

	assert_int_equal(monitor_open(&run.monitor, &of, &run.p), 0);
	info = monitor_run_info(&run.monitor, cfg->interval_s);
	end = loop_run(&run.monitor, &info, &run.sink, cfg, &run.p);
	assert_int_equal(info.n_watches, run.monitor.n_all);
	monitor_close(&run.monitor);
	return end;
}

static enum loop_end go(double interval_s, u64 count, double duration_s)
{
	const struct loop_config cfg = {
		.interval_s = interval_s, .count = count, .duration_s = duration_s,
		.percentiles = &percentiles_default,
	};

	return go_with(&cfg);
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

/* Before all tests. Whoever runs us may have made us ignore those that end a run, as nohup(1) does. */
static __attribute__((constructor)) void catch_signals(void)
{
	signal(SIGHUP, SIG_DFL);
	if (ending_catch(true))
		abort();
}

/* --- when it reads ---------------------------------------------------------------------------------------------------- */

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
 * Each read takes two milliseconds. A loop that waits a whole interval after a read drifts by as much, so its last reads
 * are 14 ms and more behind the grid; of a good one's, some are still punctual even on a busy machine.
 */
TEST(test_deadlines_do_not_drift)
{
	u64 late_ns, least_ns = UINT64_MAX;

	begin(1, true);
	run.work_ns = 2 * MS;
	assert_int_equal(go(0.080, 12, 0), LOOP_DONE);
	for (u32 n = 1; n <= 12; n++) {
		assert_true(grid(n, 80 * MS, &late_ns) > grid(n - 1, 80 * MS, &late_ns));
		grid(n, 80 * MS, &late_ns);
		if (n > 6 && late_ns < least_ns)
			least_ns = late_ns;
	}
	assert_true(least_ns < 10 * MS);	/* less than 2 ms: late by a whole interval */
	check_lengths();
}

/* One read is two and a half intervals late: the points it missed are skipped, the next one is kept. */
TEST(test_late_read)
{
	u64 late_ns, after;

	begin(1, true);
	run.late_read = 3;
	run.late_ns = 50 * MS;
	assert_int_equal(go(0.020, 6, 0), LOOP_DONE);
	assert_true(grid(3, 20 * MS, &late_ns) >= 5);
	after = grid(4, 20 * MS, &late_ns);
	assert_true(after > grid(3, 20 * MS, &late_ns));
	assert_true(run.mono_ns[4] - run.mono_ns[0] >= after * 20 * MS);
	assert_true(run.interval_s[2] >= 0.050);	/* it says its true length */
	check_lengths();
}

TEST(test_durations)
{
	static const struct { double interval_s; u64 count; double duration_s; u32 most; } cases[] = {
		{ 0.040, 0, 0.100, 3 },		/* the last ends the duration, between two points */
		{ 0.050, 0, 0.150, 3 },		/* no fourth of length 0 */
		{ 3600, 0, 0.030, 1 }, { 0.005, 2, 60, 2 },
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
			assert_true(run.interval_s[n] > 0);
		assert_int_equal(run.summaries, 1);
		assert_int_equal(run.summary_ios, run.intervals * IOS_A_READ);
		check_lengths();
	}
}

/* --- its end: signals, a reader that goes away, a failure, the last device, a replay's last interval ---------------- */

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
	assert_true(run.interval_s[0] > 0 && run.interval_s[0] < 60);	/* a busy machine begins late */
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

/* What the monitor has to do, as the early looks of its first 100 ms, does not wait for the end of an interval. */
TEST(test_monitor_is_tended_meanwhile)
{
	begin(1, true);
	run.signal_at_look = true;
	assert_int_equal(go(20, 0, 0), LOOP_DONE);
	assert_int_equal(run.intervals, 1);
	assert_true(run.interval_s[0] < 20);
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
		/* Without a device it waits for others, if they may come. */
		{ { 2, 2, 2, 2 }, 5, LOOP_DONE, "abc", 5, { 0xf, 0xf }, { 0, 0xf }, 4 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(WATCHES, true);
		run.follow = cases[i].end == LOOP_DONE;
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

/* After the third interval b, which is gone, is replaced, and another one is added. */
static bool come(struct loop_input *in)
{
	static const struct device d = { .name = "d" }, e = { .name = "e" };

	(void)in;
	if (run.intervals != 3 || run.since[1])
		return true;
	watches[1].device = &d;
	watches[3].device = &e;
	run.gone_at[1] = 0;
	run.since[1] = run.since[3] = run.reads - 1;
	intervals_enter(&run.monitor.intervals, 1, 1);
	run.capture.n_watches = 4;
	intervals_enter(&run.monitor.intervals, 3, 1);
	return true;
}

/* Devices that come are watches of their own, with slow IOs of their own; those before them stay in the summary. */
TEST(test_devices_come)
{
	static const u32 shown[] = { 0x7, 0x7, 0x5, 0x1d, 0x1d }, slow[] = { 0x2, 0x2, 0, 0x8, 0x8 };
	struct loop_input input = { .fds = { -1, -1 }, .take = come };
	const struct loop_config cfg = { .interval_s = 0.002, .count = 5, .percentiles = &percentiles_default, .input = &input };
	struct watch before[WATCHES];
	struct slow_ios found;

	memcpy(before, watches, sizeof(before));
	begin(3, true);
	run.follow = true;
	run.gone_at[1] = 2;
	assert_int_equal(slow_ios_init(&found, WATCHES, 3), 0);
	run.capture.slow = &found;
	run.capture.slow_wanted = (struct slow_wanted){ .wanted = true, .from_ns = 1000 };
	assert_int_equal(go_with(&cfg), LOOP_DONE);
	memcpy(watches, before, sizeof(before));
	slow_ios_uninit(&found);
	assert_string_equal(run.gone, "b");
	for (u32 i = 0; i < ARRAY_SIZE(shown); i++) {
		assert_int_equal(run.shown[i], shown[i]);
		assert_int_equal(run.slow[i], slow[i]);
		assert_int_equal(run.ios[i], (__builtin_popcount(shown[i]) - (i == 1)) * IOS_A_READ);
	}
	assert_int_equal(run.summary_frames, 5);
	assert_int_equal(run.summary_ios, (2 * 5 + 1 + 2 * 2) * IOS_A_READ);
}

/* In each interval one comes and goes. */
static bool come_and_go(struct loop_input *in)
{
	(void)in;
	if (run.gone_at[1] == run.reads)
		return true;
	run.gone_at[1] = run.reads;
	run.since[1] = run.reads - 2;
	intervals_enter(&run.monitor.intervals, 1, 1);
	return true;
}

/* The summary has the last 64 that went away, and one more; it tells how many it does not have. */
TEST(test_many_come_and_go)
{
	struct loop_input input = { .fds = { -1, -1 }, .take = come_and_go };
	const struct loop_config cfg = { .interval_s = 0.001, .count = 80, .percentiles = &percentiles_default, .input = &input };

	begin(3, true);
	run.follow = true;
	run.reads = 1;	/* so that a read came before each */
	assert_int_equal(go_with(&cfg), LOOP_DONE);
	assert_int_equal(run.summary_frames, 3 + 65);
	assert_int_equal(run.forgotten, 80 - 65);
	assert_int_equal(run.summary_numbers, 0 + 1 + 2 + 65 * (18 + 82) / 2);	/* from 18 to 82: the last 65 */
	assert_int_equal(run.summary_ios, (2 * 80 + 65) * IOS_A_READ);
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
	u64 typed;

	while (read(in->fds[0], &typed, sizeof(typed)) == sizeof(typed))
		;
	l->calls++;
	return l->last_call ? l->calls != l->last_call : !run.summaries;
}

static enum loop_end listen(struct listener *l, double interval_s)
{
	const struct loop_config cfg = { .interval_s = interval_s, .percentiles = &percentiles_default, .input = &l->input };

	l->input.fds[1] = -1;
	l->input.take = on_take;
	return go_with(&cfg);
}

/* Something can be read after each @ms. */
static void type_each(struct listener *l, u32 ms)
{
	const struct itimerspec each = { .it_interval.tv_nsec = ms * MS, .it_value.tv_nsec = ms * MS };

	l->input.fds[0] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	assert_int_equal(timerfd_settime(l->input.fds[0], 0, &each, NULL), 0);
}

/* The loop does not wait for the next interval, an hour from now. */
TEST(test_heard_within_an_interval)
{
	struct listener l = { .last_call = 1 };
	u64 before = now_ns();

	begin(1, true);
	type_each(&l, 100);
	assert_int_equal(listen(&l, 3600), LOOP_DONE);
	assert_true(now_ns() - before < 20 * NSEC_PER_SEC);
	assert_int_equal(l.calls, 1);
	assert_int_equal(run.intervals, 1);
	assert_int_equal(run.summaries, 1);
	close(l.input.fds[0]);
}

/* Nothing was typed, and it is asked all the same: input may have come before anybody listened. */
TEST(test_asked_after_each_interval)
{
	struct listener l = { .last_call = 50, .input.fds[0] = -1 };

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

	begin(1, false);
	run.stored = 10;
	type_each(&l, 999);	/* ten intervals of 50 ms, and half a second of waiting; longer if the machine is slow */
	assert_int_equal(listen(&l, 0.05), LOOP_DONE);
	assert_true(now_ns() - before > 999 * MS - 50 * MS);
	assert_int_equal(run.intervals, 10);
	assert_int_equal(run.summaries, 1);
	close(l.input.fds[0]);
}

/* --- a command: it starts after the first read, and its end is the run's, at once, with a last interval ------------------ */

static struct child child;

static int read_and_look(struct capture *c, struct snapshot *s, struct problem *p)
{
	assert_true(run.reads ? child.pid || child.ended : !child.pid);
	return fake_read(c, s, p);
}

TEST(test_a_command)
{
	static const struct capture_ops looking = { .name = "fake", .read = read_and_look };
	static char *argv[] = { "sh", "-c", "sleep 0.1; exit 4", NULL };
	const struct loop_config cfg = { .interval_s = 3600, .percentiles = &percentiles_default, .child = &child };

	begin(1, true);
	run.capture.ops = &looking;
	assert_int_equal(child_init(&child, argv, &run.p), 0);
	assert_int_equal(go_with(&cfg), LOOP_DONE);
	assert_int_equal(child_status(&child), 4);
	assert_int_equal(run.intervals, 1);
	assert_int_equal(run.summaries, 1);
	assert_true(run.interval_s[0] < 60);
	child_uninit(&child);
}
