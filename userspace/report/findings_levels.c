// SPDX-License-Identifier: GPL-2.0-only
/*
 * Level changes: a cache is exhausted, a drive begins to clean up, the load changes, a tail grows. They are searched in the
 * logarithms of IOPS and of percentiles, only over intervals in which the op was busy, since neither pauses of the
 * workload nor stalls are levels.
 */
#include "report/findings_levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"

#define FIFTHS 5
#define TOLD_MAX 3		/* if there are more changes, one finding sums them up */
#define STEP(p) ((p) == RUN_P50 ? FACTOR : 2.0)	/* the least of a percentile */
#define TAIL_IOS 2		/* IOs that an interval must have beyond a percentile */
#define SHORT 2			/* by how many steps latency rises for less than LEVEL_LEAST intervals, */
#define SHORT_IOS 20		/* and IOs beyond the percentile then; at least by */
#define SHORT_NOISE 5.0		/* standard deviations */
#define MEAN PERCENTILES_OVER_TIME

static void trace_uninit(struct trace *t)
{
	free(t->interval);
	free(t->y);
	free(t->room);
}

static int trace_init(struct trace *t, const struct inquiry *q, u32 op)
{
	const struct run *r = q->run;
	double ios;

	t->q = q;
	t->op = op;
	t->s = &q->watch->ops[op];
	t->interval = calloc(r->n, sizeof(*t->interval));
	t->y = calloc(r->n, sizeof(*t->y));
	t->room = calloc(r->n, sizeof(*t->room));
	if (!t->interval || !t->y || !t->room)
		return -ENOMEM;
	for (u32 i = 0; i < r->n; i++) {
		if (!t->s->ios[i] || q->stalled_s[i] || r->length_s[i] < r->interval_s / 2)
			continue;
		t->room[t->n] = (struct weighted){ t->s->ios[i], 1 };
		t->interval[t->n++] = i;
	}
	ios = weighted_median(t->room, t->n);
	for (u32 p = 0; p < PERCENTILES_OVER_TIME; p++)
		t->backed[p] = p == RUN_P50 || ios * (1 - run_over_time.p[p].q) >= TAIL_IOS * (1 - 1e-9);
	return 0;
}

static bool near_a_cut(const struct trace *t, u32 n, u32 cut)
{
	for (u32 i = 0; i < n; i++)
		if (cut + SAME_CUT >= t->cuts[i] && cut <= t->cuts[i] + SAME_CUT)
			return true;
	return false;
}

/* Adds the cuts of @t->y that differ from those found before. */
static int add_cuts(struct trace *t, double step)
{
	CLEANUP(cleanup_free) u32 *more = calloc(LEVEL_CUTS_MAX, sizeof(*more));
	u32 before = t->n_cuts;
	int n = more ? levels_find(t->y, t->n, step, more) : -ENOMEM;

	for (int i = 0; i < n && t->n_cuts < LEVEL_CUTS_MAX; i++)
		if (!near_a_cut(t, before, more[i]))
			t->cuts[t->n_cuts++] = more[i];
	return n < 0 ? n : 0;
}

/* Of a percentile, or the MEAN. */
static double log_ns(const struct trace *t, u32 place, u32 p)
{
	u32 i = t->interval[place];

	return log(fmax(p == MEAN ? (double)t->s->sum_ns[i] / t->s->ios[i] : series_percentile(t->s, i, p), 1));
}

/* Finds the cuts of IOPS, and adds those of the median and of percentiles behind it. */
static int find_cuts(struct trace *t)
{
	int err;

	for (u32 i = 0; i < t->n; i++)
		t->y[i] = log(run_iops(t->q->run, t->s->ios, t->interval[i]));
	err = add_cuts(t, log(FACTOR));
	for (u32 p = 0; !err && p < PERCENTILES_OVER_TIME; p++) {
		if (!t->backed[p])
			continue;
		for (u32 i = 0; i < t->n; i++)
			t->y[i] = log_ns(t, i, p);
		err = add_cuts(t, log(STEP(p)));
	}
	qsort(t->cuts, t->n_cuts, sizeof(*t->cuts), compare_u32);
	return err;
}

