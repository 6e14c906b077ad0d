// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level changes: a cache is exhausted, a drive begins to clean up, the load changes. They are searched
 * in the logarithms of IOPS and of the median latency, only over intervals in which the op was busy,
 * since neither pauses of the workload nor stalls are levels.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "report/findings_rules.h"
#include "util/array.h"
#include "util/cleanup.h"

#define FACTOR 1.5
#define TOLD_MAX 3		/* if there are more changes, one finding sums them up */
#define SAME_CUT 2		/* a change of IOPS and one of latency are the same if at most this many intervals apart */
#define EVEN 1.2		/* figures that differ by a smaller factor count as unchanged */
#define MATTERS 0.01		/* share of the IOs or bytes from which on another load may be a cause */
#define ABSENT 0.01		/* a load with less than this share of its later rate has not begun yet */

struct trace {
	const struct inquiry *q;
	u32 op;
	const struct series_run *s;
	u32 n;
	u32 *interval;		/* the intervals in which the op was busy */
	double *y;		/* the values that levels are searched in */
	struct weighted *room;	/* for medians */
	u32 cuts[LEVEL_CUTS_MAX];	/* places in interval */
	u32 n_cuts;
};

struct level {
	double iops, bytes_per_s, mean_ns;	/* of one op, or of one owner's IOs of it */
	double p50_ns, queue_depth;		/* of the op that changed; the queue depth is the device's, of all ops */
};

/* Another load on the device, of another op or of one owner, that changed at the same time. */
struct other {
	const struct watch_run *watch;	/* NULL: there is none */
	u32 op;
	struct level before, after;
	double depth_step;	/* by how much its queue depth changed */
};

struct change {
	double at_s, share;
	double rest_s;		/* pause of the workload before the change */
	struct level before, after;
	int iops, mean, latency;	/* 1: rose, -1: fell, 0: about the same; latency: the mean or, if that is, the median */
	struct other cause;	/* the largest of the other loads that can explain it */
	bool alone;		/* no other load changed at the time */
};

static void trace_uninit(struct trace *t)
{
	free(t->interval);
	free(t->y);
	free(t->room);
}

static int trace_init(struct trace *t, const struct inquiry *q, u32 op)
{
	const struct run *r = q->run;

	t->q = q;
	t->op = op;
	t->s = &q->watch->ops[op];
	t->interval = calloc(r->n, sizeof(*t->interval));
	t->y = calloc(r->n, sizeof(*t->y));
	t->room = calloc(r->n, sizeof(*t->room));
	if (!t->interval || !t->y || !t->room)
		return -ENOMEM;
	for (u32 i = 0; i < r->n; i++)
		if (t->s->ios[i] && !q->stalled_s[i] && r->length_s[i] >= r->interval_s / 2)
			t->interval[t->n++] = i;
	return 0;
}

static bool near_a_cut(const struct trace *t, u32 n, u32 cut)
{
	for (u32 i = 0; i < n; i++)
		if (cut + SAME_CUT >= t->cuts[i] && cut <= t->cuts[i] + SAME_CUT)
			return true;
	return false;
}

/* Finds the cuts of IOPS, and adds the cuts of the median latency that differ from these. */
static int find_cuts(struct trace *t)
{
	CLEANUP(cleanup_free) u32 *more = calloc(LEVEL_CUTS_MAX, sizeof(*more));
	int n, of_iops;

	if (!more)
		return -ENOMEM;
	for (u32 i = 0; i < t->n; i++)
		t->y[i] = log(run_iops(t->q->run, t->s->ios, t->interval[i]));
	of_iops = levels_find(t->y, t->n, log(FACTOR), t->cuts);
	if (of_iops < 0)
		return of_iops;
	for (u32 i = 0; i < t->n; i++)
		t->y[i] = log(fmax(series_percentile(t->s, t->interval[i], RUN_P50), 1));
	n = levels_find(t->y, t->n, log(FACTOR), more);
	if (n < 0)
		return n;
	t->n_cuts = of_iops;
	for (int i = 0; i < n && t->n_cuts < LEVEL_CUTS_MAX; i++)
		if (!near_a_cut(t, of_iops, more[i]))
			t->cuts[t->n_cuts++] = more[i];
	qsort(t->cuts, t->n_cuts, sizeof(*t->cuts), compare_u32);
	return 0;
}

/* Rates and mean of @s in the busy intervals [from, to). */
static struct level rates_of(const struct trace *t, const struct series_run *s, u32 from, u32 to)
{
	double ios = 0, bytes = 0, sum_ns = 0, time = 0;

