// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level changes: a cache is exhausted, a drive begins to clean up, the load changes, a tail grows. Decides what
 * changed, which changes belong together, and which are told.
 */
#include "report/findings_levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define CACHE 2.0		/* times slower, at least, without one */
#define TOLD_MAX 3		/* if there are more changes without a culprit, one finding sums them up */
#define TURNS_LEAST 4		/* changes */

static void place_change(const struct trace *t, u32 cut, struct change *c)
{
	const struct run *r = t->q->run;
	u32 a = t->interval[cut - 1], b = t->interval[cut];
	double begin = r->start_s[a], before = 0;

	for (u32 i = 0; i < a; i++)
		before += t->s->ios[i];
	c->at_s = r->start_s[b];
	for (u32 i = a + 1; i < b; i++)
		c->rest_s += t->q->stalled_s[i] ? 0 : r->length_s[i];
	if (b > a + 1 || !c->iops || c->ramp.to) {
		before += t->s->ios[a];
	} else {
		c->at_s = moment_of(t, t->s->ios, cut, c->before.iops, c->after.iops);
		before += fmin((c->at_s - begin) * c->before.iops, t->s->ios[a] + t->s->ios[b]);
	}
	c->share = before / t->s->total->ios;
}

int direction(double before, double after, double factor)
{
	if (after >= before * factor)
		return 1;
	return after * factor <= before ? -1 : 0;
}

double depth_of(const struct level *l)
{
	return l->iops * l->mean_ns / NSEC_PER_SEC;
}

u32 shown_by(const struct change *c)
{
	return c->p50 == c->latency ? RUN_P50 : c->tail;
}

bool change_is_load(const struct change *c)
{
	int depth = direction(depth_of(&c->before), depth_of(&c->after), FACTOR);

	return depth && (depth == c->iops || (c->keeps_depth && !c->iops));
}

double mean_bytes(const struct level *l)
{
	return l->bytes_per_s / l->iops;
}

bool is_resized(const struct level *before, const struct level *after)
{
	return before->bytes_per_s > 0 && after->bytes_per_s > 0 &&
	       direction(mean_bytes(before), mean_bytes(after), FACTOR);
}

bool change_is_resized(const struct change *c)
{
	return is_resized(&c->before, &c->after);
}

bool change_has_culprit(const struct change *c)
{
	return c->cause.watch && c->cause.sure && c->latency > 0 &&
	       (c->cause.harms || (!change_is_load(c) && !change_is_resized(c)));
}

bool change_is_tail(const struct change *c)
{
	return c->tail && !c->iops && !c->p50;
}

bool change_is_cache(const struct change *c)
{
	double mean = c->after.mean_ns / c->before.mean_ns, p50 = c->after.ns[RUN_P50] / c->before.ns[RUN_P50];

	return c->alone && !c->ramp.to && p50 >= fmax(EVEN, sqrt(mean)) && mean >= CACHE && !c->cause.watch &&
	       !change_is_load(c) && !change_is_resized(c) && (c->iops < 0 || depth_of(&c->before) < 1) &&
	       c->span[1].to - c->span[1].from >= LEVEL_LEAST;
}

bool change_is_worse(const struct change *c)
{
	return change_has_culprit(c) || (c->latency > 0 && !change_is_load(c) && !change_is_resized(c));
}

/* A few IOs that took very long may move the mean the other way; so may a tail, of which a rise is told first. */
static int direction_of_latency(const struct change *c)
{
	int tail = c->tail ? direction(c->before.ns[c->tail], c->after.ns[c->tail], FACTOR) : 0;
	double mean = log(c->after.mean_ns / c->before.mean_ns),
	       p50 = log(c->after.ns[RUN_P50] / c->before.ns[RUN_P50]);

	if (change_is_tail(c))
		return tail;
	if (c->p50 == -c->mean && fabs(p50) > fabs(mean) && c->p50 &&
	    !(tail > 0 && c->mean > 0 && c->after.ns[c->tail] > c->before.ns[c->tail] * exp(fabs(p50))))
		return c->p50;
	return c->mean ?: c->p50 ?: tail;
}