static bool is_at_mark(const struct run *r, double at_s)
{
	for (u32 i = 0; i < r->phases.n; i++)
		if (fmin(fabs(r->phases.p[i].from_s - at_s), fabs(r->phases.p[i].to_s - at_s)) <= SAME_CUT * r->interval_s)
			return true;
	return false;
}

/*
 * Where a rise of percentile @p at @from that is too short for a level ends; 0: there is none. All LEVEL_LEAST values before and
 * after are lower by @step, and by @mean_step of the mean, since a percentile between two peaks flickers. Behind a rise that goes
 * on at the run's end, which takes two intervals, there are none.
 */
static u32 end_of_short(const struct trace *t, u32 p, double step, double mean_step, u32 from)
{
	double most = -HUGE_VAL, most_mean = -HUGE_VAL;
	u32 to = from;

	for (u32 i = from - LEVEL_LEAST; i < from; i++) {
		most = fmax(most, log_ns(t, i, p));
		most_mean = fmax(most_mean, log_ns(t, i, MEAN));
	}
	while (to < t->n && log_ns(t, to, p) >= most + step && log_ns(t, to, MEAN) >= most_mean + mean_step &&
	       t->s->ios[t->interval[to]] * (1 - run_over_time.p[p].q) >= SHORT_IOS)
		to++;
	for (u32 i = to; i < t->n && i < to + LEVEL_LEAST; i++)
		if (log_ns(t, i, p) > most + step / 2)
			return 0;
	return to - from < LEVEL_LEAST && (to + LEVEL_LEAST <= t->n || (to == t->n && to - from > 1)) ? to : 0;
}

/* The standard deviation of the logarithms, but for steps: for a normal distribution 0.6745 of it is the median deviation. */
static double noise_of(const struct trace *t, u32 p)
{
	for (u32 i = 1; i < t->n; i++)
		t->room[i - 1] = (struct weighted){ fabs(log_ns(t, i, p) - log_ns(t, i - 1, p)), 1 };
	return weighted_median(t->room, t->n ? t->n - 1 : 0) / (0.6745 * M_SQRT2);
}

/* Adds the begins and ends of such rises, unless they are near a level's, or at a mark. */
static void add_short(struct trace *t)
{
	double mean_step = fmax(log(FACTOR), SHORT_NOISE * noise_of(t, MEAN));

	for (u32 p = 0; p < PERCENTILES_OVER_TIME; p++) {
		double step = fmax(SHORT * log(STEP(p)), SHORT_NOISE * noise_of(t, p));

		for (u32 i = LEVEL_LEAST; t->backed[p] && i < t->n && t->n_cuts + 2 <= LEVEL_CUTS_MAX; i++) {
			u32 to = end_of_short(t, p, step, mean_step, i);

			if (to <= i || near_a_cut(t, t->n_cuts, i) || near_a_cut(t, t->n_cuts, to) ||
			    is_at_mark(t->q->run, t->q->run->start_s[t->interval[i]]))
				continue;
			t->cuts[t->n_cuts++] = i;
			if (to == t->n)
				continue;
			t->cuts[t->n_cuts++] = to;
			t->shorts[t->n_shorts++] = i;
		}
	}
	qsort(t->cuts, t->n_cuts, sizeof(*t->cuts), compare_u32);
}

struct level rates_of(const struct trace *t, const struct series_run *s, struct span in)
{
	double ios = 0, bytes = 0, sum_ns = 0, time = 0;

	for (u32 i = in.from; s->ios && i < in.to; i++) {
		u32 at = t->interval[i];

		ios += s->ios[at];
		bytes += s->bytes[at];
		sum_ns += s->sum_ns[at];
		time += t->q->run->length_s[at];
	}
	if (!(ios > 0))
		return (struct level){ 0 };
	return (struct level){ .iops = ios / time, .bytes_per_s = bytes / time, .mean_ns = fmax(sum_ns / ios, 1) };
}

struct level figures_of(const struct trace *t, const struct series_run *s, struct span in)
{
	struct level l = rates_of(t, s, in);
	double time = 0;

