// SPDX-License-Identifier: GPL-2.0-only
/* Says how an op's level changed: the figures and the words. Who caused it is said by findings_cause_say.c. */
#include <math.h>
#include <string.h>

#include "report/findings_levels.h"
#include "util/utf8.h"

/* By how much latency changed, and in what. */
static double times_of(const struct change *c, const char **ret_what)
{
	u32 p = shown_by(c);
	bool mean = c->mean == c->latency && !change_is_tail(c);

	*ret_what = mean ? "mean" : p == RUN_P50 ? "median" : run_over_time.p[p].name;
	return mean ? c->after.mean_ns / c->before.mean_ns : c->after.ns[p] / c->before.ns[p];
}

static void say_phase(struct finding *f, const struct run *r, double at_s)
{
	char name[64];
	u32 i = 0;

	while (i < r->phases.n && fabs(r->phases.p[i].from_s - at_s) > SAME_CUT * r->interval_s)
		i++;
	if (i == r->phases.n)
		return;
	utf8_clean(name, sizeof(name), r->phases.p[i].name);
	finding_say(f, "; phase '%s' begins there", name);
}

/* Says what the figures tell about the cause. Whether it is a cache, only the drive knows. */
static void say_cause(struct finding *f, const struct trace *t, const struct change *c)
{
	bool rested = c->rest_s && !duty_of(t->q->run, t->q->watch).bursts, whose = false;

	if (rested)
		finding_say(f, "; a rest of %s came before", UNITS(seconds, c->rest_s));
	if (change_is_load(c) && c->latency > 0 && !c->iops)
		finding_say(f, ": the load grew from QD %s to %s, and the device is saturated",
			    UNITS(short, c->before.queue_depth), UNITS(short, c->after.queue_depth));
	else if ((change_is_load(c) || change_is_resized(c)) && !(whose = say_whose(f, t, c)) && change_is_load(c))
		finding_say(f, ": the load changed");
	if (change_is_resized(c) && !whose)
		finding_say(f, ", as their size went from %s to %s", UNITS(memory, mean_bytes(&c->before)), UNITS(memory, mean_bytes(&c->after)));
	else if (c->cause.watch)
		say_other(f, t, c);
	else if (!change_is_load(c) && c->only)
		say_only(f, t, c);
	else if (!change_is_load(c) && c->latency > 0 && c->before_device)
		finding_say(f, "; the device itself takes no longer");
	else if (!change_is_load(c) && c->latency > 0 && c->like)
		finding_say(f, "; %u like it %s as fast as before", c->like, c->like > 1 ? "are" : "is");
	else if (change_is_cache(c) && !rested && t->op <= BLKLAT_OP_WRITE)
		finding_say(f, ", as when a cache is exhausted");
	else
		say_phase(f, t->q->run, c->at_s);
}

/* "at 13.0 s for 1.0 s, and 10 times more, every 10.0 s" of a rise and its repetitions; "at 13.0 s" of a level. */
static void say_when(struct finding *f, const struct trace *t, const struct change *all, u32 n)
{
	const struct span *ramp = &all[0].ramp;
	double period_s = n > 2 ? (all[(n - 1) & ~1U].at_s - all[0].at_s) / ((n - 1) / 2) : 0;
	bool regular = n > 4;

	bool gradual = all[0].gradual || ramp->to;

	if (gradual)
		finding_say(f, " little by little");
	if (!gradual || all[0].lasts_s)
		finding_say(f, gradual ? " from %s on" : " at %s", UNITS(seconds, all[0].at_s));
	else if (ramp->from)
		finding_say(f, " from %s on", UNITS(seconds, t->q->run->start_s[t->interval[ramp->from]]));
	if (ramp->to && ramp->to < t->n && !all[0].lasts_s)
		finding_say(f, " until %s", UNITS(seconds, run_end_of(t->q->run, t->interval[ramp->to - 1])));
	if (!all[0].lasts_s)
		return;
	finding_say(f, " for %s", UNITS(seconds, all[0].lasts_s));
	for (u32 i = 2; i < n; i += 2)
		regular &= fabs(all[i].at_s - all[0].at_s - i / 2 * period_s) <= REGULAR * period_s;
	if (n > 4)
		finding_say(f, ", and %u times more%s %s%s", (n - 1) / 2, regular ? ", every" : " from",
			    UNITS(seconds, regular ? period_s : all[2].at_s), regular ? "" : " on");
	else if (n > 2)
		finding_say(f, ", and once more at %s", UNITS(seconds, all[2].at_s));
	if (all[0].first_until_s)
		finding_say(f, ", and from the start until %s", UNITS(seconds, all[0].first_until_s));
}

/* Printed alike. */
static bool is_same(double before_ns, double after_ns)
{
	return !strcmp(UNITS(ns, before_ns), UNITS(ns, after_ns));
}