void change_compare(const struct trace *t, struct change *c)
{
	c->before = figures_of(t, t->s, c->span[0]);
	c->after = figures_of(t, t->s, c->span[1]);
	c->iops = direction(c->before.iops, c->after.iops, EVEN);
	c->mean = direction(c->before.mean_ns, c->after.mean_ns, EVEN);
	c->p50 = direction(c->before.ns[RUN_P50], c->after.ns[RUN_P50], EVEN);
	/* One that goes the way of the mean, if any does. */
	for (u32 p = PERCENTILES_OVER_TIME; --p > RUN_P50;) {
		int way = t->backed[p] ? direction(c->before.ns[p], c->after.ns[p], FACTOR) : 0;

		if (way && (!c->mean || way == c->mean || !c->tail ||
			    direction(c->before.ns[c->tail], c->after.ns[c->tail], FACTOR) != c->mean))
			c->tail = p;
	}
	c->latency = direction_of_latency(c);
	c->keeps_depth = direction(c->before.queue_depth, c->after.queue_depth, FACTOR) ==
			 direction(depth_of(&c->before), depth_of(&c->after), FACTOR);
	for (const struct span *in = c->span; in < c->span + 2; in++)
		c->keeps_depth &= depth_scatter(t->q->run, t->q->watch, t->interval[in->from],
						t->interval[in->to - 1] + 1) < KEEPS_DEPTH;
}

/* Away from marks, a change is told by intervals of its own phase: the user changes figures from one to the next. */
static void keep_to_phase(const struct trace *t, u32 cut, struct change *c)
{
	const struct run *r = t->q->run;
	double at_s = r->start_s[t->interval[cut]];

	for (const struct phase *p = r->phases.p; p < r->phases.p + r->phases.n && !run_has_mark_at(r, at_s); p++) {
		if (at_s < p->from_s || at_s >= p->to_s)
			continue;
		while (c->span[0].from + 1 < c->span[0].to && r->start_s[t->interval[c->span[0].from]] < p->from_s)
			c->span[0].from++;
		while (c->span[1].from + 1 < c->span[1].to && run_end_of(r, t->interval[c->span[1].to - 1]) > p->to_s)
			c->span[1].to--;
	}
}

/* Whether only a percentile has a step there, while the mean drifts from one level to the other. */
static bool drifts(const struct trace *t, const struct change *c)
{
	const struct level before = rates_of(t, t->s, c->near[0]), after = rates_of(t, t->s, c->near[1]);
	double all = log(rates_of(t, t->s, c->span[1]).mean_ns / rates_of(t, t->s, c->span[0]).mean_ns);

	return fabs(all) >= log(FACTOR) && !direction(before.iops, after.iops, FACTOR) &&
	       fabs(log(after.mean_ns / before.mean_ns)) < fmin(fabs(all) / 2, log(FACTOR));
}

struct change change_at(const struct trace *t, u32 i)
{
	struct change c = { .span = { { 0 }, trace_span(t, i + 1) } };
	u32 first = i;