	for (u32 i = from; i < to; i++) {
		u32 at = t->interval[i];

		ios += s->ios[at];
		bytes += s->bytes[at];
		sum_ns += s->sum_ns[at];
		time += t->q->run->length_s[at];
	}
	return (struct level){ .iops = ios / time, .bytes_per_s = bytes / time, .mean_ns = ios > 0 ? fmax(sum_ns / ios, 1) : 0 };
}

/* A level's figures. The intervals in which it changes are left out if it is long enough. */
static struct level level_of(const struct trace *t, u32 level)
{
	const struct run *r = t->q->run;
	u32 from = level ? t->cuts[level - 1] : 0, to = level < t->n_cuts ? t->cuts[level] : t->n;
	struct level l;
	double time = 0, depth = 0;
	u32 n = 0;

	if (to - from > LEVEL_LEAST) {
		from += level > 0;
		to -= level < t->n_cuts;
	}
	for (u32 i = from; i < to; i++) {
		u32 at = t->interval[i];

		time += r->length_s[at];
		depth += t->q->watch->queue_depth[at] * r->length_s[at];
		t->room[n++] = (struct weighted){ series_percentile(t->s, at, RUN_P50), t->s->ios[at] };
	}
	l = rates_of(t, t->s, from, to);
	l.p50_ns = fmax(weighted_median(t->room, n), 1);
	l.queue_depth = depth / time;
	return l;
}

/*
 * The change happened within the interval before the cut or the one after it. The moment is computed
 * from the IOs of both intervals: before it they were done at the old rate, afterwards at the new one.
 */
static void place_change(const struct trace *t, u32 cut, struct change *c)
{
	const struct run *r = t->q->run;
	u32 a = t->interval[cut - 1], b = t->interval[cut];
	double begin = r->start_s[a], end = run_end_of(r, b), ios = t->s->ios[a] + t->s->ios[b], before = 0;

	for (u32 i = 0; i < a; i++)
		before += t->s->ios[i];
	c->at_s = r->start_s[b];
	c->rest_s = b > a + 1 ? r->start_s[b] - run_end_of(r, a) : 0;
	if (c->rest_s || !c->iops) {
		before += t->s->ios[a];
	} else {
		double at_first = (ios - c->after.iops * (end - begin)) / (c->before.iops - c->after.iops);

		at_first = fmin(fmax(at_first, 0), end - begin);
		c->at_s = begin + at_first;
		before += fmin(at_first * c->before.iops, ios);
	}
	c->share = before / t->s->total->ios;
}

static int direction(double before, double after, double factor)
{
	if (after >= before * factor)
		return 1;
	return after * factor <= before ? -1 : 0;
}

/* The mean number of a load's IOs in flight, by Little's law. */
static double depth_of(const struct level *l)
{
	return l->iops * l->mean_ns / NSEC_PER_SEC;
}

/*
 * Sets the loads of @o, whose watch and op are given, before and after its step: where, in the two levels around cut @i, it
 * is farthest ahead of its mean rate or behind it. Returns the step's direction, or 0 if it is small or not near the cut.
 */
static int changed_with(const struct trace *t, u32 i, const struct change *c, struct other *o)
{
	const struct series_run *s = &o->watch->ops[o->op];
	u32 from = i ? t->cuts[i - 1] : 0, to = i + 1 < t->n_cuts ? t->cuts[i + 1] : t->n, step = from;
	double mean = s->ios ? rates_of(t, s, from, to).iops : 0, ahead = 0, most = 0;
	const struct level *larger;
	int way;

	for (u32 k = from; mean && k < to; k++) {
		ahead += s->ios[t->interval[k]] - mean * t->q->run->length_s[t->interval[k]];
		if (fabs(ahead) > most) {
			most = fabs(ahead);
			step = k + 1;
		}
	}
	if (step + SAME_CUT < t->cuts[i] || step > t->cuts[i] + SAME_CUT)
		return 0;
	/* The intervals beside the step may have some of both. */
	o->before = rates_of(t, s, from, step - (step > from + 1));
	o->after = rates_of(t, s, step + (step + 1 < to), to);
	o->depth_step = fabs(depth_of(&o->after) - depth_of(&o->before));
	way = direction(o->before.iops, o->after.iops, FACTOR);
	larger = way > 0 ? &o->after : &o->before;
	return larger->iops >= MATTERS * c->before.iops || larger->bytes_per_s >= MATTERS * c->before.bytes_per_s ? way : 0;
}