/* What moved the other way by less than EVEN did not move. */
static void say_from_to(struct finding *f, const struct change *c, double before_ns, double after_ns)
{
	bool other_way = c->latency && (after_ns > before_ns) != (c->latency > 0);

	if (is_same(before_ns, after_ns))
		finding_say(f, " unchanged at %s", UNITS(ns, after_ns));
	else if (other_way && !direction(before_ns, after_ns, EVEN))
		finding_say(f, " about the same at %s", UNITS(ns, after_ns));
	else
		finding_say(f, " from %s to %s", UNITS(ns, before_ns), UNITS(ns, after_ns));
}

/* "rose 7.85 times" */
static void say_times(struct finding *f, const struct change *c)
{
	finding_say(f, " %s %s times", c->latency > 0 ? "rose" : "fell", UNITS(times, fmax(f->times, 1 / f->times)));
}

static void say_tail(struct finding *f, const struct trace *t, const struct change *c, u32 n)
{
	finding_say(f, "%s", f->times_of);
	say_times(f, c);
	say_when(f, t, c, n);
	finding_say(f, ",");
	say_from_to(f, c, c->before.ns[c->tail], c->after.ns[c->tail]);
	finding_say(f, "; p50 did not (%s); mean", UNITS(ns, c->after.ns[RUN_P50]));
	say_from_to(f, c, c->before.mean_ns, c->after.mean_ns);
	finding_say(f, ", at %s IOPS", UNITS(short, c->after.iops));
	if (c->cause.watch)
		say_other(f, t, c);
	else if (c->only)
		say_only(f, t, c);
	else
		say_phase(f, t->q->run, c->at_s);
}

/*
 * "IOPS fell from 148k to 18.9k at 438.4 s, after 68.8 % of the IOs"; or of latency, and then by how much and at
 * which rate.
 */
static void say_first(struct finding *f, const struct trace *t, const struct change *c, u32 n)
{
	bool median = !strcmp(f->times_of, "median"), steps = c->iops && !c->gradual;
	const char *a = UNITS(short, c->before.iops), *b = UNITS(short, c->after.iops);

	if (steps) {
		finding_say(f, "IOPS %s from %s to %s", c->iops < 0 ? "fell" : "rose", a, b);
	} else {
		finding_say(f, "%s latency", f->times_of);
		say_times(f, c);
	}
	say_when(f, t, c, n);
	if (!steps) {
		finding_say(f, ",");
		say_from_to(f, c, median ? c->before.ns[RUN_P50] : c->before.mean_ns,
			    median ? c->after.ns[RUN_P50] : c->after.mean_ns);
	}
	if (!c->gradual)
		finding_say(f, ", after %s of the IOs", UNITS(share, c->share));
	if (!steps)
		finding_say(f, c->iops ? ", at %s to %s IOPS" : ", at %s IOPS", a, b);
}

static void say_change(struct finding *f, const struct trace *t, const struct change *c, u32 n)
{
	int tail = c->tail ? direction(c->before.ns[c->tail] * c->after.ns[RUN_P50],
				       c->after.ns[c->tail] * c->before.ns[RUN_P50], FACTOR)
			   : 0;
	bool median = !strcmp(f->times_of, "median"), steps = c->iops && !c->gradual;
	bool same = steps && is_same(c->before.mean_ns, c->after.mean_ns) &&
		    is_same(c->before.ns[RUN_P50], c->after.ns[RUN_P50]);

	say_first(f, t, c, n);
	if (same) {
		finding_say(f, ", at the same latency (mean %s, p50 %s)", UNITS(ns, c->after.mean_ns), UNITS(ns, c->after.ns[RUN_P50]));
	} else if (steps && c->latency && !median && !change_is_load(c)) {
		finding_say(f, "; mean latency");
		say_times(f, c);
		finding_say(f, ",");
		say_from_to(f, c, c->before.mean_ns, c->after.mean_ns);
	} else if (steps || median) {
		finding_say(f, "; mean");
		say_from_to(f, c, c->before.mean_ns, c->after.mean_ns);
	}
	if (!same && (steps || !median)) {
		finding_say(f, "; p50");
		say_from_to(f, c, c->before.ns[RUN_P50], c->after.ns[RUN_P50]);
	}
	if (tail) {
		finding_say(f, "; %s", run_over_time.p[c->tail].name);
		say_from_to(f, c, c->before.ns[c->tail], c->after.ns[c->tail]);
	}
	say_cause(f, t, c);
}

static void state_rule(struct finding *f)
{
	finding_rule(f, "a step by a factor of 1.5 or more in IOPS or in the median latency, or of 2 in a percentile with %d IOs beyond "
		     "it, between levels of %d intervals or more that scatter by at most half the step (of fewer, by two steps, and the "
		     "mean by one), without rests and stalls; or a percentile or mean that rises as much, falling from no fifth of the time to the "
		     "next, or the reverse, or by two steps and falls again; another load is named if it changed by a factor of 1.5 or more at most %d intervals apart",
		     TAIL_IOS, LEVEL_LEAST, SAME_CUT);
}

