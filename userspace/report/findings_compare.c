// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sets the lines of a chart apart: an op of several devices of a run, or of one device in several runs.
 * Percentiles are compared from p5 on, as far as ten IOs of both lines lie beyond.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/comparison.h"
#include "report/findings_rules.h"
#include "util/cleanup.h"

#define IOS_BEYOND 10
#define P10 5			/* its step, see step() */
/* percentiles that differ by less are equal; so are all below the step where two lines part, */
#define EQUAL 1.08
#define WAVERING 1.15		/* if none there differs by more than this */
/* where few IOs lie beyond, lines that differ by less are equal, too */
#define FAR(q) ((q) > 0.99 ? 1.5 : (q) > 0.95 ? 1.2 : EQUAL)
#define CHANCE 5.0		/* and those that differ by so many standard errors */
#define CLASS 2.0		/* a gap between classes */
#define SIZES 1.5		/* mean sizes of IOs that differ by less are not told */
#define PAIRS_MOST 4		/* of more lines, only pairs that part are told */
#define NAMED 8
#define NAME 48
#define FAST 2.0		/* IOs up to this factor above p5 are fast, */
#define SLOW 3.0		/* if nearly all others are slower by this factor at least */

struct line {
	char name[NAME];
	const struct run *run;
	const struct watch_run *watch;
	const struct op_frame *o;
	double error[PERCENTILES_OVER_TIME];	/* standard errors of the logarithms of run_over_time */
};

struct lines {
	const struct inquiry *q;	/* of the first */
	u32 n, op;
	bool of_runs;			/* else of devices */
	bool to_first;			/* the first one is compared with each, else each with the next */
	struct line *of, *by;		/* as given; and from slowest to fastest */
	bool alike;			/* all at p50 */
};

static double at(const struct line *l, double q)
{
	return fmax(op_quantile_ns(l->o, q), 1);
}

/* Adds a finding; its text begins with op and device, if that is one. */
static struct finding *lines_finding_add(const struct lines *ls, const char *kind)
{
	struct finding *f = finding_add(ls->q, kind, ls->op);
	const struct watch *first = ls->of[0].watch->watch;
	bool one_device = true;

	for (u32 i = 1; i < ls->n; i++)
		one_device &= !strcmp(ls->of[i].watch->watch->device->name, first->device->name);
	if (!one_device)
		snprintf(f->text, sizeof(f->text), first->stage == BLKLAT_STAGE_DEVICE ? "%s: " : "%s (%s): ", op_names[ls->op],
			 stage_names[first->stage]);
	return f;
}

/*
 * From what an interval's percentile @p differs from the next one's by; for a normal distribution the mean of that is
 * 1.128 deviations.
 */
static double error_of(const struct line *l, u32 op, u32 p)
{
	const struct series_run *s = &l->watch->ops[op];
	double differences = 0, before = 0;
	u32 n = 0;

	for (u32 i = 0; i < l->run->n; i++) {
		double ns = percentiles_run_ns(&s->percentiles, i, p);

		if (ns > 0 && before > 0 && ++n)
			differences += fabs(log(ns / before));
		before = ns > 0 ? ns : before;
	}
	return n ? differences / n / 1.128 * 1.2533 / sqrt(n) : 0;
}

/* A factor by which percentile @q hardly differs by chance: as the next one over time does. */
static double chance_of(const struct line *a, const struct line *b, double q)
{
	u32 p = 0;

	while (p + 1 < PERCENTILES_OVER_TIME && run_over_time.p[p].q < q)
		p++;
	return exp(CHANCE * hypot(a->error[p], b->error[p]));
}

static int by_p50(const void *of_a, const void *of_b)
{
	double p50 = at(of_b, 0.5) - at(of_a, 0.5), p99 = at(of_b, 0.99) - at(of_a, 0.99);

	return p50 ? (p50 > 0) - (p50 < 0) : (p99 > 0) - (p99 < 0);
}

