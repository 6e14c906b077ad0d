/* SPDX-License-Identifier: GPL-2.0-only */
/* A fake engine and a fake sink for the loop between them: what they are to do, and what happened. */
#ifndef TEST_LOOP_FAKES_H
#define TEST_LOOP_FAKES_H

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "live/loop.h"
#include "util/clock.h"

#define MS 1000000ULL

enum { MOST_READS = 64, WATCHES = 4, CELL = 100, IOS_A_READ = 10 };

/* a has two watches that are not adjacent, b and c one each. */
static const struct device devices[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
static struct watch watches[WATCHES] = {
	{ .device = &devices[0], .stage = BLKLAT_STAGE_DEVICE }, { .device = &devices[1], .stage = BLKLAT_STAGE_DEVICE },
	{ .device = &devices[0], .stage = BLKLAT_STAGE_TOTAL }, { .device = &devices[2], .stage = BLKLAT_STAGE_DEVICE },
};

/* What the engine is to do and what happened. Global, so that the callbacks find it. */
static struct run {
	struct capture capture;
	struct sink sink;
	u32 fail_read;			/* this read fails, 0 being the one before the loop; 0: none */
	int fail_err;
	u32 signal_at_read;		/* SIGTERM arrives during this read; 0: never */
	u64 work_ns;			/* what a read takes before it looks at the clock */
	u32 late_read;			/* this read takes late_ns longer */
	u64 late_ns;
	u32 gone_at[WATCHES];		/* the watch is gone from this read on; 0: never */
	u32 stored;			/* replay: number of stored reads */
	u32 fail_interval;		/* this call of the sink fails, counted from 1; 0: none */
	int sink_err, summary_err;

	u32 reads, intervals, summaries;
	u64 mono_ns[MOST_READS];
	double interval_s[MOST_READS];
	u64 ios[MOST_READS];
	u32 shown[MOST_READS];		/* bit i: watch i */
	u32 shown_gone[MOST_READS];	/* the same for those reported as gone */
	u64 summary_ios;
	double summary_s;
	u32 summary_frames;
	char gone[64];			/* names in the order of the calls */
	struct problem p;
} run;

static inline void sleep_ns(u64 ns)
{
	const struct timespec t = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };

	if (ns)
		nanosleep(&t, NULL);
}

static inline void fill(struct watch_counts *w, u32 i, u32 n)
{
	struct op_counts *op = &w->ops[BLKLAT_OP_READ];

	w->gone = run.gone_at[i] && n >= run.gone_at[i];
	if (run.gone_at[i] && n >= run.gone_at[i])
		n = run.gone_at[i] - 1;
	op->hist.octaves = HIST_ALL_OCTAVES;
	op->hist.cells[CELL] = n * IOS_A_READ;
	op->min_ns = op->max_ns = hist_upper_ns(6, CELL);
	op->sum_ns = n * IOS_A_READ * op->max_ns;
	w->started = w->started_after = n * IOS_A_READ;
}

static inline int fake_read(struct capture *c, struct snapshot *s, struct problem *p)
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

static inline int fake_interval(struct sink *s, const struct frames *fs)
{
	u32 n = run.intervals++;

	assert_ptr_equal(s, &run.sink);
	/* Every frame it is shown has the counts behind it. */
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

static inline int fake_summary(struct sink *s, const struct frames *fs)
{
	assert_ptr_equal(s, &run.sink);
	run.summaries++;
	run.summary_frames = fs->n;
	for (u32 i = 0; i < fs->n; i++)
		run.summary_ios += fs->f[i].ops[BLKLAT_OP_READ].ios;
	run.summary_s = fs->f[0].interval_s;
	return run.summary_err;
}

/* The machine's own devices may come and go. */
static inline void fake_look(struct capture *c)
{
	assert_ptr_equal(c, &run.capture);
}

static const struct capture_ops fake_capture = { .name = "fake", .read = fake_read };
static const struct live_ops fake_live = { .look = fake_look };
static const struct sink_ops fake_sink = {
	.interval = fake_interval, .summary = fake_summary,
};

static inline void on_gone(const struct device *d, bool replaced)
{
	(void)replaced;
	strcat(run.gone, d->name);
}

static inline void begin(u32 n_watches, bool live)
{
	memset(&run, 0, sizeof(run));
	run.capture = (struct capture){
		.ops = &fake_capture, .watches = watches, .n_watches = n_watches, .scale = 6, .cpus = 1,
		.live = live ? &fake_live : NULL, .engine = "fake",
	};
	run.sink.ops = &fake_sink;
}

static inline enum loop_end go(double interval_s, u64 count, double duration_s)
{
	const struct loop_config cfg = {
		.interval_s = interval_s, .count = count, .duration_s = duration_s,
		.percentiles = &percentiles_default,
	};

	return loop_run(&run.capture, &run.sink, &cfg, on_gone, &run.p);
}

static inline void check_lengths(void)
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
static __attribute__((constructor)) void block_signals(void)
{
	static const int of_end[] = { SIGINT, SIGTERM, SIGHUP };

	for (u32 i = 0; i < ARRAY_SIZE(of_end); i++)
		signal(of_end[i], SIG_DFL);
	signals_block();
}

#endif