void report_change(const struct trace *t, const struct change *all, u32 n)
{
	struct finding *f = finding_add(t->q, "level_change", t->op);
	const struct change *c = &all[0];
	const struct other *o = &c->cause;

	f->from_s = c->at_s;
	if (c->lasts_s || !(c->gradual || o->grows) || c->ramp.to)
		f->to_s = fmax(all[n - 1].at_s, c->ramp.to ? run_end_of(t->q->run, t->interval[c->ramp.to - 1]) : 0);
	f->times = times_of(c, &f->times_of);
	if (!change_is_worse(c)) {
		f->grade = FINDING_DIFFERS;
		f->times = fmax(f->times, 1 / f->times);
	}
	finding_values(f, { "at_s", c->at_s }, { "share", c->share }, { "before_iops", c->before.iops },
		       { "after_iops", c->after.iops }, { "before_mean_ns", c->before.mean_ns },
		       { "after_mean_ns", c->after.mean_ns }, { "before_p50_ns", c->before.ns[RUN_P50] },
		       { "after_p50_ns", c->after.ns[RUN_P50] }, { "before_queue_depth", c->before.queue_depth },
		       { "after_queue_depth", c->after.queue_depth },
		       { "times_slower_by_latency", c->after.mean_ns / c->before.mean_ns },
		       { "times_slower_by_iops", c->before.iops / c->after.iops }, { "rest_s", c->rest_s });
	if (c->tail)
		finding_values(f, { "tail", run_over_time.p[c->tail].q }, { "before_tail_ns", c->before.ns[c->tail] },
			       { "after_tail_ns", c->after.ns[c->tail] });
	if (o->watch && o->watch->watch->device == f->watch->device) {
		f->cause = owner_of(o->watch) ?: op_names[o->op];
		f->cause_op = o->op;
	}
	if ((n > 2 || c->first_until_s) && !change_has_culprit(c))
		finding_value(f, "episodes", (n + 1) / 2 + (c->first_until_s > 0));
	if (change_has_culprit(c))
		say_culprit(f, t, all, n);
	else if (change_is_tail(c))
		say_tail(f, t, c, n);
	else
		say_change(f, t, c, n);
	state_rule(f);
}

struct finding *report_levels(const struct trace *t, u32 changes, double first_s, double last_s,
			      const struct level_extremes *e)
{
	struct finding *f = finding_add(t->q, "level_change", t->op);

	f->grade = FINDING_DIFFERS;
	f->from_s = first_s;
	f->to_s = last_s;
	f->times = e->slowest->mean_ns / e->fastest->mean_ns;
	f->times_of = "mean";
	finding_values(f, { "changes", changes }, { "first_at_s", first_s }, { "last_at_s", last_s },
		       { "least_iops", e->least->iops }, { "most_iops", e->most->iops },
		       { "least_iops_p50_ns", e->least->ns[RUN_P50] }, { "most_iops_p50_ns", e->most->ns[RUN_P50] },
		       { "least_mean_ns", e->fastest->mean_ns }, { "most_mean_ns", e->slowest->mean_ns });
	state_rule(f);
	return f;
}

void report_many(const struct trace *t, const struct change *all, u32 n)
{
	const struct level *first = &all[0].before;
	struct level_extremes e = { first, first, first, first };
	const struct change *rise = all;
	double last_s = all[0].at_s;
	bool worse = false;
	struct finding *f;

	for (u32 i = 0; i < n; i++) {
		const struct level *l = &all[i].after;

		e.least = l->iops < e.least->iops ? l : e.least;
		e.most = l->iops > e.most->iops ? l : e.most;
		e.fastest = l->mean_ns < e.fastest->mean_ns ? l : e.fastest;
		e.slowest = l->mean_ns > e.slowest->mean_ns ? l : e.slowest;
		worse |= change_is_worse(&all[i]);
		last_s = fmax(last_s, all[i].at_s);
		if (all[i].after.mean_ns * rise->before.mean_ns > rise->after.mean_ns * all[i].before.mean_ns)
			rise = &all[i];
	}
	f = report_levels(t, n, all[0].at_s, last_s, &e);
	f->grade = worse ? FINDING_WRONG : f->grade;
	finding_say(f, "the level changed %u times from %s to %s; ", n, UNITS(seconds, f->from_s), UNITS(seconds, f->to_s));
	/* Named by what moved. */
	if (direction(e.least->iops, e.most->iops, EVEN))
		finding_say(f, "the lowest has %s IOPS with a p50 of %s, the highest %s IOPS with %s", UNITS(short, e.least->iops),
			    UNITS(ns, e.least->ns[RUN_P50]), UNITS(short, e.most->iops),
			    UNITS(ns, e.most->ns[RUN_P50]));
	else
		finding_say(f, "the mean is %s in the fastest and %s in the slowest, at %s IOPS", UNITS(ns, e.fastest->mean_ns),
			    UNITS(ns, e.slowest->mean_ns), UNITS(short, e.slowest->iops));
	if (rise->latency <= 0 || (!rise->cause.watch && !rise->whose.watch))
		return;
	finding_say(f, "; the mean rose most at %s, from %s to %s", UNITS(seconds, rise->at_s),
		    UNITS(ns, rise->before.mean_ns), UNITS(ns, rise->after.mean_ns));
	if (!say_whose(f, t, rise) && rise->cause.watch)
		say_other(f, t, rise);
}
