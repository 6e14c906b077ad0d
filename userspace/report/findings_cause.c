// SPDX-License-Identifier: GPL-2.0-only
/* Who made a device slower: another op or another owner whose load changed at the time, and how sure that is. */
#include <math.h>
#include <string.h>

#include "blklat/parts.h"
#include "report/findings_levels.h"

#define LEFT 0.1		/* a load with less than this share of its earlier rate has ended */

/* How many watches behind the whole are owners. */
static u32 owners_of(const struct trace *t)
{
	const struct watch_run *whole = t->q->watch;
	u32 parts = run_parts(t->q->run, whole - t->q->run->watches);

	return parts && watch_run_is_owner(whole + 1) ? parts : 0;
}

const char *owner_of(const struct watch_run *w)
{
	return w->watch->part ? w->watch->part->label : NULL;
}

/* Whether @w is of a device of its own: those on top of others, and partitions, are slow with those below. */
static bool is_apart(const struct trace *t, const struct watch_run *w)
{
	const struct device *d = w->watch->device;

	return d != t->q->watch->watch->device && !d->n_lower && !device_is_partition(d);
}

/*
 * Whether the other load changed on this device as well, that of the same owner, or of the same op; or one as large
 * began there.
 */
static bool has_load(const struct trace *t, const struct change *c, const struct watch_run *whole)
{
	const char *owner = owner_of(c->cause.watch);
	const struct watch_run *last = whole + (owner ? run_parts(t->q->run, whole - t->q->run->watches) : 0);

	for (const struct watch_run *w = whole + !!owner; w <= last; w++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			const struct level before = rates_of(t, &w->ops[op], c->near[0]),
					   after = rates_of(t, &w->ops[op], c->near[1]);
			bool same = op == c->cause.op && (!owner || !strcmp(owner, owner_of(w)));
			double from = rate_in(&c->cause, &before), to = rate_in(&c->cause, &after);
			int way = from == to ? 0 : direction(from, to, FACTOR);

			if (same ? way : way > 0 && depth_of(&after) - depth_of(&before) >= c->cause.depth_step / 2)
				return true;
		}
	return false;
}

/*
 * Whether the op changed in the same way on a device that the other load does not reach, by half of the factor or
 * more in logarithms.
 */
static bool changed_without(const struct trace *t, const struct change *c)
{
	const struct run *r = t->q->run;
	u32 p = shown_by(c);

	run_for_each_whole(w, r) {
		struct level before, after;

		if (!is_apart(t, w) || w->watch->stage != t->q->watch->watch->stage || has_load(t, c, w))
			continue;
		before = figures_of(t, &w->ops[t->op], c->near[0]);
		after = figures_of(t, &w->ops[t->op], c->near[1]);
		if (before.iops && after.iops &&
		    direction(before.ns[p], after.ns[p], sqrt(c->after.ns[p] / c->before.ns[p])) > 0)
			return true;
	}
	return false;
}

/*
 * The only part by size, flags or owner whose IOs take longer, while the others together take as long as before;
 * NULL: there is none.
 */
static const struct watch_run *only_part(const struct trace *t, const struct change *c)
{
	const struct watch_run *whole = t->q->watch, *only = NULL;
	u32 parts = run_parts(t->q->run, whole - t->q->run->watches), slower = 0;
	struct level rest[2] = { 0 };

	for (const struct watch_run *w = whole + 1; w <= whole + parts; w++) {
		struct level before = rates_of(t, &w->ops[t->op], c->span[0]),
			     after = rates_of(t, &w->ops[t->op], c->span[1]);
		bool is_slower = before.iops && after.iops && direction(before.mean_ns, after.mean_ns, FACTOR) > 0;

		if (is_slower) {
			only = w;
			slower++;
			continue;
		}
		rest[0] = (struct level){ .iops = rest[0].iops + before.iops, .mean_ns = rest[0].mean_ns + before.iops * before.mean_ns };
		rest[1] = (struct level){ .iops = rest[1].iops + after.iops, .mean_ns = rest[1].mean_ns + after.iops * after.mean_ns };
	}
	if (slower != 1 || c->latency <= 0 || fmin(rest[0].iops, rest[1].iops) < MATTERS * c->before.iops ||
	    direction(rest[0].mean_ns / rest[0].iops, rest[1].mean_ns / rest[1].iops, EVEN) ||
	    !strcmp(only->watch->part->by, by_names[BLKLAT_BY_DEPTH]) ||
	    !strcmp(only->watch->part->by, by_names[BLKLAT_BY_BESIDE]))
		return NULL;
	return only;
}

/*
 * Looks whether anything else changed (IOs fail; or the load or the latency of another op, or of any op of a device of
 * its own), how many devices of the kind have as many of these IOs, and as fast as before, and whether IOs take no
 * longer in the device, so that they wait somewhere else.
 */
