// SPDX-License-Identifier: GPL-2.0-only
#include "report/run.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cleanup.h"

#define GAP_S 1e-6	/* consecutive intervals are closer than this; their ends are rounded */

/* Intervals that are being merged into one of the run's. */
struct held {
	u32 n;
	struct run_span where;
	struct frames sum;		/* [watch]; interval_s is 0 for watches without a frame. Reused */
	struct frames shown;		/* shallow copies of those with a frame */
};

struct collect {
	struct sink sink;
	struct run *run;
	struct held held;
};

/* Adds the frame of one watch. */
static void hold_frame(struct frame *sum, const struct frame *f)
{
	static const struct percentiles none;
	u64 tag_range = sum->tag_range + f->tag_range;
	bool first = !(sum->interval_s > 0);

	frame_accumulate(sum, f, &none);
	sum->tag_range = tag_range;
	if (first)
		sum->gone_before = f->gone_before;
}

/* Adds the held intervals to the run, as one. */
static int let_go(struct collect *c)
{
	struct held *h = &c->held;
	int err;

	if (!h->n)
		return 0;
	h->shown.n = 0;
	for (u32 i = 0; i < h->sum.n; i++)
		if (h->sum.f[i].interval_s > 0)
			h->shown.f[h->shown.n++] = h->sum.f[i];
	err = run_add_at(c->run, &h->where, &h->shown);
	for (u32 i = 0; i < h->sum.n; i++)
		if (h->sum.f[i].interval_s > 0)
			frame_clear(&h->sum.f[i]);
	h->n = 0;
	return err;
}

/*
 * Whether the interval at @where must not be merged with those held: a phase begins or ends within it
 * or, unless none is held yet, at its begin; or there is a gap before it.
 */
static bool stands_apart(const struct collect *c, const struct run_span *where)
{
	const struct held *h = &c->held;
	double slack_s = where->length_s * PHASES_SLACK, end_s = where->start_s + where->length_s;

	return where->start_s > h->where.start_s + h->where.length_s + GAP_S ||
	       phases_divide(&c->run->phases, h->where.start_s + slack_s, end_s - slack_s);
}

/*
 * Holds the interval until there are enough to merge. An interval that a mark divides, or the last one
 * of a device, is not merged with those behind it.
 */
static int hold(struct collect *c, const struct run_span *where, const struct frames *interval)
{
	struct held *h = &c->held;
	double slack_s = where->length_s * PHASES_SLACK;
	int err = h->n && stands_apart(c, where) ? let_go(c) : 0;
	bool gone = false;

	if (err)
		return err;
	if (!h->n)
		h->where = *where;
	h->where.length_s = where->start_s + where->length_s - h->where.start_s;
	for (u32 i = 0; i < interval->n; i++)
		hold_frame(&h->sum.f[interval->f[i].watch - h->sum.f[0].watch], &interval->f[i]);
	h->shown.skipped_unexplained = interval->skipped_unexplained;
	h->n++;
	for (u32 i = 0; i < interval->n; i++)
		gone |= frame_just_gone(&interval->f[i]);
	if (h->n < c->run->merged && !gone &&
	    !phases_divide(&c->run->phases, where->start_s + slack_s, where->start_s + where->length_s - slack_s))
		return 0;
	return let_go(c);
}

static int collect_interval(struct sink *s, const struct frames *interval)
{
	struct collect *c = (struct collect *)s;
	struct run_span where;
	int err = 0;

	if (run_place(c->run, interval, &where))
		err = run_add_halts(c->run, &where, interval) ?:
		      c->run->merged > 1 ? hold(c, &where, interval) : run_add_at(c->run, &where, interval);
	return err ?: run_add_slow(c->run, interval);
}

static int collect_summary(struct sink *s, const struct frames *run)
{
	struct collect *c = (struct collect *)s;
	int err = let_go(c);

	(void)run;
	if (!err)
		run_finish(c->run);
	return err;
}

static void collect_close(struct sink *s)
{
	struct collect *c = (struct collect *)s;

	frames_uninit(&c->held.sum);
	free(c->held.shown.f);
	free(c);
}

static const struct sink_ops collect_ops = {
	.interval = collect_interval,
	.summary = collect_summary,
	.close = collect_close,
};

int collect_open(const struct run_info *info, const struct collect_how *how, struct run *into, struct sink **ret)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->sink.ops = &collect_ops;
	c->run = into;
	c->held.shown.f = calloc(info->n_watches ?: 1, sizeof(*c->held.shown.f));
	if (run_init(into, info, how) || !c->held.shown.f ||
	    (into->merged > 1 && frames_init(&c->held.sum, info->watches, info->n_watches, info->scale))) {
		collect_close(&c->sink);
		return -ENOMEM;
	}
	*ret = &c->sink;
	return 0;
}
