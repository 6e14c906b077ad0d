// SPDX-License-Identifier: GPL-2.0-only
#include "live/loop.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/uevents.h"
#include "live/signals.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/ending.h"

struct loop {
	struct capture *capture;
	struct sink *sink;
	const struct loop_config *cfg;
	void (*gone)(const struct device *d, bool replaced);
	int uevents;			/* -1: none to be had */
	struct snapshot snapshots[2];
	u32 now;			/* which of the two is the newer */
	struct frames interval, run;
	struct frames shown;		/* shallow copies of those that are still there */
	u64 done;			/* intervals so far */
	bool exhausted;			/* the replay is at its end */
	u64 start_ns, end_ns;		/* CLOCK_MONOTONIC; end: of --duration, or UINT64_MAX */
};

/* Returns true when the run is to end by a signal, or because the command ended. False at @deadline_ns, or there is news. */
static bool ends_before(const struct loop *l, u64 deadline_ns)
{
	siginfo_t info;
	int number;

	if (l->cfg->child)
		return child_wait(l->cfg->child, deadline_ns);
	do {
		number = signals_wait(deadline_ns, &info);
	} while (number == SIGCHLD);
	if (!number || number == SIGIO)
		return false;
	ending_begin();
	return true;
}

/* The same, and has the engine look at what goes away meanwhile. */
static bool wait_until(const struct loop *l, u64 deadline_ns)
{
	bool end, gone;

	do {
		end = ends_before(l, deadline_ns);
		if (l->uevents >= 0 && uevents_take(l->uevents, &gone) && gone)
			l->capture->live->look(l->capture);
	} while (!end && now_ns() < deadline_ns);
	return end;
}

static void loop_uninit(struct loop *l)
{
	if (l->uevents >= 0)
		close(l->uevents);
	snapshot_uninit(&l->snapshots[0]);
	snapshot_uninit(&l->snapshots[1]);
	frames_uninit(&l->interval);
	frames_uninit(&l->run);
	free(l->shown.f);
}

static int loop_init(struct loop *l)
{
	struct capture *c = l->capture;
	int err = snapshot_init(&l->snapshots[0], c->n_watches, c->scale);

	if (!err)
		err = snapshot_init(&l->snapshots[1], c->n_watches, c->scale);
	if (!err)
		err = frames_init(&l->interval, c->watches, c->n_watches, c->scale);
	if (!err)
		err = frames_init(&l->run, c->watches, c->n_watches, c->scale);
	if (err)
		return err;
	if (c->live)
		l->uevents = uevents_open_signalled();
	snapshot_track(&l->snapshots[0]);
	snapshot_track(&l->snapshots[1]);
	frames_track(&l->interval);
	frames_track(&l->run);
	l->shown.f = calloc(c->n_watches, sizeof(*l->shown.f));
	return l->shown.f ? 0 : -ENOMEM;
}

/* Leaves out what had gone before this interval. */
static void choose_shown(struct loop *l)
{
	const struct snapshot *before = &l->snapshots[!l->now];

	l->shown.n = 0;
	l->shown.now = l->interval.now;
	l->shown.skipped_unexplained = l->interval.skipped_unexplained;
	for (u32 i = 0; i < l->interval.n; i++)
		if (!before->w[i].gone)
			l->shown.f[l->shown.n++] = l->interval.f[i];
}

static bool just_gone(const struct loop *l, u32 i)
{
	return l->snapshots[l->now].w[i].gone && !l->snapshots[!l->now].w[i].gone;
}

/* Has another of its watches gone, earlier or before it in this interval? */
static bool told_before(const struct loop *l, u32 i)
{
	const struct watch *watches = l->capture->watches;
	bool told = false;

	for (u32 j = 0; j < l->capture->n_watches; j++)
		told |= watches[j].device == watches[i].device &&
			(l->snapshots[!l->now].w[j].gone || (j < i && just_gone(l, j)));
	return told;
}

