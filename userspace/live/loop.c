// SPDX-License-Identifier: GPL-2.0-only
#include "live/loop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/uevents.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/ending.h"

struct loop {
	struct monitor *monitor;
	struct run_info *info;
	struct sink *sink;
	const struct loop_config *cfg;
	int uevents;			/* -1: not available */
	struct frames run;		/* [place] */
	u32 *places;			/* [number] in the run */
	u32 known;			/* numbers that have, or had, a place */
	u64 done;			/* intervals so far */
	bool any_left;			/* a watched device is there */
	bool exhausted;			/* the replay has ended */
	u64 start_ns, end_ns;		/* CLOCK_MONOTONIC; end_ns: of --duration, or UINT64_MAX */
};

static bool is_live(const struct loop *l)
{
	return l->monitor->capture->live;
}

/* Waits until @deadline_ns, or until something happens. Returns whether the run is to end. */
static bool ends_before(const struct loop *l, u64 deadline_ns)
{
	static const int none[2] = { -1, -1 };
	const int *input = l->cfg->input ? l->cfg->input->fds : none;
	struct child *child = l->cfg->child;
	struct pollfd fds[] = {
		{ .fd = ending_fd(), .events = POLLIN },
		{ .fd = input[0], .events = POLLIN },
		{ .fd = input[1], .events = POLLIN },
		{ .fd = l->uevents, .events = POLLIN },
		{ .fd = child ? child->process : -1, .events = POLLIN },
	};

	poll_until(fds, ARRAY_SIZE(fds), child ? min_u64(deadline_ns, child->firmer_ns) : deadline_ns);
	/* A terminal that went away stays readable. */
	return child ? child_tend(child) : fds[0].revents || fds[1].revents & POLLHUP;
}

/* The same, but handles devices that come and go. Also returns false when another capture is to take over. */
static bool wait_until(struct loop *l, u64 deadline_ns)
{
	bool end;

	do {
		end = ends_before(l, min_u64(deadline_ns, monitor_due_ns(l->monitor)));
		monitor_tend(l->monitor, uevents_take(l->uevents));
		end = end || (l->cfg->input && !l->cfg->input->take(l->cfg->input));
	} while (!end && now_ns() < deadline_ns && !monitor_ends_interval(l->monitor));
	return end;
}

static void loop_uninit(struct loop *l)
{
	if (l->uevents >= 0)
		close(l->uevents);
	frames_uninit(&l->run);
	free(l->places);
}

/* --- an interval, by the numbers of its watches ---------------------------------------------- */

/*
 * Up to so many devices and stages that went away stay in the summary. Further ones take the place of the first of
 * them, as memory must not grow with time.
 */
#define GONE_MOST 64

/* The place of the first of them, if there are enough; run.n: none. */
static u32 place_to_reuse(const struct frames *run)
{
	u32 gone = 0, first = run->n;

	for (u32 i = 0; i < run->n; i += 1 + frames_parts(run, i)) {
		if (!run->f[i].gone)
			continue;
		gone++;
		if (first == run->n || run->f[i].number < run->f[first].number)
			first = i;
	}
	return gone > GONE_MOST ? first : run->n;
}

/* Adds @n watches from @number on to the run, at @place. */
static int add_to_run(struct loop *l, u32 number, u32 n, u32 place)
{
	const struct watch *w = &l->monitor->all[number];

	for (u32 i = 0; i < n; i++)
		l->places[number + i] = place + i;
	if (place == l->run.n)
		return frames_append(&l->run, w, n, number);
	frames_enter(&l->run, w, place, n, number);
	return 0;
}

/* Adds the watches that have come to the run. */
static int take_watches(struct loop *l)
{
	const struct monitor *m = l->monitor;
	int err = 0;
	u32 n;

	l->info->n_watches = m->n_all;
	for (; !err && l->known < m->n_all; l->known += n) {
		u32 place = l->known ? place_to_reuse(&l->run) : 0;

		/* Those that exist from the beginning have their cells in one piece, of which little is touched. */
		n = l->known ? 1 + watch_parts(m->all, m->n_all, l->known) : m->n_all;
		l->run.forgotten += place < l->run.n;
		err = add_to_run(l, l->known, n, place);
	}
	return err;
}

static int loop_init(struct loop *l)
{
	if (is_live(l))
		l->uevents = uevents_open();
	l->run.scale = l->monitor->capture->scale;
	l->places = sparse_calloc(l->monitor->most + 1, sizeof(*l->places));
	return l->places ? take_watches(l) : -ENOMEM;
}