	for (u32 i = in.from; i < in.to; i++) {
		time += t->q->run->length_s[t->interval[i]];
		l.queue_depth += t->q->watch->queue_depth[t->interval[i]] * t->q->run->length_s[t->interval[i]];
	}
	l.queue_depth /= time;
	for (u32 p = 0; l.iops > 0 && p < PERCENTILES_OVER_TIME; p++) {
		u32 n = 0;

		for (u32 i = in.from; i < in.to; i++)
			if (s->ios[t->interval[i]])
				t->room[n++] = (struct weighted){ series_percentile(s, t->interval[i], p), s->ios[t->interval[i]] };
		l.ns[p] = fmax(weighted_median(t->room, n), 1);
	}
	return l;
}

/* Where a level is. The intervals in which it changes are left out if it is long enough. */
static struct span span_of(const struct trace *t, u32 level)
{
	struct span s = { level ? t->cuts[level - 1] : 0, level < t->n_cuts ? t->cuts[level] : t->n };

	if (s.to - s.from > LEVEL_LEAST) {
		s.from += level > 0;
		s.to -= level < t->n_cuts;
	}
	return s;
}

double moment_of(const struct trace *t, const struct series_run *s, u32 cut, double before, double after)
{
	const struct run *r = t->q->run;
	u32 a = t->interval[cut - 1], b = t->interval[cut];
	double begin = r->start_s[a], length = run_end_of(r, b) - begin;
	double at_first = (s->ios[a] + s->ios[b] - after * length) / (before - after);

	/* After a rest, it came with the load. */
	return b > a + 1 || before == after || !s->ios[a] ? r->start_s[b] : begin + fmin(fmax(at_first, 0), length);
}

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
	if (b > a + 1 || !c->iops) {
		before += t->s->ios[a];
	} else {
		c->at_s = moment_of(t, t->s, cut, c->before.iops, c->after.iops);
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

/* Whether the load changed: more or fewer IOs are in flight, and done. */
static bool is_load(const struct change *c)
{
	int depth = direction(depth_of(&c->before), depth_of(&c->after), FACTOR);

	return depth && depth == c->iops;
}

static double size_of(const struct level *l)
{
	return l->bytes_per_s / l->iops;
}

static bool is_resized(const struct change *c)
{
	double before = size_of(&c->before), after = size_of(&c->after);

	return before > 0 && after > 0 && direction(before, after, FACTOR);
}

static bool has_culprit(const struct change *c)
{
	return c->cause.watch && c->cause.sure && c->latency > 0 && (c->cause.harms || (!is_load(c) && !is_resized(c)));
}

static bool is_worse(const struct change *c)
{
	return has_culprit(c) || (c->latency > 0 && !is_load(c) && !is_resized(c));
}

/* Sets what changed from one span to the other. */
static void compare(const struct trace *t, struct change *c)
{
	c->before = figures_of(t, t->s, c->span[0]);
	c->after = figures_of(t, t->s, c->span[1]);
	c->iops = direction(c->before.iops, c->after.iops, EVEN);
	c->mean = direction(c->before.mean_ns, c->after.mean_ns, EVEN);
	c->p50 = direction(c->before.ns[RUN_P50], c->after.ns[RUN_P50], EVEN);
	for (u32 p = PERCENTILES_OVER_TIME; --p > RUN_P50;)
		if (t->backed[p] && direction(c->before.ns[p], c->after.ns[p], FACTOR))
			c->tail = p;
	c->latency = c->mean ?: c->p50 ?: c->tail ? direction(c->before.ns[c->tail], c->after.ns[c->tail], FACTOR) : 0;
}

static struct change change_at(const struct trace *t, u32 i)
{
	struct change c = { .span = { span_of(t, i), span_of(t, i + 1) } };

	compare(t, &c);
	c.near[0] = (struct span){ max_u64(c.span[0].from + NEAR, c.span[0].to) - NEAR, c.span[0].to };
	c.near[1] = (struct span){ c.span[1].from, min_u64(c.span[1].from + NEAR, c.span[1].to) };
	place_change(t, t->cuts[i], &c);
	for (u32 k = 0; k < t->n_shorts; k++)
		if (t->shorts[k] == t->cuts[i])
			c.lasts_s = t->q->run->start_s[t->interval[t->cuts[i + 1]]] - t->q->run->start_s[t->interval[t->cuts[i]]];
	find_cause(t, i, &c);
	return c;
}

/* Without a step: whether percentile @p rises from each fifth of the time to the next, in all by as much as a step has to, as clearly. */
static bool find_drift(const struct trace *t, u32 p, struct change *ret)
{
	double squares = 0;

	if (t->q->run->phases.n || t->n < FIFTHS * LEVEL_LEAST)
		return false;
	*ret = (struct change){ .gradual = true, .at_s = t->q->run->start_s[t->interval[0]] };
	for (u32 i = 0; i < FIFTHS; i++) {
		double before_ns = ret->after.ns[p];

		ret->span[1] = (struct span){ i * t->n / FIFTHS, (i + 1) * t->n / FIFTHS };
		ret->after = figures_of(t, t->s, ret->span[1]);
		if (ret->after.ns[p] <= before_ns)
			return false;
		for (u32 k = ret->span[1].from; k < ret->span[1].to; k++)
			squares += pow(log_ns(t, k, p) - log(ret->after.ns[p]), 2);
	}
	ret->span[0].to = t->n / FIFTHS;
	compare(t, ret);
	return log(ret->after.ns[p] / ret->before.ns[p]) >= fmax(log(STEP(p)), sqrt(squares / t->n) * fmax(2, 5 / sqrt(t->n / FIFTHS / 2.0)));
}

/* A tail that grew or shrank, while rate and median stayed. */
static bool is_tail(const struct change *c)
{
	return c->tail && !c->iops && !c->p50;
}

/* By how much latency changed, and in what. */
static double times_of(const struct change *c, const char **ret_what)
{
	u32 p = shown_by(c);
	bool mean = c->mean && !is_tail(c);

	*ret_what = mean ? "mean" : p == RUN_P50 ? "median" : run_over_time.p[p].name;
	return mean ? c->after.mean_ns / c->before.mean_ns : c->after.ns[p] / c->before.ns[p];
}

/* Says what the figures tell about the cause. Whether it is a cache, only the drive knows. */
static void say_cause(struct finding *f, const struct change *c)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	if (c->rest_s)
		finding_say(f, "; a rest of %s came before", units_seconds(a, c->rest_s));
	if (is_load(c))
		finding_say(f, ": the load changed");
	else if (c->latency)
		finding_say(f, ": %s times %s by %s latency", units_number(a, fmax(f->times, 1 / f->times)),
			    c->latency > 0 ? "slower" : "faster", f->times_of);
	if (is_resized(c))
		finding_say(f, ", as their size went from %s to %s", units_memory(a, size_of(&c->before)), units_memory(b, size_of(&c->after)));
	else if (c->cause.watch)
		say_other(f, &c->cause);
	else if (!is_load(c) && c->latency > 0 && c->p50 > 0 && c->alone)
		finding_say(f, ", as when a cache is exhausted");
}

