// SPDX-License-Identifier: GPL-2.0-only
/* How even the IOPS of a run are where the load is constant, in one figure, and how they vary. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings_rules.h"
#include "util/array.h"
#include "util/cleanup.h"

#define INTERVALS_LEAST 100	/* for the worst 1 % */
#define CONSTANT 0.9		/* their queue depth over the mean, if the load is constant */
#define EVEN 0.8		/* their IOPS over the mean, from which on all is well, */
#define NOISE 5			/* or this many standard errors below it */
#define PERIOD_MOST 10		/* intervals */
#define LIKE 0.5		/* an autocorrelation */
#define RISE 0.3		/* and how much higher it is than that of one interval less, at the end of a period */
#define DECAY 0.8		/* the last fifth over the first */

/* IOPS of intervals, and as weight the queue depth. */
static double mean_of(const struct weighted *y, u32 n, bool depth)
{
	double sum = 0;

	for (u32 i = 0; i < n; i++)
		sum += depth ? y[i].weight : y[i].value;
	return sum / n;
}

static double autocorrelation(const struct weighted *y, u32 n, u32 lag)
{
	double both = 0, all = 0, mean = mean_of(y, n, false);

	for (u32 i = 0; i < n; i++) {
		all += (y[i].value - mean) * (y[i].value - mean);
		both += i + lag < n ? (y[i].value - mean) * (y[i + lag].value - mean) : 0;
	}
	return all > 0 ? both / all : 0;
}

static void describe(const struct weighted *y, u32 n, double interval_s, struct evenness *e)
{
	u32 lag = 2;

	while (lag <= PERIOD_MOST && autocorrelation(y, n, lag) < fmax(LIKE, autocorrelation(y, n, lag - 1) + RISE))
		lag++;
	while (lag < PERIOD_MOST && autocorrelation(y, n, lag + 1) > autocorrelation(y, n, lag))
		lag++;
	if (mean_of(y + n - n / 5, n / 5, false) <= DECAY * mean_of(y, n / 5, false)) {
		e->how = "decays";
	} else if (lag <= PERIOD_MOST) {
		e->how = "alternates";
		e->period_s = lag * interval_s;
	} else {
		e->how = autocorrelation(y, n, 1) >= LIKE ? "wanders" : "scatters";
	}
}

int evenness_of(const struct run *r, const struct watch_run *w, u32 op, const struct steady_window *in,
		struct evenness *ret)
{
	CLEANUP(cleanup_free) struct weighted *y = calloc(2 * r->n + 1, sizeof(*y));
	const struct duty duty = duty_of(r, w);
	const bool trim = in->n < INTERVALS_LEAST;	/* then all of the rates' window, without its ends */
	const u32 first = trim ? r->active.first + 1 : in->first,
		  end = trim ? r->active.first + r->active.n : in->first + in->n + 1;
	struct weighted *sorted;
	double mean, worst, ios, squares = 0;
	u32 n = 0, away = 0;

	if (!y)
		return -ENOMEM;
	*ret = (struct evenness){ .share = -1 };
	for (u32 i = first; i + 1 < end; i++) {
		away = w->ops[op].ios[i] || !watch_run_ios_in(w, i) ? 0 : away + 1;
		if (away == LEVEL_LEAST)	/* only others go on: the load came or went */
			return 0;
		if (r->length_s[i] >= r->interval_s / 2 && !duty_leaves_out(&duty, r, w, i))
			y[n++] = (struct weighted){ run_iops(r, w->ops[op].ios, i), w->queue_depth[i] };
	}
	mean = mean_of(y, n ?: 1, false);
	if (n < INTERVALS_LEAST || !(mean > 0))
		return 0;
	sorted = memcpy(y + n, y, n * sizeof(*y));
	qsort(sorted, n, sizeof(*y), compare_double);
	if (mean_of(sorted, n / 100, true) < CONSTANT * mean_of(y, n, true))
		return 0;
	worst = mean_of(sorted, n / 100, false);
	for (u32 i = 0; i < n; i++)
		squares += (y[i].value - mean) * (y[i].value - mean);
	*ret = (struct evenness){ .share = worst / mean, .mean = mean, .deviation = sqrt(squares / n), .from_s = r->start_s[first],
				  .to_s = run_end_of(r, end - 2) };
	ios = mean * r->interval_s;
	if (worst < EVEN * mean && ios * (1 - worst / mean) >= NOISE * sqrt(ios))
		describe(y, n, r->interval_s, ret);
	return 0;
}

void evenness_say(struct finding *f, const struct evenness *e)
{
	finding_say(f, "%s \302\261 %s IOPS, the worst 1 %% of the intervals at %s of that", UNITS(short, e->mean),
		    UNITS(short, e->deviation), UNITS(share, e->share));
	if (e->how)
		finding_say(f, e->period_s ? " (%s every %s)" : " (%s)", e->how, UNITS(seconds, e->period_s));
}

bool levels_are_told(const struct inquiry *q, u32 op, double from_s, double to_s, bool drifts)
{
	for (u32 i = 0; i < q->to->n; i++)
		if (q->to->f[i].watch == q->watch->watch && q->to->f[i].op == (int)op && !strcmp(q->to->f[i].kind, "level_change") &&
		    q->to->f[i].to_s > from_s && q->to->f[i].from_s < to_s &&
		    (drifts || q->to->f[i].to_s < run_end(q->run)))
			return true;
	return false;
}

int find_consistency(const struct inquiry *q, u32 op)
{
	struct finding *f;
	struct evenness e;

	if (evenness_of(q->run, q->watch, op, q->window, &e))
		return -ENOMEM;
	/* Levels and stalls are told as such; that it decays also as a drift. */
	if (e.share < 0 || !e.how || q->sweeps[op] || stalled_within(q, e.from_s, e.to_s) ||
	    levels_are_told(q, op, e.from_s, e.to_s, !strcmp(e.how, "decays")))
		return 0;
	f = finding_add(q, "consistency", op);
	f->from_s = e.from_s;
	f->to_s = e.to_s;
	evenness_say(f, &e);
	finding_say(f, ", from %s to %s", UNITS(seconds, e.from_s), UNITS(seconds, e.to_s));
	finding_values(f, { "worst_share", e.share });
	finding_rule(f, EVENNESS_RULE);
	return 0;
}