	while (first && trace_handover(t, t->cuts[first]))
		first--;
	c.span[0] = trace_span(t, first);
	keep_to_phase(t, t->cuts[i], &c);
	c.near[0] = (struct span){ max_u64(c.span[0].from + NEAR, c.span[0].to) - NEAR, c.span[0].to };
	c.near[1] = (struct span){ c.span[1].from, min_u64(c.span[1].from + NEAR, c.span[1].to) };
	c.local = first == i && drifts(t, &c);
	if (c.local)
		memcpy(c.span, c.near, sizeof(c.span));
	for (u32 k = 0; k < t->n_shorts; k++)
		if (t->shorts[k] == t->cuts[i])
			c.lasts_s = run_end_of(t->q->run, t->interval[t->cuts[i + 1] - 1]) -
				    t->q->run->start_s[t->interval[t->cuts[i]]];
	if (c.lasts_s)	/* what was long before is no part of it */
		c.span[0] = (struct span){ max_u64(c.span[0].from + SHORT_APART, t->cuts[i]) - SHORT_APART, t->cuts[i] };
	change_compare(t, &c);
	/* The load began somewhere within its first interval. */
	if (c.span[0].to == 1 && t->interval[0] && c.iops > 0) {
		c.before.bytes_per_s *= c.after.iops / c.before.iops;
		c.before.iops = c.after.iops;
		c.iops = 0;
	}
	if (trace_end_of(t, t->cuts[i]) > t->cuts[i])
		c.ramp = (struct span){ t->cuts[i], trace_end_of(t, t->cuts[i]) };
	place_change(t, t->cuts[i], &c);
	/* So few intervals have more or fewer IOs by chance. */
	if (c.lasts_s)
		c.iops = direction(c.before.iops, c.after.iops, FACTOR);
	find_cause(t, i, &c);
	if (first < i)
		c.at_s = c.cause.at_s = trace_handover(t, t->cuts[i])->at_s;
	return c;
}

/* Adds cuts where the cause of a change ends and another load begins, while the op stays slow. */
static void add_handovers(struct trace *t)
{
	for (u32 i = 0; i < t->n_cuts && t->n_cuts < LEVEL_CUTS_MAX; i++) {
		const struct change c = change_at(t, i);
		const struct handover h = handover_of(t, i, &c);

		if (!h.cut)
			continue;
		memmove(&t->cuts[i + 2], &t->cuts[i + 1], (t->n_cuts - i - 1) * sizeof(*t->cuts));
		t->handovers[t->n_handovers++] = h;
		t->cuts[i + 1] = h.cut;
		t->n_cuts++;
	}
}

/*
 * Whether change @i of @n is one of those for the worse, each to the same level but for the last one, which the run
 * may cut off, and for the better in turn.
 */
static bool is_turn(const struct change *all, u32 n, u32 i)
{
	const struct change *c = &all[i];
	double period_s = (all[(n - 1) & ~1U].at_s - all[0].at_s) / ((n - 1) / 2);
	u32 p = all[0].tail;	/* or the median */

	if (c->lasts_s || change_has_culprit(c) ||
	    fabs(c->at_s - all[i % 2].at_s - i / 2 * period_s) > REGULAR * period_s)
		return false;
	return i % 2 ? c->latency < 0
		     : change_is_worse(c) && (i + 1 == n || !direction(c->after.ns[p], all[0].after.ns[p], FACTOR));
}

/* Where an op is slower for regular times of one length, sets how long: they are told together, like short rises. */
static void find_turns(struct change *all, u32 n)
{
	u32 first = n && all[0].latency < 0, m = 0;

	all += first;
	n -= first;
	while (n >= TURNS_LEAST && m < n && is_turn(all, n, m))
		m++;
	for (u32 i = 0; i < n && m == n; i += 2)
		all[i].lasts_s = all[1].at_s - all[0].at_s;
}

/* How many changes are short rises of the same, or dips alike, each with its end. The last may end with the run. */
static u32 gather_shorts(const struct change *all, u32 n)
{
	u32 m = 0;

	while (m < n && all[m].lasts_s && all[m].latency == all[0].latency && !change_has_culprit(&all[m]) &&
	       change_is_tail(&all[m]) == change_is_tail(&all[0]) &&
	       (all[m].latency > 0 || (!direction(all[m].lasts_s, all[0].lasts_s, FACTOR) &&
				       !direction(all[m].after.mean_ns, all[0].after.mean_ns, FACTOR))))
		m += m + 1 < n ? 2 : 1;
	return m ?: 1;
}

bool change_have_one_cause(const struct change *a, const struct change *b)
{
	return a->cause.watch && a->cause.watch == b->cause.watch && a->cause.op == b->cause.op;
}

/*
 * Moves the changes by the culprit of the first one behind it, those for the worse and for the better in turn, as one
 * load comes and goes; or short rises that nobody is known to cause. Returns how many belong together; at least 1.
 */