static void say_when(struct finding *f, const struct change *c)
{
	char at[UNITS_TEXT];

	finding_say(f, " at %s", units_seconds(at, c->at_s));
	if (c->lasts_s)
		finding_say(f, " for %s", units_seconds(at, c->lasts_s));
}

static void say_tail(struct finding *f, const struct change *c)
{
	char times[UNITS_TEXT], a[UNITS_TEXT], b[UNITS_TEXT], at[UNITS_TEXT];

	finding_say(f, "%s %s %s times", f->times_of, c->after.ns[c->tail] > c->before.ns[c->tail] ? "rose" : "fell",
		    units_short(times, fmax(f->times, 1 / f->times)));
	if (c->gradual)
		finding_say(f, " little by little");
	else
		say_when(f, c);
	finding_say(f, ", from %s to %s", units_ns(a, c->before.ns[c->tail]), units_ns(b, c->after.ns[c->tail]));
	finding_say(f, "; p50 did not (%s)", units_ns(a, c->after.ns[RUN_P50]));
	finding_say(f, "; mean %s before, %s after, at %s IOPS", units_ns(a, c->before.mean_ns), units_ns(b, c->after.mean_ns),
		    units_short(at, c->after.iops));
	if (c->cause.watch)
		say_other(f, &c->cause);
}