static void look_around(const struct trace *t, struct change *c)
{
	for (u32 k = c->near[1].from; k < c->near[1].to; k++)
		c->alone &= !t->s->errors[t->interval[k]];
	run_for_each_whole(w, t->q->run) {
		bool apart = is_apart(t, w), own = w->watch->device == t->q->watch->watch->device;

		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct level before = rates_of(t, &w->ops[op], c->near[0]),
				     after = rates_of(t, &w->ops[op], c->near[1]);
			int slower = direction(before.mean_ns, after.mean_ns, EVEN);

			c->alone &= !(w == t->q->watch ? op != t->op : apart) || !op_matters(w, op) ||
				    !(direction(before.iops, after.iops, FACTOR) ||
				      direction(before.mean_ns, after.mean_ns, FACTOR));
			if (op != t->op || !before.iops || !after.iops)
				continue;
			c->like += apart && is_same_kind(w, t->q->watch) && !slower &&
				   !direction(before.iops, c->before.iops, FACTOR) &&
				   !direction(before.iops, after.iops, EVEN);
			c->before_device |= own && w != t->q->watch && w->watch->stage == BLKLAT_STAGE_DEVICE &&
					    slower <= 0;
		}
	}
}

/* Not on this device. */
static bool cause_is_elsewhere(const struct trace *t, const struct change *c)
{
	return c->cause.watch && c->cause.watch->watch->device != t->q->watch->watch->device;
}

const struct watch_run *victim_of(const struct trace *t, const struct change *c, const struct watch_run *cause,
				  u32 *ret_harmed)
{
	const struct watch_run *whole = t->q->watch, *victim = whole;
	double most = 0;

	*ret_harmed = 0;
	for (const struct watch_run *w = whole + 1; w <= whole + owners_of(t); w++) {
		struct level before = rates_of(t, &w->ops[t->op], c->span[0]),
			     after = rates_of(t, &w->ops[t->op], c->span[1]);
		double lost = before.iops ? after.iops * (after.mean_ns - before.mean_ns) : 0;

		if (w == cause || lost <= 0)
			continue;
		*ret_harmed += direction(before.mean_ns, after.mean_ns, FACTOR) > 0 &&
			       direction(before.iops, after.iops, EVEN) <= 0;
		victim = lost > most ? w : victim;
		most = fmax(lost, most);
	}
	return victim;
}

/* Keeps the two largest, and of these only what is at least half as large as the other. */
static void keep_cause(struct change *c, const struct other *o)
{
	bool largest = !c->cause.watch || o->depth_step > c->cause.depth_step;
	const struct other second = largest ? c->cause : *o;

	if (largest)
		c->cause = *o;
	if (second.watch && second.depth_step > c->with.depth_step)
		c->with = second;
	if (c->with.depth_step < c->cause.depth_step / 2)
		c->with = (struct other){ 0 };
}

/* Whether all IOs of the op are its in a level. */
static bool is_alone(const struct trace *t, struct span in, const struct other *o)
{
	return rates_of(t, &o->watch->ops[o->op], in).iops > (1 - MATTERS) * rates_of(t, t->s, in).iops;
}

/* The mean rate in a level, as it is told of the op; but if the load was there for a part of it only, @own. */
static double rate_beside(const struct trace *t, struct span in, const struct other *o, double own)
{
	double mean = rate_of(t, o, in);

	return direction(mean, own, EVEN) && !is_alone(t, in, o) ? own : mean;
}

/* Keeps the owner by whom the op's own load changed, if half of that or more is its. */
static void keep_load(const struct trace *t, struct change *c, struct other *o)
{
	double own = fabs(o->after.iops - o->before.iops);

	if (own < fabs(c->after.iops - c->before.iops) / 2 ||
	    (c->whose.watch && own <= fabs(c->whose.after.iops - c->whose.before.iops)))
		return;
	o->rate_before = rate_beside(t, c->span[0], o, o->rate_before);
	o->rate_after = rate_beside(t, c->span[1], o, o->rate_after);
	c->whose = *o;
}

/* On another device of its own, where none on this one explains it: they may share a link or a controller. */
static void find_cause_elsewhere(const struct trace *t, u32 i, struct change *c)
{
	run_for_each_whole(w, t->q->run)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct other o = { .watch = w, .op = op };

			if (is_apart(t, w) && w->watch->stage == t->q->watch->watch->stage && op_matters(w, op) &&
			    changed_along(t, i, c, &o) > 0)
				keep_cause(c, &o);
		}
}

