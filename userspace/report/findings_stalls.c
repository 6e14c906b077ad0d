// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalls: intervals in which nothing completes, or less than 1 % of the median rate, although there was something to
 * do. A pause of the workload is no stall, so each interval needs a witness: an IO that was in flight.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings_rules.h"
#include "util/cleanup.h"

#define LOW 0.01		/* of the median rate */
#define LOW_SHARE_MAX 0.1	/* if more intervals are that low, but not 0, they are a level and no stalls */
#define GAP_LATENCIES 10	/* a stall takes at least so many median latencies */
#define LISTED 3		/* up to so many stalls are listed one by one */
#define PERIOD_STALLS 4		/* a period takes at least so many stalls */
#define PERIOD_SHARE 0.8	/* of the distances between stalls, that must be near the median one */
#define PERIOD_NEAR 0.5		/* how near: by at most so much of the median off */
#define PERIOD_DEVIATION 0.25	/* most that the standard deviation of these may be, over their mean */

/* The IOs of a device, or of one of its ops. */
struct flow {
	const struct inquiry *q;
	int op;			/* -1: all */
	u64 *ios;		/* [interval] */
	u64 *max_ns;
	double median;		/* IOPS of intervals with IOs */
	double least;		/* IOPS below which an interval is low */
	double gap_s;		/* least length of a stall */
};

struct stall {
	double from_s, to_s;
	u32 intervals;
};

struct stalls {
	u32 n;
	struct stall *s;
	u32 intervals;
	double time_s;
	const struct stall *longest;
};

static void flow_uninit(struct flow *f)
{
	free(f->ios);
	free(f->max_ns);
}

static void stalls_uninit(struct stalls *s)
{
	free(s->s);
}

static void add_op(struct flow *f, const struct series_run *s)
{
	for (u32 i = 0; s->ios && i < f->q->run->n; i++) {
		f->ios[i] += s->ios[i];
		if (s->ios[i] && s->max_ns[i] > f->max_ns[i])
			f->max_ns[i] = s->max_ns[i];
	}
}

static int measure(struct flow *f)
{
	const struct run *r = f->q->run;
	CLEANUP(cleanup_free) struct weighted *rates = calloc(r->n ?: 1, sizeof(*rates));
	u32 n = 0, low = 0;

	if (!rates)
		return -ENOMEM;
	for (u32 i = 0; i < r->n; i++)
		if (f->ios[i])
			rates[n++] = (struct weighted){ run_iops(r, f->ios, i), r->length_s[i] };
	f->median = weighted_median(rates, n);
	f->least = f->median * LOW;
	while (low < n && rates[low].value < f->least)
		low++;
	if (low > n * LOW_SHARE_MAX)
		f->least = 0;
	return 0;
}

static int flow_init(struct flow *f, const struct inquiry *q, int op)
{
	u32 main = op < 0 ? main_op(q->watch) : (u32)op;

	*f = (struct flow){ .q = q, .op = op };
	f->ios = calloc(q->run->n ?: 1, sizeof(*f->ios));
	f->max_ns = calloc(q->run->n ?: 1, sizeof(*f->max_ns));
	if (!f->ios || !f->max_ns)
		return -ENOMEM;
	for (u32 i = 0; i < BLKLAT_OPS; i++)
		if (op < 0 || i == (u32)op)
			add_op(f, &q->watch->ops[i]);
	f->gap_s = GAP_LATENCIES * q->watch->ops[main].total->percentile_ns[RUN_P50] / NSEC_PER_SEC;
	return measure(f);
}

/* An interval that is too short, as the last one may be, means nothing. */
static bool is_low(const struct flow *f, u32 i)
{
	const struct run *r = f->q->run;

	return (!f->ios[i] || run_iops(r, f->ios, i) < f->least) && r->length_s[i] >= r->interval_s / 2;
}

/* IOs in flight at an interval's end; 0 for an op, whose share of them is unknown. */
static u64 in_flight(const struct flow *f, s64 i)
{
	return f->op < 0 && i >= 0 ? f->q->watch->in_flight[i] : 0;
}