/* By cgroup, each owner counts; what the parts don't show, and undivided runs, go by op. */
static void find_cause(const struct trace *t, u32 i, struct change *c)
{
	const struct watch_run *whole = t->q->watch;
	u32 parts = run_parts(t->q->run, whole - t->q->run->watches);

	if (parts && strcmp(whole[1].watch->part->by, by_names[BLKLAT_BY_CGROUP]))
		parts = 0;
	c->alone = true;
	for (u32 p = parts + 1; p-- && (p || !c->cause.watch);)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct other o = { .watch = &whole[p], .op = op };
			int way = op == t->op && !p ? 0 : changed_with(t, i, c, &o);

			/* An owner whose IOs are among those that changed is no other load. */
			if (!way || (op == t->op && way == c->iops))
				continue;
			c->alone = false;
			if (way == c->latency && (!c->cause.watch || o.depth_step > c->cause.depth_step))
				c->cause = o;
		}
}

static struct change change_at(const struct trace *t, u32 i)
{
	struct change c = { .before = level_of(t, i), .after = level_of(t, i + 1) };

	c.iops = direction(c.before.iops, c.after.iops, EVEN);
	c.mean = direction(c.before.mean_ns, c.after.mean_ns, EVEN);
	c.latency = c.mean ?: direction(c.before.p50_ns, c.after.p50_ns, EVEN);
	place_change(t, t->cuts[i], &c);
	find_cause(t, i, &c);
	return c;
}

static void say_other(struct finding *f, const struct other *o)
{
	static const char *const names[BLKLAT_OPS] = { "reads", "writes", "flushes", "discards", "other ops" };
	const struct level *most = o->after.iops > o->before.iops ? &o->after : &o->before;
	char a[UNITS_TEXT], b[UNITS_TEXT];

	finding_say(f, ", when %s", names[o->op]);
	if (most->bytes_per_s > 0)
		finding_say(f, " of %s", units_memory(a, most->bytes_per_s / most->iops));
	if (o->watch->watch->part)
		finding_say(f, " by cgroup %.128s", o->watch->watch->part->label);
	if (o->before.iops < ABSENT * o->after.iops)
		finding_say(f, " began (%s IOPS)", units_short(a, o->after.iops));
	else
		finding_say(f, " %s from %s to %s IOPS", most == &o->after ? "rose" : "fell",
			    units_short(a, o->before.iops), units_short(b, o->after.iops));
}

/* Says what the figures tell about the cause. Whether it is a cache, only the drive knows. */
static void say_cause(struct finding *f, const struct change *c)
{
	int depth = direction(depth_of(&c->before), depth_of(&c->after), FACTOR);
	double times = c->mean ? c->after.mean_ns / c->before.mean_ns : c->after.p50_ns / c->before.p50_ns;
	bool load = depth && depth == c->iops;
	char text[UNITS_TEXT];

	if (c->rest_s)
		finding_say(f, "; a rest of %s came before", units_seconds(text, c->rest_s));
	if (load)
		finding_say(f, ": the load changed");
	else if (c->latency)
		finding_say(f, ": %s times %s by %s latency", units_number(text, fmax(times, 1 / times)),
			    c->latency > 0 ? "slower" : "faster", c->mean ? "mean" : "median");
	if (c->cause.watch)
		say_other(f, &c->cause);
	else if (!load && c->latency > 0 && c->alone)
		finding_say(f, ", as when a cache is exhausted");
}

static void say_change(struct finding *f, const struct trace *t, const struct change *c)
{
	bool fell = c->iops ? c->iops < 0 : c->mean ? c->mean < 0 : c->after.p50_ns < c->before.p50_ns;
	char who[FINDING_WHO], a[UNITS_TEXT], b[UNITS_TEXT], at[UNITS_TEXT], share[UNITS_TEXT];

	finding_who(t->q, t->op, who);
	units_short(a, c->before.iops);
	units_short(b, c->after.iops);
	units_seconds(at, c->at_s);
	units_share(share, c->share);
	if (c->iops)
		finding_say(f, "%s: IOPS %s from %s to %s at %s, after %s of the IOs", who, fell ? "fell" : "rose", a, b,
			    at, share);
	else
		finding_say(f, "%s: %s latency %s at %s, after %s of the IOs, at %s IOPS before and %s after", who,
			    c->mean ? "mean" : "median", fell ? "fell" : "rose", at, share, a, b);
	finding_say(f, "; mean %s before, %s after", units_ns(a, c->before.mean_ns), units_ns(b, c->after.mean_ns));
	finding_say(f, "; p50 %s before, %s after", units_ns(a, c->before.p50_ns), units_ns(b, c->after.p50_ns));
	say_cause(f, c);
}

static void state_rule(struct finding *f)
{
	finding_rule(f, "a step by a factor of 1.5 or more in IOPS or in the median latency, between levels of %d intervals "
		     "or more that scatter by at most half the step; rests and stalls are left out; another load is named if it "
		     "changed by a factor of 1.5 or more at most %d intervals apart", LEVEL_LEAST, SAME_CUT);
}