/* By cgroup, each owner counts; what the parts don't show, and undivided runs, go by op. */
void find_cause(const struct trace *t, u32 i, struct change *c)
{
	const struct watch_run *whole = t->q->watch;
	u32 harmed;

	c->alone = !c->gradual;
	for (u32 part = owners_of(t) + 1; part-- && (part || !c->cause.watch);)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct other o = { .watch = &whole[part], .op = op };
			int way = op == t->op && !part ? 0 : changed_along(t, i, c, &o);

			o.harms = way > 0 && part && victim_of(t, c, o.watch, &harmed) && harmed;
			/* An owner whose IOs are among those that changed is no other load, unless others suffer. */
			if (way && op == t->op && way == c->iops && !o.harms)
				keep_load(t, c, &o);
			if (!way || (op == t->op && !o.harms && (way == c->iops || is_alone(t, c->span[1], &o))))
				continue;
			c->alone = false;
			if (way == c->latency)
				keep_cause(c, &o);
		}
	if (!c->cause.watch && c->latency > 0 && !change_is_load(c))
		find_cause_elsewhere(t, i, c);
	look_around(t, c);
	c->only = only_part(t, c);
	c->alone &= !c->only && !c->like && !c->before_device && !run_has_mark_at(t->q->run, c->at_s);
}

/* Where a load at least half as large as the cause of @c begins at place @cut, or in the interval behind it. */
static struct handover another_begins(const struct trace *t, u32 cut, struct span level, const struct change *c)
{
	u32 owners = owners_of(t);

	for (u32 part = !!owners; part <= owners; part++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct other o = { .watch = &t->q->watch[part], .op = op };

			if ((part || op != t->op) && !(o.watch == c->cause.watch && op == c->cause.op) &&
			    changed_with(t, cut, level, c, &o) > 0 && o.step <= cut + 1 &&
			    o.depth_step >= c->cause.depth_step / 2)
				return (struct handover){ max_u64(o.step, cut), o.at_s };
		}
	return (struct handover){ 0 };
}

struct handover handover_of(const struct trace *t, u32 i, const struct change *c)
{
	const struct span level = { t->cuts[i], both_levels(t, i).to };
	const u64 *counts = c->cause.watch ? counts_of(&c->cause) : NULL;
	u32 gone = 0, cut = level.from + LEVEL_LEAST;

	if (!counts || c->latency <= 0 || cause_is_elsewhere(t, c))
		return (struct handover){ 0 };
	for (; cut < level.to && gone < LEVEL_LEAST; cut++)
		gone = run_iops(t->q->run, counts, t->interval[cut]) <= LEFT * c->cause.rate_after ? gone + 1 : 0;
	return gone < LEVEL_LEAST ? (struct handover){ 0 } : another_begins(t, cut - LEVEL_LEAST, level, c);
}

/* A light load is one only if the op was slow no longer once it ended. */
static bool is_cause_at_both_ends(const struct trace *t, const struct change *all, const struct change *c)
{
	for (u32 i = 0; i < t->n_cuts; i++)
		if (all[i].latency < 0 && change_have_one_cause(&all[i], c))
			return true;
	return false;
}

/* It may have been there for the last part of the change's first interval alone. */
static bool began_behind(const struct trace *t, const struct change *c, u32 cut)
{
	return c->cause.step > cut && c->cause.at_s >= run_end_of(t->q->run, t->interval[cut]);
}

bool cause_is_sure(const struct trace *t, const struct change *all, u32 i)
{
	const struct change *c = &all[i];
	double least = fmin(HEAVY, 1 - run_over_time.p[shown_by(c)].q), depth = depth_of(&c->cause.after);

	if (!c->cause.watch || c->latency <= 0 || cause_is_elsewhere(t, c))
		return false;
	/* What grows with a drift may be chance, unless the op's own load is what grows. */
	if (c->cause.grows ? !c->ramp.to || (c->gradual && !(c->cause.harms && c->cause.op == t->op))
			   : began_behind(t, c, t->cuts[i]))
		return false;
	/*
	 * It can have made the op slow if it is in flight for long enough, or has as large a share of the time of both.
	 * For a median this may be less than half, as devices go on working when an IO has ended.
	 */
	if (depth < least * fmin(1, depth + depth_of(&c->after)) && !is_cause_at_both_ends(t, all, c))
		return false;
	return goes_together(t, all, c) && !changed_without(t, c);
}

double cause_end_of(const struct trace *t, const struct change *c)
{
	const struct other *o = &c->cause;

	for (u32 k = 0; k < t->n_cuts; k++) {
		const struct span next = trace_span(t, k + 1);
		const struct handover *h = trace_handover(t, t->cuts[k]);
		double rate = rate_of(t, o, next), at_s;

		if (t->cuts[k] < c->span[1].to || direction(rate_in(o, &o->after), rate, FACTOR) >= 0)
			continue;
		at_s = moment_of(t, counts_of(o), step_in(t, o, (struct span){ c->span[1].from, next.to }), o->rate_after, rate);
		/* Both estimates are of one instant, if they can be. */
		return h && fabs(h->at_s - at_s) < t->q->run->interval_s / 2 ? h->at_s : at_s;
	}
	return INFINITY;
}