/* Does interval @i itself show that an IO was in flight for most of it? */
static bool has_witness(const struct flow *f, u32 i)
{
	const struct watch_run *w = f->q->watch;
	double half_ns = f->q->run->length_s[i] * NSEC_PER_SEC / 2;

	if (f->op < 0 && f->q->age_proven[i] && w->oldest_ns[i] >= half_ns)
		return true;
	if (f->ios[i] && f->max_ns[i] >= half_ns)
		return true;
	/* It crawls: few IOs end, all of them slowly, and others follow. */
	return in_flight(f, (s64)i - 1) && in_flight(f, i) && w->queue_depth[i] >= 0.5;
}

/*
 * Marks the stalled intervals in a row of low ones, [from, to). An IO that ends right after the row and took as long as
 * it is a witness for all of them.
 */
static void mark_row(const struct flow *f, u32 from, u32 to, bool *marks)
{
	const struct run *r = f->q->run;
	double gap_ns = (run_end_of(r, to - 1) - r->start_s[from]) * NSEC_PER_SEC;
	bool all = to < r->n && f->ios[to] && f->max_ns[to] >= 0.9 * gap_ns;

	for (u32 i = from; i < to; i++)
		marks[i] = all || has_witness(f, i);
}

static void mark(const struct flow *f, bool *marks)
{
	u32 n = f->q->run->n;

	for (u32 i = 0; i < n; i++) {
		u32 from = i;

		while (i < n && is_low(f, i))
			i++;
		if (i > from)
			mark_row(f, from, i, marks);
	}
}

/* Makes stalls of rows of marks. Rows that are too short for a stall lose their marks. */
static int collect(const struct flow *f, bool *marks, struct stalls *ret)
{
	const struct run *r = f->q->run;

	ret->s = calloc(r->n / 2 + 1, sizeof(*ret->s));
	if (!ret->s)
		return -ENOMEM;
	for (u32 i = 0; i < r->n; i++) {
		u32 from = i;
		struct stall s;

		while (i < r->n && marks[i])
			i++;
		if (i == from)
			continue;
		s = (struct stall){ r->start_s[from], run_end_of(r, i - 1), i - from };
		if (s.to_s - s.from_s < f->gap_s) {
			for (u32 j = from; j < i; j++)
				marks[j] = false;
			continue;
		}
		ret->intervals += s.intervals;
		ret->time_s += s.to_s - s.from_s;
		ret->s[ret->n++] = s;
	}
	for (u32 i = 0; i < ret->n; i++)
		if (!i || ret->s[i].to_s - ret->s[i].from_s > ret->longest->to_s - ret->longest->from_s)
			ret->longest = &ret->s[i];
	return 0;
}

/* The mean of the distances near the median one, if these are most of them and even. 0: there is no period. */
static double period_from(struct weighted *distances, u32 n)
{
	double median = weighted_median(distances, n), sum = 0, squares = 0, mean;
	u32 near = 0;

	for (u32 i = 0; i < n; i++) {
		double d = distances[i].value;

		if (fabs(d - median) > PERIOD_NEAR * median)
			continue;
		near++;
		sum += d;
		squares += d * d;
	}
	if (near < PERIOD_SHARE * n)
		return 0;
	mean = sum / near;
	return sqrt(fmax(squares / near - mean * mean, 0)) <= PERIOD_DEVIATION * mean ? mean : 0;
}

static int find_period(const struct stalls *s, double *ret_s)
{
	CLEANUP(cleanup_free) struct weighted *distances = calloc(s->n, sizeof(*distances));

	*ret_s = 0;
	if (!distances)
		return -ENOMEM;
	if (s->n < PERIOD_STALLS)
		return 0;
	for (u32 i = 0; i + 1 < s->n; i++)
		distances[i] = (struct weighted){ s->s[i + 1].from_s - s->s[i].from_s, 1 };
	*ret_s = period_from(distances, s->n - 1);
	return 0;
}

