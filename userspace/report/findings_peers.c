// SPDX-License-Identifier: GPL-2.0-only
/* A device whose p99 is above that of others of its kind and model, which have a like load; or p90, of few IOs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/health.h"
#include "report/findings_rules.h"
#include "util/cleanup.h"

#define FACTOR 1.5
#define AGREE 0.75		/* share of the intervals in which it is slower, by */
#define AGREE_FACTOR 1.2
#define IOS_LEAST(p) ((p) == RUN_P99 ? 100 : 20)	/* of an interval, for its percentile */
#define INTERVALS_LEAST 20
#define MORE 2			/* a device with so many times as many IOs, or as large ones, has no like load, */
#define FEWER 10		/* nor has one with so many times fewer; a slow one may have fewer, since it is slow */
#define SURE 0.001
#define METHOD "Wilcoxon's signed-rank test, one-sided, Bonferroni's correction"

/* Devices alike, and an op. */
struct peers {
	const struct inquiry *q;
	u32 op, n, p;			/* p: the place of the percentile in run_over_time */
	const struct watch_run **of;
	double *like_ns;		/* [interval] the median of their percentiles; 0: too few have IOs */
	struct weighted *room;		/* for medians: of devices, or of intervals */
};

bool is_same_kind(const struct watch_run *a, const struct watch_run *b)
{
	const struct device *d = a->watch->device, *e = b->watch->device;

	/* What lies on another device is as that one is. */
	return a->watch->stage == b->watch->stage && !strcmp(d->kind, e->kind) && !strcmp(d->model, e->model) &&
	       !d->n_lower && !device_is_partition(d) && strcmp(d->kind, "loop");
}

static double size_of(const struct watch_run *w)
{
	double bytes = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		bytes += w->total->ops[op].bytes;
	return bytes / watch_run_ios(w);
}

/* Takes devices of the kind that have the op; then drops those whose load is not like the median one. */
static void gather(struct peers *p)
{
	double ios, size;
	u32 n = 0;

	run_for_each_whole(w, p->q->run)
		if (is_same_kind(w, p->q->watch) && op_matters(w, p->op))
			p->of[n++] = w;
	for (u32 i = 0; i < n; i++)
		p->room[i] = (struct weighted){ watch_run_ios(p->of[i]), 1 };
	ios = weighted_median(p->room, n);
	for (u32 i = 0; i < n; i++)
		p->room[i] = (struct weighted){ size_of(p->of[i]), 1 };
	size = weighted_median(p->room, n);
	for (u32 i = 0; i < n; i++) {
		double own = watch_run_ios(p->of[i]), own_size = size_of(p->of[i]);

		if (own <= MORE * ios && own * FEWER >= ios && fmax(own_size, size) <= MORE * fmin(own_size, size))
			p->of[p->n++] = p->of[i];
	}
}

/* Negative: too few IOs. */
static double ns_of(const struct peers *p, const struct watch_run *w, u32 i)
{
	const struct series_run *s = &w->ops[p->op];

	return s->ios && s->ios[i] >= IOS_LEAST(p->p) ? fmax(percentiles_run_ns(&s->percentiles, i, p->p), 1) : -1;
}

/* The lower of two middle ones counts as the median, so it is seen if half of them are slow. */
static void measure(struct peers *p)
{
	for (u32 i = 0; i < p->q->run->n; i++) {
		u32 n = 0;

		for (u32 k = 0; k < p->n; k++)
			if (ns_of(p, p->of[k], i) > 0)
				p->room[n++] = (struct weighted){ ns_of(p, p->of[k], i), 1 };
		p->like_ns[i] = n >= HEALTH_LIKE_MIN ? weighted_median(p->room, n) : 0;
	}
}

static int by_distance(const void *of_a, const void *of_b)
{
	double a = fabs(log(((const struct weighted *)of_a)->value)),
	       b = fabs(log(((const struct weighted *)of_b)->value));

	return (a > b) - (a < b);
}

/*
 * The normal approximation of the probability of ratios so far above 1 by chance. Sorts them by their distance from
 * 1.
 */
static double signed_rank(struct weighted *ratios, u32 n)
{
	double sum = 0, mean = n * (n + 1.0) / 4, deviation = sqrt(n * (n + 1.0) * (2.0 * n + 1) / 24);

	qsort(ratios, n, sizeof(*ratios), by_distance);
	for (u32 from = 0, to; from < n; from = to) {
		for (to = from; to < n && !by_distance(&ratios[from], &ratios[to]); to++)
			;
		for (u32 i = from; i < to; i++)
			sum += ratios[i].value > 1 ? (from + 1 + to) / 2.0 : 0;
	}
	return n ? erfc((sum - mean) / deviation / M_SQRT2) / 2 : 1;
}