static u32 gather(struct change *all, u32 n)
{
	u32 m = 1;

	if (!change_has_culprit(&all[0]))
		return gather_shorts(all, n);
	for (u32 i = 1; i < n; i++) {
		const struct change c = all[i];

		if (!change_have_one_cause(&c, &all[0]) || c.latency != (m % 2 ? -1 : 1))
			continue;
		memmove(&all[m + 1], &all[m], (i - m) * sizeof(*all));
		all[m++] = c;
	}
	return m;
}

/*
 * What is there from the run's start has an end alone: it is told with the next change for the worse like it, by the
 * same culprit, or a short rise or a turn that is as slow.
 */
static u32 fold_first(struct change *all, u32 n)
{
	for (u32 i = 1; i < n && all[0].latency < 0; i++) {
		bool alike = all[i].lasts_s && change_is_tail(&all[0]) == change_is_tail(&all[i]) &&
			     !direction(all[0].before.mean_ns, all[i].after.mean_ns, FACTOR);

		if (all[i].latency <= 0 ||
		    !(change_has_culprit(&all[i]) ? change_have_one_cause(&all[0], &all[i]) : alike))
			continue;
		all[i].first_until_s = all[0].at_s;
		memmove(all, all + 1, (n - 1) * sizeof(*all));
		return n - 1;
	}
	return n;
}

/*
 * Whether to tell a change: of a sweep, only those for the worse away from its marks, and what is not told at another
 * stage.
 */
static bool is_own(const struct trace *t, bool sweep, const struct change *c, u32 cut)
{
	bool rate = rate_is_its_own(t->q),
	     marked = sweep && run_has_mark_at(t->q->run, t->q->run->start_s[t->interval[cut]]);

	if (!c->iops && !c->latency)
		return false;
	return (!sweep && rate) || (change_is_worse(c) && !marked && (rate || !c->iops));
}

/*
 * There and back: slower at the same rate, a phase of a sweep whose load does not tell why; or a dip, faster for a
 * shorter time than it was slow before.
 */
static bool is_excursion(const struct change *c, const struct change *back, bool sweep)
{
	u32 p = c->tail;	/* or the median */

	if (c->latency * back->latency >= 0 || c->cause.watch || direction(c->before.ns[p], back->after.ns[p], FACTOR))
		return false;
	return sweep ? change_is_worse(c) && !c->iops && !back->iops
		     : change_is_worse(back) && !back->cause.watch && !change_is_load(c) && !change_is_resized(c) &&
		       c->span[1].to - c->span[1].from < c->span[0].to - c->span[0].from;
}

/* Sets @ret to all changes that are told. Returns how many there are. */
static u32 make_changes(const struct trace *t, bool sweep, struct change *ret)
{
	const struct findings *told = t->q->to;
	bool recovers = false, was_worse = false, dips = !sweep;
	u32 n = 0;

	for (u32 i = t->n_cuts; i--;) {
		ret[i] = change_at(t, i);
		recovers |= ret[i].latency < 0;
		ret[i].alone &= !recovers;
	}
	for (u32 i = 0; i < t->n_cuts; i++)
		ret[i].cause.sure = cause_is_sure(t, ret, i);
	/* A cache is exhausted once, of all ops. */
	for (const struct finding *f = told->f; f < told->f + told->n; f++)
		was_worse |= f->watch == t->q->watch->watch && f->grade == FINDING_WRONG && !strcmp(f->kind, "level_change");
	for (u32 i = 0; i < t->n_cuts; i++) {
		ret[i].alone &= !was_worse;
		was_worse |= change_is_worse(&ret[i]) && !ret[i].lasts_s;
	}
	for (u32 i = 0; i < t->n_cuts; i++) {
		bool there_and_back = i + 1 < t->n_cuts && (sweep || dips) && is_excursion(&ret[i], &ret[i + 1], sweep),
		     tell = (sweep && there_and_back) || is_own(t, sweep, &ret[i], t->cuts[i]);

		dips &= there_and_back;	/* what was fast before is no dip */
		if (there_and_back)
			ret[i].lasts_s = ret[i + 1].at_s - ret[i].at_s;
		if (tell)
			ret[n++] = ret[i];
		if (there_and_back && tell)
			ret[n++] = ret[i + 1];
		i += there_and_back;
	}
	return n;
}