static void say(struct finding *f, const struct flow *flow, const struct stalls *s, double period_s)
{
	char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
	double longest_s = s->longest->to_s - s->longest->from_s, share = s->time_s / flow->q->run->duration_s;

	if (s->n == 1)
		finding_say(f, "stalled for %s at %s", units_seconds(a, longest_s), units_seconds(b, s->s[0].from_s));
	else
		finding_say(f, "stalled %u times, %s in all (%s of the run), longest %s at %s", s->n,
			    units_seconds(a, s->time_s), units_share(b, share),
			    units_seconds(c, longest_s), units_seconds(d, s->longest->from_s));
	for (u32 i = 0; s->n > 1 && s->n <= LISTED && i < s->n; i++)
		finding_say(f, "%s%s", i ? i + 1 == s->n ? " and " : ", " : ": at ",
			    units_seconds(a, s->s[i].from_s));
	if (period_s)
		finding_say(f, ", regularly: about every %s", units_seconds(a, period_s));
	finding_say(f, "; IOs were in flight, %s IOPS is the median", units_short(a, flow->median));
}

/* The op to name: the flow's own, or the only one that has IOs; else -1. */
static int op_named(const struct flow *f)
{
	u32 n = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		n += f->q->watch->ops[op].total->ios > 0;
	return f->op < 0 && n == 1 ? (int)main_op(f->q->watch) : f->op;
}

static int report(const struct flow *flow, const struct stalls *s)
{
	const struct inquiry *q = flow->q;
	struct finding *f = finding_add(q, "stall", op_named(flow));
	char who[FINDING_WHO];
	double period_s;

	if (!f || find_period(s, &period_s))
		return -ENOMEM;
	f->from_s = s->s[0].from_s;
	f->to_s = s->s[s->n - 1].to_s;
	finding_value(f, "stalls", s->n);
	finding_value(f, "time_s", s->time_s);
	finding_value(f, "share", s->time_s / q->run->duration_s);
	finding_value(f, "intervals", s->intervals);
	finding_value(f, "longest_s", s->longest->to_s - s->longest->from_s);
	finding_value(f, "longest_at_s", s->longest->from_s);
	finding_value(f, "median_iops", flow->median);
	if (period_s)
		finding_value(f, "period_s", period_s);
	finding_say(f, "%s: ", finding_who(q, f->op, who));
	say(f, flow, s, period_s);
	finding_rule(f, "intervals with no IO completed, or fewer than 1 %% of the median rate, while an IO was in flight "
		     "for most of the interval; a period is told of %d stalls or more whose distances vary by at most "
		     "25 %%", PERIOD_STALLS);
	return 0;
}

/* Looks for stalls of one flow. Intervals marked in @known have been told already; adds its own to them. */
static int find_in_flow(const struct inquiry *q, int op, bool *known)
{
	struct flow f CLEANUP(flow_uninit) = { 0 };
	struct stalls s CLEANUP(stalls_uninit) = { 0 };
	CLEANUP(cleanup_free) bool *marks = calloc(q->run->n ?: 1, sizeof(*marks));
	int err = marks ? flow_init(&f, q, op) : -ENOMEM;

	if (err || !f.median)
		return err;
	mark(&f, marks);
	for (u32 i = 0; i < q->run->n; i++)
		marks[i] &= !known[i];
	err = collect(&f, marks, &s);
	if (!err && s.n)
		err = report(&f, &s);
	for (u32 i = 0; !err && op < 0 && i < q->run->n; i++)
		known[i] |= marks[i];
	return err;
}

int find_stalls(const struct inquiry *q)
{
	u32 n = 0;
	int err = find_in_flow(q, -1, q->stalled);

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		n += op_matters(q->watch, op);
	/* One of several ops may stand still while others go on. */
	for (u32 op = 0; !err && n > 1 && op < BLKLAT_OPS; op++)
		if (op_matters(q->watch, op))
			err = find_in_flow(q, op, q->stalled);
	return err;
}