static void say_change(struct finding *f, const struct change *c)
{
	bool fell = c->iops ? c->iops < 0 : c->mean ? c->mean < 0 : c->after.ns[RUN_P50] < c->before.ns[RUN_P50];
	int tail = c->tail ? direction(c->before.ns[c->tail] * c->after.ns[RUN_P50], c->after.ns[c->tail] * c->before.ns[RUN_P50], FACTOR) : 0;
	char a[UNITS_TEXT], b[UNITS_TEXT], share[UNITS_TEXT];

	units_short(a, c->before.iops);
	units_short(b, c->after.iops);
	if (c->iops && !c->gradual)
		finding_say(f, "IOPS %s from %s to %s", fell ? "fell" : "rose", a, b);
	else
		finding_say(f, "%slatency %s", c->gradual ? "" : c->mean ? "mean " : "median ", fell ? "fell" : "rose");
	if (c->gradual) {
		finding_say(f, " little by little");
	} else {
		say_when(f, c);
		finding_say(f, ", after %s of the IOs", units_share(share, c->share));
	}
	if (!c->iops || c->gradual)
		finding_say(f, ", at %s IOPS before and %s after", a, b);
	finding_say(f, "; mean %s before, %s after", units_ns(a, c->before.mean_ns), units_ns(b, c->after.mean_ns));
	finding_say(f, "; p50 %s before, %s after", units_ns(a, c->before.ns[RUN_P50]), units_ns(b, c->after.ns[RUN_P50]));
	if (tail)
		finding_say(f, "; %s %s before, %s after", run_over_time.p[c->tail].name, units_ns(a, c->before.ns[c->tail]),
			    units_ns(b, c->after.ns[c->tail]));
	say_cause(f, c);
}

static void state_rule(struct finding *f)
{
	finding_rule(f, "a step by a factor of 1.5 or more in IOPS or in the median latency, or of 2 in a percentile with %d IOs beyond "
		     "it, between levels of %d intervals or more that scatter by at most half the step (of fewer, by two steps, and the "
		     "mean by one); rests and stalls are left out; or a percentile that rises as much from fifth to fifth of the time, "
		     "without one; another load is named if it changed by a factor of 1.5 or more at most %d intervals apart",
		     TAIL_IOS, LEVEL_LEAST, SAME_CUT);
}