static int report_changes(struct trace *t, bool sweep)
{
	CLEANUP(cleanup_free) struct change *all = calloc(LEVEL_CUTS_MAX, sizeof(*all));
	bool stepped = false, drifted = false;
	struct change drift;
	u32 told = 0, many = 0, n, left = 0, cuts;

	if (!all)
		return -ENOMEM;
	add_handovers(t);
	n = make_changes(t, sweep, all);
	find_turns(all, n);
	n = fold_first(all, n);
	for (u32 i = 0; i < n; i++)	/* not by a short rise, nor its end */
		stepped |= !all[i].local && !all[i].lasts_s && !(i && all[i - 1].lasts_s);
	for (u32 p = 0; !stepped && !drifted && p <= LEVEL_MEAN; p++)
		drifted = (p == LEVEL_MEAN || t->backed[p]) && find_drift(t, p, &drift);
	if (drifted && is_own(t, false, &drift, 0)) {
		cuts = t->n_cuts;
		t->n_cuts = 0;
		find_cause(t, 0, &drift);
		drift.cause.sure = cause_is_sure(t, &drift, 0);
		report_change(t, &drift, 1);
		t->n_cuts = cuts;
		for (u32 i = 0; i < n; i++)
			if (!all[i].local)
				all[left++] = all[i];
		n = left;
		if (!n)
			return 0;
	}
	for (u32 p = 0; !t->n_cuts && !n && p < PERCENTILES_OVER_TIME; p++)
		n = t->backed[p] ? find_humps(t, p, 1, all) ?: find_humps(t, p, -1, all) : 0;
	if (n && all[0].gradual) {
		find_cause(t, 0, &all[0]);
		report_change(t, all, n);
		return 0;
	}
	for (u32 i = 0; i < n; i += gather(&all[i], n - i))
		told += !change_has_culprit(&all[i]);
	for (u32 i = 0, m; i < n; i += m) {
		m = gather(&all[i], n - i);
		if (told <= TOLD_MAX || change_has_culprit(&all[i])) {
			report_change(t, &all[i], m);
		} else {
			memmove(&all[many], &all[i], m * sizeof(*all));
			many += m;
		}
	}
	if (many)
		report_many(t, all, many);
	return 0;
}

int find_level_changes(const struct inquiry *q, u32 op)
{
	struct trace t CLEANUP(trace_uninit) = { 0 };
	int err = trace_init(&t, q, op) ?: trace_find_levels(&t);
	u32 marked = 0;
	int told;

	if (err || !latency_is_its_own(q))
		return err;
	/* Several where phases begin or end are a sweep: what the user set, and the phases' figures tell them. */
	for (u32 i = 0; i < t.n_cuts; i++)
		marked += run_has_mark_at(q->run, q->run->start_s[t.interval[t.cuts[i]]]);
	q->sweeps[op] = marked > 1;
	told = report_bursts(&t);
	if (!told && marked < 2 && rate_is_its_own(q)) {
		told = report_turns(&t);
		q->sweeps[op] |= told > 0;
	}
	if (told)
		return told < 0 ? told : 0;
	if (marked < 2)
		trace_add_short(&t);
	return report_changes(&t, marked > 1);
}

int find_levels(const struct inquiry *q, u32 op, double *ret)
{
	struct trace t CLEANUP(trace_uninit) = { 0 };
	int err = trace_init(&t, q, op) ?: trace_find_levels(&t), n = 0;

	if (err || !t.n_cuts)
		return err;
	ret[n++] = q->run->start_s[t.interval[0]];
	for (u32 i = 0; i < t.n_cuts && n < FINDINGS_LEVELS_MAX; i++)
		ret[n++] = q->run->start_s[t.interval[t.cuts[i]]];
	return n;
}
