// SPDX-License-Identifier: GPL-2.0-only
/* Says where a device stalls (stalls.c), for how long, and whether the stalls are regular. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings_rules.h"
#include "util/cleanup.h"

#define LISTED 3		/* up to this many stalls are listed one by one */
#define PERIOD_STALLS 4		/* a period needs at least this many stalls */
#define PERIOD_SHARE 0.8	/* share of the distances between stalls that must be near the median one */
#define PERIOD_NEAR 0.5		/* "near": off by at most this share of the median */
#define PERIOD_DEVIATION 0.25	/* limit of their standard deviation, over their mean */

/* The time between the begins of stalls; mean_s is 0 if that is not regular. */
struct period {
	double mean_s, deviation_s;
};

/* From the distances near the median one, if most are near it and they are even. */
static int find_period(const struct stalls *s, struct period *ret)
{
	CLEANUP(cleanup_free) struct weighted *distances = calloc(s->n, sizeof(*distances));
	double sum = 0, squares = 0, median, mean, deviation;
	u32 n = s->n - 1, near = 0;

	*ret = (struct period){ 0 };
	if (!distances)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++)
		distances[i] = (struct weighted){ s->s[i + 1].from_s - s->s[i].from_s, 1 };
	median = weighted_median(distances, n);
	for (u32 i = 0; i < n; i++) {
		double d = distances[i].value;

		if (fabs(d - median) > PERIOD_NEAR * median)
			continue;
		near++;
		sum += d;
		squares += d * d;
	}
	mean = sum / near;
	deviation = sqrt(fmax(squares / near - mean * mean, 0));
	if (s->n >= PERIOD_STALLS && near >= PERIOD_SHARE * n && deviation <= PERIOD_DEVIATION * mean)
		*ret = (struct period){ mean, deviation };
	return 0;
}

/* The share of the active window's time that is in stalls. */
static double share_of(const struct stalls *s, const struct run *r)
{
	const struct active_window *w = &r->active;
	double stalled_s = 0;

	for (u32 i = 0; i < s->n; i++)
		stalled_s += fmax(fmin(s->s[i].to_s, w->to_s) - fmax(s->s[i].from_s, w->from_s), 0);
	return stalled_s / (w->to_s - w->from_s);
}

/* Whether the last stall lasts until the run ends. */
static bool is_pending(const struct flow *flow, const struct stalls *s)
{
	const struct run *r = flow->q->run;

	return !flow->ios[r->n - 1] && s->s[s->n - 1].to_s > run_end(r) - r->interval_s / 2;
}

static void say(struct finding *f, const struct flow *flow, const struct stalls *s, const struct period *period)
{
	double share = share_of(s, flow->q->run);

	if (s->n == 1)
		finding_say(f, "stalled for %s at %s", UNITS(ns, s->longest_s * NSEC_PER_SEC), UNITS(seconds, s->s[0].from_s));
	else
		finding_say(f, "stalled %u times, %s in all (%s of the run), %s on average, longest %s at %s", s->n,
			    UNITS(seconds, s->time_s), UNITS(share, share), UNITS(ns, s->mean_s * NSEC_PER_SEC),
			    UNITS(ns, s->longest_s * NSEC_PER_SEC), UNITS(seconds, s->longest_at_s));
	for (u32 i = 0; s->n > 1 && s->n <= LISTED && i < s->n; i++)
		finding_say(f, "%s%s", i ? i + 1 == s->n ? " and " : ", " : ": at ", UNITS(seconds, s->s[i].from_s));
	if (period->mean_s)
		finding_say(f, ", regularly: every %s (\302\261 %s)", UNITS(ns, period->mean_s * NSEC_PER_SEC),
			    UNITS(seconds, period->deviation_s));
	if (is_pending(flow, s))
		finding_say(f, ", %suntil the %s ended", s->n > 1 ? "the last one " : "", flow->q->run->asked.to ? "window" : "run");
	finding_say(f, ", with IOs in flight; the median is %s IOPS", UNITS(short, flow->median));
}

static int report(const struct flow *flow, const struct stalls *s)
{
	const struct inquiry *q = flow->q;
	struct finding *f = finding_add(q, "stall", op_named(q->watch, flow->op));
	struct period period;

	if (find_period(s, &period))
		return -ENOMEM;
	f->from_s = s->s[0].from_s;
	f->to_s = s->s[s->n - 1].to_s;
	finding_values(f, { "stalls", s->n }, { "time_s", s->time_s }, { "share", share_of(s, q->run) },
		       { "intervals", stalls_spread(s, q->run, q->told_s) }, { "mean_s", s->mean_s },
		       { "longest_s", s->longest_s }, { "longest_at_s", s->longest_at_s },
		       { "median_iops", flow->median }, { "pending", is_pending(flow, s) });
	if (period.mean_s)
		finding_values(f, { "period_s", period.mean_s }, { "period_deviation_s", period.deviation_s });
	say(f, flow, s, &period);
	finding_rule(f, "no IO completed, or fewer than 1 %% of the median rate, while an IO was in flight for most "
		     "of the interval; or looks between the reads found that for a quarter of an interval none ended of ten that usually do, or (of "
		     "recordings without looks, and of single ops) an IO took half an interval or more, and at least 80 %% "
		     "of the IOs that usually complete in that time are missing; a period takes %d stalls whose distances vary by at "
		     "most 25 %%", PERIOD_STALLS);
	return 0;
}

/* Looks for stalls of one flow that were not told yet: of the device as a whole, of another op, or at another stage. */
static int find_in_flow(const struct inquiry *q, int op)
{
	struct flow f CLEANUP(flow_uninit) = { 0 };
	struct stalls s CLEANUP(stalls_uninit) = { 0 };
	int err = flow_init(&f, q, op);

	if (err || !f.median)
		return err;
	err = stalls_find(&f, &s);
	if (err)
		return err;
	if (op < 0)
		stalls_spread(&s, q->run, q->stalled_s);
	stalls_sum_up(&s, q->run, q->told_s);
	return s.n ? report(&f, &s) : 0;
}

int find_stalls(const struct inquiry *q)
{
	u32 n = 0;
	int err = find_in_flow(q, -1);

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		n += op_matters(q->watch, op);
	/* One of several ops may stand still while others go on. */
	for (u32 op = 0; !err && n > 1 && op < BLKLAT_OPS; op++)
		if (op_matters(q->watch, op))
			err = find_in_flow(q, op);
	return err;
}