static int find_order(const struct lines *ls)
{
	double slowest = at(&ls->by[0], 0.5), fastest = at(&ls->by[ls->n - 1], 0.5);
	const struct line *low = ls->by, *high = ls->by;
	struct finding *f;
	u32 classes = 1;
	bool tails;

	for (u32 i = 1; i < ls->n; i++) {
		low = at(&ls->by[i], 0.99) < at(low, 0.99) ? &ls->by[i] : low;
		high = at(&ls->by[i], 0.99) > at(high, 0.99) ? &ls->by[i] : high;
	}
	tails = at(high, 0.99) >= fmax(FAR(0.99), chance_of(low, high, 0.99)) * at(low, 0.99);
	/* Of a few lines, pairs tell where they part. */
	if (ls->n < 3 || (ls->alike && (!ls->of_runs || (tails && ls->n <= PAIRS_MOST))))
		return 0;
	f = lines_finding_add(ls, "order");
	f->times = slowest / fastest;
	f->grade = ls->alike && !tails ? FINDING_WELL : FINDING_DIFFERS;
	if (ls->alike)
		finding_say(f, "%u are alike at p50: %s (%s) to %s (%s)", ls->n, UNITS(ns, fastest), ls->by[ls->n - 1].name, UNITS(ns, slowest),
			    ls->by[0].name);
	else
		finding_say(f, "from slowest to fastest at p50:");
	if (ls->alike && tails)
		finding_say(f, ", but not at p99: %s (%s) to %s (%s)", UNITS(ns, at(low, 0.99)), low->name, UNITS(ns, at(high, 0.99)), high->name);
	for (u32 i = 0; i < ls->n; i++) {
		const struct line *l = &ls->by[i];
		double gap = i ? at(l - 1, 0.5) / at(l, 0.5) : 1;

		classes += gap >= CLASS;
		if (ls->alike)
			continue;
		if (i == NAMED)
			finding_say(f, ", %u more", ls->n - NAMED - 1);
		if (i >= NAMED && i + 1 < ls->n)
			continue;
		if (gap >= CLASS)
			finding_say(f, "; %s times faster,", UNITS(times, gap));
		finding_say(f, "%s %s %s (%s IOPS)", i && gap < CLASS ? "," : "", l->name, UNITS(ns, at(l, 0.5)),
			    UNITS(short, l->o->iops));
	}
	finding_values(f, { "lines", ls->n }, { "classes", classes }, { "slowest_p50_ns", slowest }, { "fastest_p50_ns", fastest });
	finding_rule(f, "of three or more, by the median; a class begins where it is %g times faster or more", CLASS);
	return 0;
}

/* --- where two lines part --- */

struct split {
	const struct line *a, *b;	/* the first is slower at the end */
	u32 n;				/* steps that are compared */
	u32 from;			/* from this step on it is always slower; n: they are equal at the end */
	double within;			/* largest factor by which they differ before */
};

/* p5 to p99 by 1, then to p99.9 by 0.1. */
static double step(u32 i)
{
	return i <= 94 ? (5 + i) / 100.0 : 0.99 + (i - 94) / 1000.0;
}

static double ratio(const struct split *s, double q)
{
	return at(s->a, q) / at(s->b, q);
}

/*
 * By how much the slower line is so at least at @q: by two standard errors of a share of the IOs of either, since a
 * percentile near the edge of a peak may be on any side of it by chance.
 */
static double sure_ratio(const struct split *s, double q)
{
	double few = 2 * sqrt(q * (1 - q));

	return at(s->a, q - few / sqrt(s->a->o->ios)) / at(s->b, q + few / sqrt(s->b->o->ios));
}

static struct split split_of(const struct line *a, const struct line *b)
{
	struct split s = { .a = a, .b = b, .within = 1 };

	while (step(s.n) < 0.9995 && fmin(a->o->ios, b->o->ios) * (1 - step(s.n)) >= IOS_BEYOND * (1 - 1e-9))
		s.n++;
	if (ratio(&s, step(s.n - 1)) < 1) {
		s.a = b;
		s.b = a;
	}
	for (s.from = s.n; s.from && ratio(&s, step(s.from - 1)) >= EQUAL;)
		s.from--;
	for (u32 i = 0; i < s.from; i++) {
		double r = ratio(&s, step(i));

		s.within = fmax(s.within, fmax(r, 1 / r));
	}
	return s;
}

/*
 * "2.01 times slower at p50, 1.50 at p90, 1.30 times faster at p99": those from @from on, or else the last. Returns
 * whether all differ by less than @limit, or than by chance: curves with several peaks may be alike, and yet far apart
 * where they are steep. @f may be NULL.
 */
