// SPDX-License-Identifier: GPL-2.0-only
/* Says who made a device slower (findings_cause.c), and to whom. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/cgroup.h"
#include "report/findings_levels.h"
#include "util/utf8.h"

#define NAME 100
#define ABSENT 0.01		/* a load with less than this share of its other rate has not begun yet, or has ended */

static const char *const plurals[BLKLAT_OPS] = { "reads", "writes", "flushes", "discards", "other ops" };

/* Not of IOs that nobody is charged for. */
static bool is_owned(const struct watch_run *w)
{
	return owner_of(w) && strcmp(owner_of(w), "none");
}

/* Of a cgroup the unit or container, as people call it; else the end of the path, or the label. */
static void name_owner(char ret[NAME], const struct watch_run *w)
{
	const char *label = owner_of(w), *last = strrchr(label, '/');
	const struct cgroup_names names = cgroup_names(label);
	const char *kind = strrchr(names.unit, '.');

	if (!part_is_by(w->watch->part, BLKLAT_BY_CGROUP))
		utf8_clean(ret, NAME, label);
	else if (names.container[0])
		snprintf(ret, NAME, "container %.12s", names.container);
	else if (!strcmp(label, "/"))
		snprintf(ret, NAME, "the root cgroup");
	else	/* a slice has others as well */
		utf8_clean(ret, NAME, kind && strcmp(kind, ".slice") ? names.unit : label[0] == '/' && last[1] ? last + 1 : label);
}

/* By its path where another one has that name. */
static void say_owner(struct finding *f, const struct trace *t, const struct watch_run *w)
{
	const struct run *r = t->q->run;
	char name[NAME], other[NAME];
	bool unique = true;

	name_owner(name, w);
	for (const struct watch_run *o = r->watches; unique && o < r->watches + r->n_watches; o++) {
		if (!owner_of(o) || !strcmp(owner_of(o), owner_of(w)))
			continue;
		name_owner(other, o);
		unique = strcmp(name, other);
	}
	finding_say(f, "%s", unique ? name : utf8_tail(owner_of(w), NAME));
}

static double iops_of(const struct other *o, bool after)
{
	if (o->by_bytes)
		return after ? o->after.iops : o->before.iops;
	return after ? o->rate_after : o->rate_before;
}

/*
 * "backup.service began 500 writes/s of 1.00 MiB", "ended its 500", "went from 200 to 500", "went from 200 writes/s of
 * 4.00 KiB to 200 of 1.00 MiB"; without owners "500 writes/s began"; of an owner that was @said "500 writes/s" and "from
 * 200 to 500".
 */
static void say_load(struct finding *f, const struct trace *t, const struct other *o, const struct watch_run *said)
{
	const struct level *most = o->after.iops > o->before.iops ? &o->after : &o->before;
	double from = iops_of(o, false), to = iops_of(o, true);
	/* A few large IOs are no load that is absent. */
	bool began = from < ABSENT * to && (!from || o->before.bytes_per_s * 10 <= o->after.bytes_per_s),
	     ended = to < ABSENT * from && (!to || o->after.bytes_per_s * 10 <= o->before.bytes_per_s);
	bool resized = !began && !ended && is_resized(&o->before, &o->after);
	bool owned = is_owned(o->watch), again = owned && o->watch == said;
	const struct device *d = o->watch->watch->device;
	bool elsewhere = d != f->watch->device;

	if (owned && !again)
		say_owner(f, t, o->watch);
	if (began || ended)
		finding_say(f, "%s%s", !owned || again ? "" : began ? " began " : " ended its ", UNITS(short, began ? to : from));
	else
		finding_say(f, "%s%sfrom %s", owned ? "" : elsewhere ? d->name : "the device", again ? "" : " went ", UNITS(short, from));
	if (resized)
		finding_say(f, " %s/s of %s to %s of %s", plurals[o->op], UNITS(memory, mean_bytes(&o->before)),
			    UNITS(short, to), UNITS(memory, mean_bytes(&o->after)));
	else if (!began && !ended)
		finding_say(f, " to %s", UNITS(short, to));
	if (!resized)
		finding_say(f, " %s/s", plurals[o->op]);
	if (!resized && most->bytes_per_s > 0)
		finding_say(f, " of %s", UNITS(memory, mean_bytes(most)));
	if (!owned && (began || ended))
		finding_say(f, "%s", began ? " began" : " ended");
	if (elsewhere && (owned || began || ended))
		finding_say(f, " on %s", d->name);
}

/* "backup.service began 500 writes/s of 1.00 MiB and 200 reads/s of 128 KiB". */
static void say_loads(struct finding *f, const struct trace *t, const struct change *c)
{
	say_load(f, t, &c->cause, NULL);
	if (!c->with.watch)
		return;
	finding_say(f, " and ");
	say_load(f, t, &c->with, c->cause.watch);
}

void say_other(struct finding *f, const struct trace *t, const struct change *c)
{
	finding_say(f, c->cause.grows ? "; meanwhile " : "; at the same time ");
	say_loads(f, t, c);
}

bool say_whose(struct finding *f, const struct trace *t, const struct change *c)
{
	if (!c->whose.watch || !is_owned(c->whose.watch))
		return false;
	finding_say(f, ": ");
	say_load(f, t, &c->whose, NULL);
	return true;
}

