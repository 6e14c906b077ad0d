// SPDX-License-Identifier: GPL-2.0-only
/* Other loads beside an op: their rates, and whether they change where the op's level does. */
#include <math.h>

#include "report/findings_levels.h"

/* share of the busy intervals in which both the load and the effect are there, or neither is */
#define TOGETHER 0.9
#define BOTH 0.6		/* of those in which either is there */
#define RISES 3			/* between fifths, of a load that grows; one that steps has two at most */

const u64 *counts_of(const struct other *o)
{
	const struct series_run *s = &o->watch->ops[o->op];

	return o->by_bytes ? s->bytes : s->ios;
}

double rate_in(const struct other *o, const struct level *l)
{
	return o->by_bytes ? l->bytes_per_s : l->iops;
}

double rate_of(const struct trace *t, const struct other *o, struct span in)
{
	const struct level l = rates_of(t, &o->watch->ops[o->op], in);

	return rate_in(o, &l);
}

bool is_there(const struct trace *t, const struct other *o, u32 at)
{
	return run_iops(t->q->run, counts_of(o), at) > (rate_in(o, &o->before) + rate_in(o, &o->after)) / 2;
}

/* It may come for a while before the change, or end long after it. @busy: of the intervals in which it was there. */
static double median_rate(const struct trace *t, const struct other *o, struct span in, bool busy)
{
	const u64 *counts = counts_of(o);
	u32 n = 0;

	for (u32 i = in.from; i < in.to; i++)
		if (counts[t->interval[i]] || !busy)
			t->room[n++] = (struct weighted){ run_iops(t->q->run, counts, t->interval[i]), 1 };
	return weighted_median(t->room, n);
}

u32 step_in(const struct trace *t, const struct other *o, struct span in)
{
	double mean = rate_of(t, o, in), ahead = 0, most = 0;
	u32 step = in.from;

	for (u32 k = in.from; mean && k < in.to; k++) {
		ahead += counts_of(o)[t->interval[k]] - mean * t->q->run->length_s[t->interval[k]];
		if (fabs(ahead) > most) {
			most = fabs(ahead);
			step = k + 1;
		}
	}
	return step;
}

/* Sets the loads of @o in two spans. Returns by which direction it changed, 0 for none that could be a cause. */
static int measure_step(const struct trace *t, struct span before, struct span after, const struct change *c,
			struct other *o)
{
	const struct series_run *s = &o->watch->ops[o->op];
	const struct level *larger;
	int way;

	o->before = rates_of(t, s, before);
	o->after = rates_of(t, s, after);
	o->depth_step = fabs(depth_of(&o->after) - depth_of(&o->before));
	way = direction(rate_in(o, &o->before), rate_in(o, &o->after), FACTOR);
	o->rate_before = median_rate(t, o, before, false);
	o->rate_after = median_rate(t, o, after, false);
	if (way > 0)	/* of one that grows for longer */
		o->rate_after = fmax(o->rate_after, median_rate(t, o, c->span[1], false));
	/* Where it is there for less than half of either level. */
	if (!o->rate_before && !o->rate_after)
		*(way > 0 ? &o->rate_after : &o->rate_before) = median_rate(t, o, way > 0 ? after : before, true);
	/* Or comes in bursts. */
	if (direction(o->rate_before, o->rate_after, EVEN) != way) {
		o->rate_before = rate_in(o, &o->before);
		o->rate_after = rate_in(o, &o->after);
	}
	larger = way > 0 ? &o->after : &o->before;
	return larger->iops >= MATTERS * c->before.iops || larger->bytes_per_s >= MATTERS * c->before.bytes_per_s ||
	       depth_of(larger) >= HEAVY ? way : 0;
}

/* Whether half of the whole change of the load, or a factor of FACTOR, lies in the intervals next to the step. */
static bool is_sharp(const struct trace *t, struct span in, const struct other *o)
{
	double all = fabs(log(rate_in(o, &o->after) / rate_in(o, &o->before))),
	       before = rate_of(t, o, (struct span){ max_u64(in.from + LEVEL_LEAST, o->step) - LEVEL_LEAST, o->step }),
	       after = rate_of(t, o, (struct span){ o->step, min_u64(in.to, o->step + LEVEL_LEAST) });

	return fabs(log(after / before)) >= fmin(all / 2, log(FACTOR));
}