static bool say_ratios(struct finding *f, const struct split *s, double from, double limit, bool or_chance)
{
	const double told[] = { 0.1, 0.5, 0.9, 0.99, step(s->n - 1) };
	const char *before = "", *lead = " ";
	/* The last one is told with p99 if it lies behind and differs further. */
	bool alike = true, last = told[4] > 0.99 && sure_ratio(s, told[4]) >= FAR(told[4]) * fmax(ratio(s, 0.99), 1);

	for (u32 i = 0; i < ARRAY_SIZE(told); i++) {
		double r = ratio(s, told[i]), times = fmax(r, 1 / r);
		bool equal = times <= quantile_resolution(s->a->o->hist.scale, at(s->a, told[i]));
		const char *now = equal ? "" : r > 1 ? " times slower" : " times faster";

		if (told[i] < from || told[i] > told[4] || (i == 4 && *lead != ' ' && !last))
			continue;
		if (f)
			finding_say(f, "%s%s%s at p%g", lead, equal ? "equal" : UNITS(times, times),
				    equal || now == before ? "" : now, 100 * told[i]);
		before = equal ? before : now;
		alike &= times < (or_chance ? fmax(limit, chance_of(s->a, s->b, told[i])) : limit);
		lead = ", ";
	}
	return alike;
}

/* Of IOs whose sizes differ. */
static void say_size(struct finding *f, const struct line *l, const struct line *other)
{
	double bytes = (double)l->o->bytes / l->o->ios, others = (double)other->o->bytes / other->o->ios;

	if (fmin(bytes, others) > 0 && fmax(bytes, others) >= SIZES * fmin(bytes, others))
		finding_say(f, " with IOs of %s", UNITS(memory, bytes));
}

static void tell_pair(const struct lines *ls, const struct split *s)
{
	const struct line *a = s->a, *b = s->b;
	double end = step(s->n - 1);
	bool far = s->from < s->n && sure_ratio(s, end) >= fmax(FAR(step(s->from)), chance_of(a, b, end));
	bool in_body = s->from < s->n && FAR(step(s->from)) == EQUAL;
	bool equal = !far && s->within <= WAVERING && !in_body, part = far && s->from > P10 && s->within <= WAVERING;
	bool alike = equal || (!part && say_ratios(NULL, s, 0, ls->of_runs ? EQUAL : WAVERING, true));
	bool close = equal || (alike && say_ratios(NULL, s, 0, WAVERING, false));
	double depth = a->o->iops * a->o->mean_ns / NSEC_PER_SEC,
	       other_depth = b->o->iops * b->o->mean_ns / NSEC_PER_SEC;
	struct finding *f;

	if ((alike && !ls->of_runs) || (ls->n > PAIRS_MOST && !part && (alike || !ls->to_first)))
		return;
	f = lines_finding_add(ls, "pair");
	if (equal || part)
		finding_say(f, "%s and %s are equal within %g %% %s p%g", a->name, b->name, fmax(ceil(100 * (s->within - 1) - 1e-6), 1),
			    part ? "up to" : "from p5 to", 100 * step(s->from - 1));
	if (part)
		finding_say(f, ", then %s tapers:", a->name);
	else if (!equal)
		finding_say(f, close ? "%s is much like %s:" : alike ? "%s and %s are no further apart than by chance:" : "%s against %s:",
			    a->name, b->name);
	if (!equal)
		say_ratios(f, s, part ? step(s->from) : 0, EQUAL, false);
	if (close && fmax(depth, other_depth) >= CLASS * fmin(depth, other_depth))
		finding_say(f, ": the same latency, %s at a lower depth", depth < other_depth ? a->name : b->name);
	finding_say(f, "; %s has p50 %s, %s IOPS and QD %s", a->name, UNITS(ns, at(a, 0.5)), UNITS(short, a->o->iops), UNITS(short, depth));
	say_size(f, a, b);
	finding_say(f, ", %s %s, %s and %s", b->name, UNITS(ns, at(b, 0.5)), UNITS(short, b->o->iops), UNITS(short, other_depth));
	say_size(f, b, a);
	f->grade = alike ? FINDING_WELL : FINDING_DIFFERS;
	f->times = ratio(s, step(s->n - 1));
	finding_values(f, { "times_p50", ratio(s, 0.5) }, { "times_p90", ratio(s, 0.9) }, { "times_last", f->times },
		       { "last_share", step(s->n - 1) }, { "equal_share", equal || part ? step(s->from - 1) : 0 },
		       { "within_share", s->within - 1 }, { "p50_ns", at(a, 0.5) }, { "other_p50_ns", at(b, 0.5) }, { "iops", a->o->iops },
		       { "other_iops", b->o->iops }, { "queue_depth", depth }, { "other_queue_depth", other_depth });
	finding_rule(f, "percentiles from p5 on, as far as %d IOs lie beyond; they part where all from there on differ by %g %% or more "
		     "(in the end by a factor of %g beyond p95, %g beyond p99), and are equal before if none differs by more than %g %%; QD is IOPS "
		     "times mean latency; lines are alike as well where chance, by how intervals differ, makes as much of it", IOS_BEYOND, 100 * (EQUAL - 1), FAR(0.96), FAR(0.999), 100 * (WAVERING - 1));
}