/* Adds the interval to the run. Time does not count for devices that were already gone. */
static void accumulate(struct loop *l)
{
	static const struct percentiles none;	/* the run's percentiles are computed once, at its end */
	const struct frames *interval = &l->monitor->intervals.frames;

	frames_follow_parts(&l->run);
	for (u32 i = 0; i < interval->n; i++) {
		const struct frame *f = &interval->f[i];
		struct frame *run = &l->run.f[l->places[f->number]];

		if (run->number != f->number)
			continue;
		if (!f->gone_before) {
			frame_accumulate(run, f, &none);
			continue;
		}
		run->gone = !f->counts->awaited;
		run->accounting = f->accounting;
	}
	frames_accumulate_rest(&l->run, interval);
}

/* What a failed call of the sink means. It is no error if the reader of a pipe goes away. */
static enum loop_end sink_failed(int err, struct problem *p)
{
	if (err == -EPIPE)
		return LOOP_PIPE;
	problem_set(p, err, "could not write the output: %s", strerror(-err));
	return LOOP_FAILED;
}

/* Does one interval. Returns LOOP_DONE to go on. */
static enum loop_end step(struct loop *l, struct problem *p)
{
	bool more = l->monitor->cfg->capture.follow || !is_live(l);
	int err = monitor_next(l->monitor, l->cfg->percentiles, p);

	if (err) {
		l->exhausted = err == -ENODATA && !is_live(l);
		return l->exhausted ? LOOP_DONE : LOOP_FAILED;
	}
	if (take_watches(l)) {
		problem_set(p, -ENOMEM, "out of memory");
		return LOOP_FAILED;
	}
	accumulate(l);
	err = l->sink->ops->interval(l->sink, &l->monitor->shown);
	if (err)
		return sink_failed(err, p);
	l->done++;
	l->any_left = monitor_tell_gone(l->monitor);
	return l->any_left || more ? LOOP_DONE : LOOP_GONE;
}

static enum loop_end run_live(struct loop *l, struct problem *p)
{
	enum loop_end end = LOOP_DONE;
	bool stop = false;

	while (!stop && end == LOOP_DONE) {
		u64 read_ns = intervals_read_ns(&l->monitor->intervals);
		u64 deadline = intervals_deadline_ns(l->start_ns, read_ns, l->cfg->interval_s);

		stop = wait_until(l, deadline < l->end_ns ? deadline : l->end_ns);
		end = step(l, p);
		stop |= l->cfg->count && l->done >= l->cfg->count;
		stop |= intervals_read_ns(&l->monitor->intervals) >= l->end_ns;
	}
	return end;
}

static enum loop_end run_replay(struct loop *l, struct problem *p)
{
	u64 pace_ns = l->cfg->input ? l->cfg->interval_s * NSEC_PER_SEC : 0;
	enum loop_end end = LOOP_DONE;

	while (end == LOOP_DONE && !l->exhausted && !wait_until(l, now_ns() + pace_ns) &&
	       !(l->cfg->count && l->done >= l->cfg->count))
		end = step(l, p);
	return end == LOOP_DONE && !l->any_left ? LOOP_GONE : end;
}

static enum loop_end run(struct loop *l, struct problem *p)
{
	enum loop_end end;
	int err;

	if (intervals_begin(&l->monitor->intervals, p))
		return LOOP_FAILED;
	/* The command starts only now, so all that it does is in the first interval or later. */
	if (l->cfg->child && child_start(l->cfg->child, p))
		return LOOP_FAILED;
	l->start_ns = intervals_read_ns(&l->monitor->intervals);
	l->end_ns = l->cfg->duration_s > 0 ? l->start_ns + (u64)(l->cfg->duration_s * NSEC_PER_SEC) : UINT64_MAX;
	end = is_live(l) ? run_live(l, p) : run_replay(l, p);
	if (end == LOOP_PIPE || end == LOOP_FAILED)
		return end;
	frames_set_percentiles(&l->run, l->cfg->percentiles);
	err = health_judge_run(&l->run) ?: l->sink->ops->summary(l->sink, &l->run);
	if (err)
		return sink_failed(err, p);
	if (l->exhausted && l->cfg->input)
		wait_until(l, UINT64_MAX);
	return end;
}

enum loop_end loop_run(struct monitor *m, struct run_info *info, struct sink *s, const struct loop_config *cfg,
		       struct problem *p)
{
	struct loop l CLEANUP(loop_uninit) = {
		.monitor = m, .info = info, .sink = s, .cfg = cfg, .uevents = -1, .any_left = true,
	};

	if (loop_init(&l)) {
		problem_set(p, -ENOMEM, "out of memory");
		return LOOP_FAILED;
	}
	return run(&l, p);
}