/* Tells of devices that went away, each once whatever its watches. Returns how many watches are left. */
static u32 report_gone(struct loop *l)
{
	const struct watch *watches = l->capture->watches;
	u32 left = 0;

	for (u32 i = 0; i < l->capture->n_watches; i++) {
		left += !l->snapshots[l->now].w[i].gone;
		if (just_gone(l, i) && !told_before(l, i))
			l->gone(watches[i].device, l->snapshots[l->now].w[i].replaced);
	}
	return left;
}

/* What a failed call of the sink means; the reader of a pipe may go whenever it likes. */
static enum loop_end sink_failed(int err, struct problem *p)
{
	if (err == -EPIPE)
		return LOOP_PIPE;
	problem_set(p, err, "could not write the output: %s", strerror(-err));
	return LOOP_FAILED;
}

/* One interval. Returns LOOP_DONE to go on. */
static enum loop_end step(struct loop *l, struct problem *p)
{
	int err;

	l->now = !l->now;
	err = l->capture->ops->read(l->capture, &l->snapshots[l->now], p);
	if (err) {
		l->now = !l->now;
		l->exhausted = err == -ENODATA && !l->capture->live;
		return l->exhausted ? LOOP_DONE : LOOP_FAILED;
	}
	frames_between(&l->interval, &l->snapshots[!l->now], &l->snapshots[l->now], l->cfg->percentiles,
		       l->capture->cpus);
	frames_accumulate(&l->run, &l->interval, l->cfg->percentiles);
	choose_shown(l);
	err = l->sink->ops->interval(l->sink, &l->shown);
	if (err)
		return sink_failed(err, p);
	l->done++;
	return report_gone(l) ? LOOP_DONE : LOOP_GONE;
}

/* The first deadline after now, on the grid of intervals since the start. */
static u64 next_deadline(const struct loop *l)
{
	u64 interval_ns = l->cfg->interval_s * NSEC_PER_SEC;
	u64 elapsed = l->snapshots[l->now].mono_ns - l->start_ns;

	/* A read comes after its deadline, however little. */
	return l->start_ns + (elapsed / interval_ns + 1) * interval_ns;
}

static enum loop_end run_live(struct loop *l, struct problem *p)
{
	enum loop_end end = LOOP_DONE;
	bool stop = false;

	while (!stop && end == LOOP_DONE) {
		u64 deadline = next_deadline(l);

		stop = wait_until(l, deadline < l->end_ns ? deadline : l->end_ns);
		end = step(l, p);
		stop |= l->cfg->count && l->done >= l->cfg->count;
		stop |= l->snapshots[l->now].mono_ns >= l->end_ns;
	}
	return end;
}

static enum loop_end run_replay(struct loop *l, struct problem *p)
{
	enum loop_end end = LOOP_DONE;

	while (end == LOOP_DONE && !l->exhausted && !wait_until(l, 0) &&
	       !(l->cfg->count && l->done >= l->cfg->count))
		end = step(l, p);
	return end;
}

static enum loop_end run(struct loop *l, struct problem *p)
{
	enum loop_end end;
	int err;

	if (l->capture->ops->read(l->capture, &l->snapshots[0], p))
		return LOOP_FAILED;
	/* All that the command does is in the first interval and those after it. */
	if (l->cfg->child && child_start(l->cfg->child, p))
		return LOOP_FAILED;
	l->start_ns = l->snapshots[0].mono_ns;
	l->end_ns = l->cfg->duration_s > 0 ? l->start_ns + (u64)(l->cfg->duration_s * NSEC_PER_SEC) :
					     UINT64_MAX;
	end = l->capture->live ? run_live(l, p) : run_replay(l, p);
	if (end == LOOP_PIPE || end == LOOP_FAILED)
		return end;
	err = l->sink->ops->summary(l->sink, &l->run);
	return err ? sink_failed(err, p) : end;
}

enum loop_end loop_run(struct capture *c, struct sink *s, const struct loop_config *cfg,
		       void (*gone)(const struct device *d, bool replaced), struct problem *p)
{
	struct loop l CLEANUP(loop_uninit) = { .capture = c, .sink = s, .cfg = cfg, .gone = gone, .uevents = -1 };

	if (loop_init(&l)) {
		problem_set(p, -ENOMEM, "out of memory");
		return LOOP_FAILED;
	}
	return run(&l, p);
}