static int find_pairs(const struct lines *ls)
{
	if (ls->of_runs && ls->alike && ls->n > PAIRS_MOST && !ls->to_first)
		return 0;
	for (u32 i = 1; i < ls->n; i++) {
		const struct split s = ls->to_first ? split_of(&ls->of[i], &ls->of[0])
						    : split_of(&ls->by[i - 1], &ls->by[i]);

		tell_pair(ls, &s);
	}
	return 0;
}

/* --- a fast part of the IOs, such as those that a cache takes, and the rest --- */

struct regimes {
	double share, fast_ns;		/* of the fast ones, and their median */
	double from, to;		/* how many times as long the others take: p5, p95 */
};

static bool regimes_of(const struct line *l, struct regimes *ret)
{
	const struct hist *h = &l->o->hist;
	double end_ns = FAST * at(l, 0.05), share = 0;

	hist_for_each(cell, h)
		share += hist_upper_ns(h->scale, cell) <= end_ns ? (double)h->cells[cell] / l->o->ios : 0;
	*ret = (struct regimes){ share, at(l, share / 2), at(l, share + 0.05 * (1 - share)), at(l, share + 0.95 * (1 - share)) };
	ret->from /= ret->fast_ns;
	ret->to /= ret->fast_ns;
	return share >= 0.1 && share <= 0.95 && ret->from >= SLOW;
}

/* Of a run by itself, levels and peaks tell it. */
static int find_regimes(const struct lines *ls)
{
	struct regimes r, all = { 1, 0, HUGE_VAL, 0 };
	struct finding *f = NULL;

	for (u32 i = 0; ls->of_runs && i < ls->n && i < NAMED; i++) {
		if (!regimes_of(&ls->by[i], &r))
			continue;
		f = f ?: lines_finding_add(ls, "regimes");
		finding_say(f, "%s%s has %s of its IOs around %s, the others take %s to %s times as long", all.to > 0 ? "; " : "", ls->by[i].name,
			    UNITS(share, r.share), UNITS(ns, r.fast_ns), UNITS(times, r.from), UNITS(times, r.to));
		all = (struct regimes){ fmin(all.share, r.share), 0, fmin(all.from, r.from), fmax(all.to, r.to) };
	}
	if (!f)
		return 0;
	finding_values(f, { "least_share", all.share }, { "least_times", all.from }, { "most_times", all.to });
	finding_rule(f, "10 to 95 %% of the IOs take at most twice as long as p5, and 95 %% of the others at least %g times as long as the "
		     "median of these; the others from their p5 to their p95", SLOW);
	return 0;
}

/* Of a run by itself, see findings_even.c. */
static int find_consistencies(const struct lines *ls)
{
	struct finding *f = NULL;
	double least = 1;

	for (u32 i = 0; ls->of_runs && i < ls->n && i < NAMED; i++) {
		const struct steady_window window = steady_window_default(ls->by[i].run);
		struct evenness e;

		if (evenness_of(ls->by[i].run, ls->by[i].watch, ls->op, &window, &e))
			return -ENOMEM;
		if (e.share < 0)
			continue;
		if (!f) {
			f = lines_finding_add(ls, "consistency");
			f->grade = FINDING_WELL;
		}
		finding_say(f, "%s%s ", f->n ? "; " : "", ls->by[i].name);
		evenness_say(f, &e);
		f->grade = e.how ? FINDING_DIFFERS : f->grade;
		least = fmin(least, e.share);
		f->n = 0;
		finding_values(f, { "worst_share", least });
	}
	if (f)
		finding_rule(f, EVENNESS_RULE);
	return 0;
}

/* --- which lines there are --- */

