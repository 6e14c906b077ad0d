// SPDX-License-Identifier: GPL-2.0-only
#include "live/loop.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/intervals.h"
#include "core/uevents.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/ending.h"

static bool is_ignored(int number)
{
	struct sigaction a;

	return !sigaction(number, NULL, &a) && a.sa_handler == SIG_IGN;
}

void signals_of_end(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(ret, SIGHUP);
}

static void make_set(sigset_t *set)
{
	signals_of_end(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGIO);
}

void signals_block(void)
{
	sigset_t set;

	make_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int signals_wait(u64 deadline_ns, siginfo_t *ret)
{
	sigset_t set;

	make_set(&set);
	for (;;) {
		u64 now = now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
		struct timespec t = { left / NSEC_PER_SEC, left % NSEC_PER_SEC };
		int number = sigtimedwait(&set, ret, &t);

		if (number > 0)
			return number;
		if (errno == EAGAIN)
			return 0;
	}
}

struct loop {
	struct capture *capture;
	struct sink *sink;
	const struct loop_config *cfg;
	void (*gone)(const struct device *d, bool replaced);
	int uevents;			/* -1: not available */
	struct intervals intervals;
	struct frames run;
	struct frames shown;		/* shallow copies of the frames of devices still there */
	u64 done;			/* intervals so far */
	bool exhausted;			/* the replay has ended */
	u64 start_ns, end_ns;		/* CLOCK_MONOTONIC; end_ns: of --duration, or UINT64_MAX */
	u64 look_ns;			/* of the next early look; UINT64_MAX: there is none */
};

/*
 * Returns true if the run is to end by a signal, or because the command ended. Returns false at
 * @deadline_ns, or earlier if a descriptor has news.
 */
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

/* The same, but meanwhile has the engine look: for devices that go away, and early (capture_early_look()). */
static bool wait_until(struct loop *l, u64 deadline_ns)
{
	bool end, gone;

	do {
		end = ends_before(l, min_u64(deadline_ns, l->look_ns));
		if ((l->uevents >= 0 && uevents_take(l->uevents, &gone) && gone) || now_ns() >= l->look_ns) {
			l->capture->live->look(l->capture);
			l->look_ns = capture_early_look(l->start_ns, now_ns());
		}
		end = end || (l->cfg->input && !l->cfg->input->take(l->cfg->input));
	} while (!end && now_ns() < deadline_ns);
	return end;
}

static void loop_uninit(struct loop *l)
{
	if (l->uevents >= 0)
		close(l->uevents);
	intervals_uninit(&l->intervals);
	frames_uninit(&l->run);
	free(l->shown.f);
}

static int loop_init(struct loop *l)
{
	struct capture *c = l->capture;
	int err = intervals_init(&l->intervals, c);

	if (!err)
		err = frames_init(&l->run, c->watches, c->n_watches, c->scale);
	if (err)
		return err;
	if (c->live)
		l->uevents = uevents_open_signalled();
	frames_track(&l->run);
	l->shown.f = calloc(c->n_watches, sizeof(*l->shown.f));
	return l->shown.f ? 0 : -ENOMEM;
}

/* Leaves out devices that were gone before this interval. */
static void choose_shown(struct loop *l)
{
	const struct frames *interval = &l->intervals.frames;
	struct frame *shown = l->shown.f;

	l->shown = *interval;
	l->shown.cells = NULL;
	l->shown.f = shown;
	l->shown.n = 0;
	for (u32 i = 0; i < interval->n; i++)
		if (!interval->f[i].gone_before)
			l->shown.f[l->shown.n++] = interval->f[i];
}

/*
 * Whether the end of the device was already told for another of its watches, in an earlier interval or
 * earlier in this one.
 */
static bool told_before(const struct frames *interval, u32 i)
{
	const struct frame *f = interval->f;
	bool told = false;

	for (u32 j = 0; j < interval->n; j++)
		told |= f[j].watch->device == f[i].watch->device && (f[j].gone_before || (j < i && frame_just_gone(&f[j])));
	return told;
}

/*
 * Tells of devices that went away, once for each device, however many watches it has. Returns how many
 * watches are left.
 */
static u32 report_gone(struct loop *l)
{
	const struct frames *interval = &l->intervals.frames;
	u32 left = 0;

	for (u32 i = 0; i < interval->n; i++) {
		const struct frame *f = &interval->f[i];

		left += !f->gone;
		if (frame_just_gone(f) && !told_before(interval, i))
			l->gone(f->watch->device, f->replaced);
	}
	return left;
}

/* What a failed call of the sink means. That the reader of a pipe goes away is not an error. */
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
	static const struct percentiles none;	/* the run's percentiles are computed once, at its end */
	int err = intervals_next(&l->intervals, l->cfg->percentiles, p);

	if (err) {
		l->exhausted = err == -ENODATA && !l->capture->live;
		return l->exhausted ? LOOP_DONE : LOOP_FAILED;
	}
	frames_accumulate(&l->run, &l->intervals.frames, &none);
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
	u64 elapsed = intervals_read_ns(&l->intervals) - l->start_ns;

	/* A read is always slightly later than its deadline. */
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
		stop |= intervals_read_ns(&l->intervals) >= l->end_ns;
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
	return end;
}

static enum loop_end run(struct loop *l, struct problem *p)
{
	enum loop_end end;
	int err;

	if (intervals_begin(&l->intervals, p))
		return LOOP_FAILED;
	/* The command starts only now, so everything that it does is in the first interval or later ones. */
	if (l->cfg->child && child_start(l->cfg->child, p))
		return LOOP_FAILED;
	l->start_ns = intervals_read_ns(&l->intervals);
	l->look_ns = l->capture->live ? capture_early_look(l->start_ns, l->start_ns) : UINT64_MAX;
	l->end_ns = l->cfg->duration_s > 0 ? l->start_ns + (u64)(l->cfg->duration_s * NSEC_PER_SEC) : UINT64_MAX;
	end = l->capture->live ? run_live(l, p) : run_replay(l, p);
	if (end == LOOP_PIPE || end == LOOP_FAILED)
		return end;
	frames_set_percentiles(&l->run, l->cfg->percentiles);
	err = l->sink->ops->summary(l->sink, &l->run);
	if (err)
		return sink_failed(err, p);
	if (l->exhausted && l->cfg->input)
		wait_until(l, UINT64_MAX);
	return end;
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