static void report_change(const struct trace *t, u32 i)
{
	struct finding *f = finding_add(t->q, "level_change", t->op);
	struct change c = change_at(t, i);

	f->from_s = f->to_s = c.at_s;
	finding_value(f, "at_s", c.at_s);
	finding_value(f, "share", c.share);
	finding_value(f, "before_iops", c.before.iops);
	finding_value(f, "after_iops", c.after.iops);
	finding_value(f, "before_mean_ns", c.before.mean_ns);
	finding_value(f, "after_mean_ns", c.after.mean_ns);
	finding_value(f, "before_p50_ns", c.before.p50_ns);
	finding_value(f, "after_p50_ns", c.after.p50_ns);
	finding_value(f, "before_queue_depth", c.before.queue_depth);
	finding_value(f, "after_queue_depth", c.after.queue_depth);
	finding_value(f, "times_slower_by_latency", c.after.mean_ns / c.before.mean_ns);
	finding_value(f, "times_slower_by_iops", c.before.iops / c.after.iops);
	finding_value(f, "rest_s", c.rest_s);
	say_change(f, t, &c);
	state_rule(f);
}

/* Sums up many changes, such as those of a drive that cleans up now and then, or of a load in steps. */
static void report_many(const struct trace *t)
{
	struct finding *f = finding_add(t->q, "level_change", t->op);
	char who[FINDING_WHO], a[UNITS_TEXT], b[UNITS_TEXT], first_s[UNITS_TEXT], last_s[UNITS_TEXT];
	struct level least, most;
	struct change first, last;

	least = most = level_of(t, 0);
	for (u32 i = 1; i <= t->n_cuts; i++) {
		struct level l = level_of(t, i);

		if (l.iops < least.iops)
			least = l;
		if (l.iops > most.iops)
			most = l;
	}
	first = change_at(t, 0);
	last = change_at(t, t->n_cuts - 1);
	f->from_s = first.at_s;
	f->to_s = last.at_s;
	finding_value(f, "changes", t->n_cuts);
	finding_value(f, "first_at_s", first.at_s);
	finding_value(f, "last_at_s", last.at_s);
	finding_value(f, "least_iops", least.iops);
	finding_value(f, "most_iops", most.iops);
	finding_value(f, "least_iops_p50_ns", least.p50_ns);
	finding_value(f, "most_iops_p50_ns", most.p50_ns);
	finding_say(f, "%s: the level changed %u times from %s to %s; the lowest has %s IOPS with a p50 of ",
		    finding_who(t->q, t->op, who), t->n_cuts, units_seconds(first_s, first.at_s),
		    units_seconds(last_s, last.at_s), units_short(a, least.iops));
	finding_say(f, "%s, the highest %s IOPS", units_ns(a, least.p50_ns), units_short(b, most.iops));
	finding_say(f, " with %s", units_ns(a, most.p50_ns));
	state_rule(f);
}

static bool is_at_mark(const struct run *r, double at_s)
{
	for (u32 i = 0; i < r->phases.n; i++)
		if (fmin(fabs(r->phases.p[i].from_s - at_s), fabs(r->phases.p[i].to_s - at_s)) <= SAME_CUT * r->interval_s)
			return true;
	return false;
}

/* Does a phase begin or end at each of several changes? Then they are what the user set, and the phases' figures tell them. */
static bool is_sweep(const struct trace *t)
{
	for (u32 i = 0; i < t->n_cuts; i++)
		if (!is_at_mark(t->q->run, t->q->run->start_s[t->interval[t->cuts[i]]]))
			return false;
	return t->n_cuts > 1;
}

static int find_of_op(const struct inquiry *q, u32 op)
{
	struct trace t CLEANUP(trace_uninit) = { 0 };
	int err = trace_init(&t, q, op) ?: find_cuts(&t);

	if (err || is_sweep(&t))
		return err;
	if (t.n_cuts > TOLD_MAX)
		report_many(&t);
	for (u32 i = 0; t.n_cuts <= TOLD_MAX && i < t.n_cuts; i++)
		report_change(&t, i);
	return 0;
}

int find_level_changes(const struct inquiry *q)
{
	return find_by_op(q, find_of_op);
}

int find_levels(const struct inquiry *q, u32 op, double *ret)
{
	struct trace t CLEANUP(trace_uninit) = { 0 };
	int err = trace_init(&t, q, op) ?: find_cuts(&t), n = 0;

	if (err || !t.n_cuts)
		return err;
	ret[n++] = q->run->start_s[t.interval[0]];
	for (u32 i = 0; i < t.n_cuts && n < FINDINGS_LEVELS_MAX; i++)
		ret[n++] = q->run->start_s[t.interval[t.cuts[i]]];
	return n;
}