/* When it became slower, if that is told; it is compared with the others until then. */
static double told_from(const struct peers *p, const struct watch_run *w)
{
	double from_s = INFINITY;

	for (u32 i = 0; i < p->q->to->n; i++) {
		const struct finding *f = &p->q->to->f[i];

		if (f->watch == w->watch && f->op == (int)p->op && f->grade == FINDING_WRONG && !strcmp(f->kind, "level_change"))
			from_s = fmin(from_s, f->from_s);
	}
	return from_s;
}

/* Figures of the intervals until then in which both have one: its own, the others', or the ratio. */
enum figure { OWN, OTHERS, TIMES, FIGURES };

/* Sets the medians; room has the ratios then. Returns how many there are. */
static u32 medians_of(const struct peers *p, const struct watch_run *w, double until_s, double ret[FIGURES])
{
	u32 n = 0;

	for (enum figure figure = 0; figure < FIGURES; figure++) {
		n = 0;
		for (u32 i = 0; i < p->q->run->n && p->q->run->start_s[i] < until_s; i++) {
			double of[] = { ns_of(p, w, i), p->like_ns[i], ns_of(p, w, i) / p->like_ns[i] };

			if (of[OWN] > 0 && of[OTHERS])
				p->room[n++] = (struct weighted){ of[figure], 1 };
		}
		ret[figure] = weighted_median(p->room, n);
	}
	return n;
}

/* Returns whether there are intervals enough. */
static bool judge(const struct peers *p, const struct watch_run *w, double until_s)
{
	double of[FIGURES], chance;
	u32 n = medians_of(p, w, until_s, of), agree = 0;
	struct inquiry q = *p->q;
	struct finding *f;

	for (u32 i = 0; i < n; i++)
		agree += p->room[i].value >= AGREE_FACTOR;
	chance = signed_rank(p->room, n) * p->n;
	if (n < INTERVALS_LEAST || agree < AGREE * n || chance >= SURE || of[TIMES] < FACTOR)
		return n >= INTERVALS_LEAST;
	q.watch = w;
	f = finding_add(&q, "unlike", p->op);
	f->times = of[TIMES];
	finding_values(f, { "times", f->times }, { p->p == RUN_P99 ? "p99_ns" : "p90_ns", of[OWN] },
		       { p->p == RUN_P99 ? "like_p99_ns" : "like_p90_ns", of[OTHERS] }, { "peers", p->n - 1 },
		       { "intervals", n }, { "agree", agree }, { "p_value", chance });
	finding_say(f, "%s is %s times that of the %u like it: %s against %s, in %u of %u intervals",
		    run_over_time.p[p->p].name, UNITS(times, f->times), p->n - 1, UNITS(ns, of[OWN]),
		    UNITS(ns, of[OTHERS]), agree, n);
	finding_rule(f, "of %d or more devices of one kind and model, none with more than %d times the IOs or the size of IOs of the "
		     "others: %s is at least %g times their median, and %g times in 3/4 of %d intervals or more with %d IOs; "
		     "p < %g (%s)",
		     HEALTH_LIKE_MIN, MORE, run_over_time.p[p->p].name, FACTOR, AGREE_FACTOR, INTERVALS_LEAST,
		     IOS_LEAST(p->p), SURE, METHOD);
	return true;
}

int find_peers(const struct inquiry *q, u32 op)
{
	CLEANUP(cleanup_free) const struct watch_run **of = calloc(q->run->n_watches, sizeof(*of));
	CLEANUP(cleanup_free) double *like_ns = calloc(q->run->n, sizeof(*like_ns));
	CLEANUP(cleanup_free) struct weighted *room = calloc(q->run->n_watches + q->run->n, sizeof(*room));
	struct peers p = { .q = q, .op = op, .of = of, .like_ns = like_ns, .room = room };
	bool judged = false;

	if (!of || !like_ns || !room)
		return -ENOMEM;
	gather(&p);
	if (p.n < HEALTH_LIKE_MIN || p.of[0] != q->watch)
		return 0;
	for (p.p = RUN_P99; !judged && p.p >= RUN_P90; p.p--) {
		measure(&p);
		for (u32 i = 0; i < p.n; i++) {
			double until_s = told_from(&p, p.of[i]);
			bool late = until_s >= q->run->start_s[INTERVALS_LEAST < q->run->n ? INTERVALS_LEAST : 0];

			judged |= judge(&p, p.of[i], late ? until_s : INFINITY);
		}
	}
	return 0;
}