static void say_victim(struct finding *f, const struct trace *t, const struct change *c)
{
	u32 harmed;
	const struct watch_run *w = victim_of(t, c, c->cause.watch, &harmed);
	struct level before = figures_of(t, &w->ops[t->op], c->span[0]),
		     after = figures_of(t, &w->ops[t->op], c->span[1]);
	const char *p50 = UNITS(ns, after.ns[RUN_P50]);

	finding_say(f, "%s", plurals[t->op]);
	if (is_owned(w)) {
		finding_say(f, " of ");
		say_owner(f, t, w);
	}
	finding_say(f, " went from");
	if (t->backed[RUN_P99]) {
		finding_say(f, " p99 %s to %s,", UNITS(ns, before.ns[RUN_P99]), UNITS(ns, after.ns[RUN_P99]));
		finding_values(f, { "victim_before_p99_ns", before.ns[RUN_P99] },
			       { "victim_after_p99_ns", after.ns[RUN_P99] });
	}
	f->times = after.mean_ns / before.mean_ns;
	f->times_of = "mean";
	if (strcmp(p50, UNITS(ns, before.ns[RUN_P50])))
		finding_say(f, " p50 %s to %s,", UNITS(ns, before.ns[RUN_P50]), p50);
	finding_say(f, " mean %s to %s (%s times slower)", UNITS(ns, before.mean_ns), UNITS(ns, after.mean_ns), UNITS(times, f->times));
	if (!strcmp(p50, UNITS(ns, before.ns[RUN_P50])))
		finding_say(f, ", p50 unchanged at %s", p50);
	if (harmed > 1)
		finding_say(f, "; of %u owners that are slower it loses most", harmed);
	finding_values(f, { "victim_before_p50_ns", before.ns[RUN_P50] },
		       { "victim_after_p50_ns", after.ns[RUN_P50] });
}

void say_only(struct finding *f, const struct trace *t, const struct change *c)
{
	finding_say(f, "; by %s, only ", c->only->watch->part->by);
	say_owner(f, t, c->only);
	finding_say(f, " takes longer (mean %s to %s)", UNITS(ns, rates_of(t, &c->only->ops[t->op], c->span[0]).mean_ns),
		    UNITS(ns, rates_of(t, &c->only->ops[t->op], c->span[1]).mean_ns));
}

/* The loads' share of the time of all IOs on the device, while they were there. */
static double share_of_time(const struct trace *t, const struct change *c)
{
	double all = 0, own = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct level l = rates_of(t, &t->q->watch->ops[op], c->span[1]);

		all += depth_of(&l);
	}
	for (u32 i = 0; i < 2; i++) {
		const struct other *o = i ? &c->with : &c->cause;
		const struct level l = o->watch ? rates_of(t, &o->watch->ops[o->op], c->span[1]) : (struct level){ 0 };

		own += depth_of(&l);
	}
	return own / all;
}

/* When the level behind a change ends; INFINITY: with the run. */
static double level_end_of(const struct trace *t, const struct change *c)
{
	for (u32 k = 0; k < t->n_cuts; k++)
		if (t->cuts[k] >= c->span[1].to)
			return t->q->run->start_s[t->interval[t->cuts[k]]];
	return INFINITY;
}

/* When the load came or went with the change. */
static double moment_of_load(const struct change *c)
{
	return c->cause.watch ? c->cause.at_s : c->at_s;
}

void say_culprit(struct finding *f, const struct trace *t, const struct change *all, u32 n)
{
	const struct other *o = &all[0].cause;
	double end_s = n > 1 ? moment_of_load(&all[1]) : cause_end_of(t, &all[0]), level_s = level_end_of(t, &all[0]);

	f->culprit = true;
	f->to_s = isfinite(end_s) ? fmax(f->to_s, end_s) : f->to_s;
	finding_say(f, o->grows ? "from %s to %s " : "at %s ", UNITS(seconds, o->at_s),
		    UNITS(seconds, o->grows ? run_end_of(t->q->run, t->interval[all[0].ramp.to - 1]) : 0));
	say_loads(f, t, &all[0]);
	if (o->grows)
		finding_say(f, ", little by little");
	if (isfinite(end_s))
		finding_say(f, ", until %s", UNITS(seconds, end_s));
	if (n > 4)
		finding_say(f, ", and %u times more from %s on", (n - 1) / 2, UNITS(seconds, moment_of_load(&all[2])));
	else if (n > 2)
		finding_say(f, n > 3 ? ", and once more from %s to %s" : ", and once more from %s on",
			    UNITS(seconds, moment_of_load(&all[2])), UNITS(seconds, moment_of_load(&all[n - 1])));
	if (all[0].first_until_s)
		finding_say(f, ", and from the start until %s", UNITS(seconds, all[0].first_until_s));
	finding_say(f, "; %s %s of the device's time ", is_owned(o->watch) && (!all[0].with.watch || all[0].with.watch == o->watch) ? "it has" : "they have",
		    UNITS(share, share_of_time(t, &all[0])));
	if (level_s + SAME_CUT * t->q->run->interval_s < end_s)
		finding_say(f, "until %s, and ", UNITS(seconds, level_s));
	else
		finding_say(f, isfinite(end_s) ? "meanwhile, and " : "since, and ");
	say_victim(f, t, &all[0]);
	finding_values(f, { "episodes", (n + 1) / 2 + (all[0].first_until_s > 0) }, { "cause_before_iops", iops_of(o, false) },
		       { "cause_after_iops", iops_of(o, true) }, { "cause_share", share_of_time(t, &all[0]) });
}