int changed_with(const struct trace *t, u32 cut, struct span both, const struct change *c, struct other *o)
{
	const struct span near = { max_u64(both.from + NEAR, cut) - NEAR, min_u64(both.to, cut + NEAR) }, *in[] = { &both, &near };
	int way = 0;

	for (u32 i = 0; i < ARRAY_SIZE(in) && !way; i++) {
		o->step = step_in(t, o, *in[i]);
		if (o->step == in[i]->from || o->step + SAME_CUT < cut || o->step > cut + SAME_CUT)
			continue;
		/* The intervals beside the step may have some of both. */
		way = measure_step(t, (struct span){ in[i]->from, o->step - (o->step > in[i]->from + 1) },
				   (struct span){ o->step + (o->step + 1 < in[i]->to), in[i]->to }, c, o);
		way = is_sharp(t, *in[i], o) ? way : 0;
		o->at_s = moment_of(t, counts_of(o), o->step, o->rate_before, o->rate_after);
	}
	return way;
}

struct span both_levels(const struct trace *t, u32 i)
{
	return (struct span){ i ? trace_end_of(t, t->cuts[i - 1]) : 0, i + 1 < t->n_cuts ? t->cuts[i + 1] : t->n };
}

/* Returns the direction in which the load changes from fifth to fifth, and back between none, or 0. */
static int grows_with(const struct trace *t, struct span in, const struct change *c, struct other *o)
{
	double before = rate_of(t, o, fifth_of(in, 0));
	int moves[] = { 0, 0, 0 }, way;

	for (u32 i = 1; i < FIFTHS; i++) {
		double after = rate_of(t, o, fifth_of(in, i));

		moves[1 + (before == after ? 0 : direction(before, after, FALLS))]++;
		before = after;
	}
	way = moves[2] ? 1 : -1;
	o->grows = moves[1 + way] >= RISES && !moves[1 - way] && measure_step(t, c->span[0], c->span[1], c, o) == way;
	return o->grows ? way : 0;
}

/* Whether a load other than @o that is the cause of a change is there in interval @at. */
static bool has_other_cause(const struct trace *t, const struct change *all, u32 at, const struct other *o)
{
	for (u32 i = 0; i < t->n_cuts; i++) {
		const struct other *by = &all[i].cause;

		if (all[i].latency > 0 && by->watch && (by->watch != o->watch || by->op != o->op) &&
		    is_there(t, by, at))
			return true;
	}
	return false;
}

bool goes_together(const struct trace *t, const struct change *all, const struct change *c)
{
	const struct other *o = &c->cause;
	u32 p = shown_by(c), agree = 0, both = 0, n = 0;
	double before = c->before.ns[p], after = c->after.ns[p],
	       middle_ns = c->gradual || c->ramp.to ? (before + after) / 2 : sqrt(before * after);

	for (u32 k = 0; k < t->n; k++) {
		u32 at = t->interval[k];
		bool there = is_there(t, o, at),
		     slow = percentiles_run_ns(&t->s->percentiles, at, p) > middle_ns;

		if (has_other_cause(t, all, at, o))
			continue;
		n++;
		agree += there == slow;
		both += there && slow;
	}
	return agree >= TOGETHER * n && both >= BOTH * (n - agree + both);
}

static int rate_changed_along(const struct trace *t, u32 i, const struct change *c, struct other *o)
{
	int way = c->ramp.to ? grows_with(t, c->ramp, c, o) : 0;

	if (way) {
		o->step = c->ramp.from;
		o->at_s = t->q->run->start_s[t->interval[c->ramp.from]];
	}
	if (way && c->gradual && c->lasts_s) {	/* it falls again as well */
		struct change with = *c;

		with.cause = *o;
		way = goes_together(t, NULL, &with) ? way : 0;
	}
	if (way || c->gradual)
		return way;
	return changed_with(t, t->cuts[i], both_levels(t, i), c, o) ?: grows_with(t, both_levels(t, i), c, o);
}

int changed_along(const struct trace *t, u32 i, const struct change *c, struct other *o)
{
	struct other by_bytes = { .watch = o->watch, .op = o->op, .by_bytes = true };
	int way = rate_changed_along(t, i, c, o);

	if (!c->latency || way == c->latency || rate_changed_along(t, i, c, &by_bytes) != c->latency)
		return way;
	*o = by_bytes;
	return c->latency;
}