/* A change, or several times the same by one culprit: @all. */
static void report_change(const struct trace *t, const struct change *all, u32 n)
{
	struct finding *f = finding_add(t->q, "level_change", t->op);
	const struct change *c = &all[0];
	const struct other *o = &c->cause;

	f->from_s = c->at_s;
	f->to_s = c->gradual ? f->to_s : all[n - 1].at_s;
	f->times = times_of(c, &f->times_of);
	if (!is_worse(c)) {
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
	if (o->watch) {
		f->cause = owner_of(o->watch) ?: op_names[o->op];
		f->cause_op = o->op;
	}
	if (has_culprit(c))
		say_culprit(f, t, all, n);
	else if (is_tail(c))
		say_tail(f, c);
	else
		say_change(f, c);
	state_rule(f);
}

/* Sums up many changes, such as those of a drive that cleans up now and then, or of a load in steps. */
static void report_many(const struct trace *t, const struct change *all)
{
	struct finding *f = finding_add(t->q, "level_change", t->op);
	const struct level *least = &all[0].before, *most = least, *fastest = least, *slowest = least;
	char a[UNITS_TEXT], b[UNITS_TEXT], from[UNITS_TEXT], to[UNITS_TEXT];

	f->grade = FINDING_DIFFERS;
	f->from_s = f->to_s = all[0].at_s;
	for (u32 i = 0; i < t->n_cuts; i++) {
		const struct level *l = &all[i].after;

		least = l->iops < least->iops ? l : least;
		most = l->iops > most->iops ? l : most;
		fastest = l->mean_ns < fastest->mean_ns ? l : fastest;
		slowest = l->mean_ns > slowest->mean_ns ? l : slowest;
		f->grade = is_worse(&all[i]) ? FINDING_WRONG : f->grade;
		f->to_s = fmax(f->to_s, all[i].at_s);
	}
	f->times = slowest->mean_ns / fastest->mean_ns;
	f->times_of = "mean";
	finding_values(f, { "changes", t->n_cuts }, { "first_at_s", f->from_s }, { "last_at_s", f->to_s },
		       { "least_iops", least->iops }, { "most_iops", most->iops },
		       { "least_iops_p50_ns", least->ns[RUN_P50] }, { "most_iops_p50_ns", most->ns[RUN_P50] },
		       { "least_mean_ns", fastest->mean_ns }, { "most_mean_ns", slowest->mean_ns });
	finding_say(f, "the level changed %u times from %s to %s; ", t->n_cuts, units_seconds(from, f->from_s), units_seconds(to, f->to_s));
	/* Named by what moved. */
	if (direction(least->iops, most->iops, EVEN)) {
		finding_say(f, "the lowest has %s IOPS with a p50 of %s", units_short(a, least->iops), units_ns(b, least->ns[RUN_P50]));
		finding_say(f, ", the highest %s IOPS with %s", units_short(a, most->iops), units_ns(b, most->ns[RUN_P50]));
	} else {
		finding_say(f, "the mean is %s in the fastest and %s in the slowest", units_ns(a, fastest->mean_ns), units_ns(b, slowest->mean_ns));
		finding_say(f, ", at %s IOPS", units_short(a, slowest->iops));
	}
	state_rule(f);
}

/* Does a phase begin or end at each of several changes? Then they are what the user set, and the phases' figures tell them. */
static bool is_sweep(const struct trace *t)
{
	for (u32 i = 0; i < t->n_cuts; i++)
		if (!is_at_mark(t->q->run, t->q->run->start_s[t->interval[t->cuts[i]]]))
			return false;
	return t->n_cuts > 1;
}

/*
 * Moves the changes by the culprit of the first one behind it, those for the worse and for the better in turn, as one load comes
 * and goes; or the end of a short rise. Returns how many belong together; at least 1.
 */
static u32 gather(struct change *all, u32 n)
{
	const struct other *o = &all[0].cause;
	u32 m = 1;

	if (!has_culprit(&all[0]))
		return all[0].lasts_s && n > 1 ? 2 : 1;
	for (u32 i = 1; i < n; i++) {
		const struct change c = all[i];

		if (c.cause.watch != o->watch || c.cause.op != o->op || c.latency != (m % 2 ? -1 : 1))
			continue;
		memmove(&all[m + 1], &all[m], (i - m) * sizeof(*all));
		all[m++] = c;
	}
	return m;
}

static int report_changes(const struct trace *t)
{
	CLEANUP(cleanup_free) struct change *all = calloc(t->n_cuts ?: 1, sizeof(*all));
	bool recovers = false, drifts = false;
	u32 told = 0;

	if (!all)
		return -ENOMEM;
	for (u32 i = t->n_cuts; i--;) {
		all[i] = change_at(t, i);
		recovers |= all[i].latency < 0;
		all[i].alone &= !recovers;
	}
	for (u32 i = 0; i < t->n_cuts; i++)
		all[i].cause.sure = cause_is_sure(t, all, i);
	for (u32 i = 0; i < t->n_cuts; i += gather(&all[i], t->n_cuts - i))
		told++;
	for (u32 p = 0; !t->n_cuts && !drifts && p < PERCENTILES_OVER_TIME; p++)
		drifts = t->backed[p] && find_drift(t, p, all);
	if (drifts)
		report_change(t, all, 1);
	if (told > TOLD_MAX) {
		report_many(t, all);
		return 0;
	}
	for (u32 i = 0, n; i < t->n_cuts; i += n) {
		n = gather(&all[i], t->n_cuts - i);
		report_change(t, &all[i], n);
	}
	return 0;
}

int find_level_changes(const struct inquiry *q, u32 op)
{
	struct trace t CLEANUP(trace_uninit) = { 0 };
	int err = trace_init(&t, q, op) ?: find_cuts(&t);

	if (!err && is_sweep(&t)) {
		*q->sweeps |= 1U << op;
		return 0;
	}
	if (!err)
		add_short(&t);
	return err ?: report_changes(&t);
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