static int find_all(struct lines *ls)
{
	static int (*const rules[])(const struct lines *ls) = { find_order, find_pairs, find_regimes, find_consistencies };
	CLEANUP(cleanup_free) struct line *by = calloc(ls->n ?: 1, sizeof(*by));
	int err = by ? 0 : -ENOMEM;

	if (err || !ls->n)
		return err;
	for (u32 i = 0; i < ls->n; i++)
		for (u32 p = 0; p < PERCENTILES_OVER_TIME; p++)
			ls->of[i].error[p] = error_of(&ls->of[i], ls->op, p);
	ls->by = memcpy(by, ls->of, ls->n * sizeof(*by));
	qsort(by, ls->n, sizeof(*by), by_p50);
	ls->alike = at(&by[0], 0.5) / at(&by[ls->n - 1], 0.5) <
		    fmax(ls->of_runs ? EQUAL : WAVERING, chance_of(&by[0], &by[ls->n - 1], 0.5));
	for (u32 i = 0; !err && i < ARRAY_SIZE(rules); i++)
		err = rules[i](ls);
	return err;
}

static bool lies_on(const struct device *d, u32 lower)
{
	for (u32 i = 0; i < d->n_lower; i++)
		if (d->lower[i] == lower)
			return true;
	return false;
}

/*
 * Not what lies on another watched device, is watched at a stage before, or was not there all the time, nor what
 * stalled or became slow.
 */
static bool is_of_its_own(const struct inquiry *q, const struct watch_run *w)
{
	const struct run *r = q->run;
	const struct device *d = w->watch->device;

	if (w->first_there || w->n_there < r->n)
		return false;
	run_for_each_whole(of, r) {
		u32 other = of->watch->device - r->devices.d;

		if ((of->watch->device == d ? of < w : other == d->parent) || lies_on(d, other))
			return false;
	}
	for (u32 i = 0; i < q->to->n; i++) {
		const struct finding *f = &q->to->f[i];

		if (f->watch == w->watch && f->grade == FINDING_WRONG &&
		    (!strcmp(f->kind, "level_change") || !strcmp(f->kind, "unlike") || !strcmp(f->kind, "stall")))
			return false;
	}
	return true;
}

int find_compared(const struct inquiry *q, u32 op)
{
	CLEANUP(cleanup_free) struct line *of = calloc(q->run->n_watches, sizeof(*of));
	struct lines ls = { .q = q, .op = op, .of = of };

	if (!of)
		return -ENOMEM;
	if (!is_of_its_own(q, q->watch))
		return 0;
	run_for_each_whole(w, q->run) {
		if (w->watch->stage != q->watch->watch->stage || !op_has_figures(w, op) || !is_of_its_own(q, w))
			continue;
		if (!ls.n && w != q->watch)
			return 0;
		of[ls.n] = (struct line){ .run = q->run, .watch = w, .o = w->ops[op].total };
		snprintf(of[ls.n++].name, NAME, "%.40s", w->watch->device->name);
	}
	return find_all(&ls);
}

int findings_compare(const struct comparison *c, bool to_first, struct findings *ret)
{
	CLEANUP(findings_uninit) struct findings made = { 0 };
	CLEANUP(cleanup_free) struct line *of = calloc(c->n_runs, sizeof(*of));
	int err = of ? 0 : -ENOMEM;

	find_drives(c, &made);
	for (u32 i = 0; !err && i < c->n_groups; i += 1 + comparison_parts(c, i)) {
		const struct compared_group *g = &c->groups[i];
		struct lines ls = { .op = g->op, .of_runs = true, .to_first = to_first, .of = of };
		bool below = false;

		for (u32 k = 0; k < c->n_runs; k++) {
			if (!g->of[k].watch || !op_has_figures(g->of[k].watch, g->op))
				continue;
			of[ls.n] = (struct line){ .run = &c->runs[k], .watch = g->of[k].watch, .o = g->of[k].o };
			run_name(c->runs, c->n_runs, k, of[ls.n++].name, NAME);
		}
		ls.q = &(const struct inquiry){ .run = of[0].run, .watch = of[0].watch, .to = &made };
		if (ls.n < 2 || c->n_base)
			continue;
		run_for_each_whole(upper, of[0].run)	/* which is compared as well */
			below |= lies_on(upper->watch->device, of[0].watch->watch->device - of[0].run->devices.d);
		err = below ? 0 : find_all(&ls);
	}
	if (err || made.lacks_memory || findings_order(&made, c->runs))
		return -ENOMEM;
	*ret = made;
	made = (struct findings){ 0 };
	return 0;
}
