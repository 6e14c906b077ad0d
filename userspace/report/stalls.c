// SPDX-License-Identifier: GPL-2.0-only
#include "report/findings_rules.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/array.h"

#define LOW 0.01		/* of the median rate */
#define LOW_SHARE_MAX 0.1	/* if more intervals are that low, but not 0, they are a level and not stalls */
#define GAP_LATENCIES 10	/* a stall lasts at least this many median latencies */
#define LONG 0.5		/* an IO that took this share of an interval may be a witness */
#define MISSED 0.8		/* share of the IOs of its time that must be missing around such an IO */
#define NEAR 5			/* even intervals on each side that give the usual rate */
#define NEAR_MIN 3		/* how many there must be */
#define NEAR_WITHIN 100		/* how many intervals to search for them on each side */
#define NOISE 3			/* by how many standard deviations the missing IOs must exceed chance */
#define ROUNDING_S 1e-6		/* a smaller difference is none */
#define HALT 0.25		/* a shorter share of an interval is no stall: it is known to a tenth on each side */
#define PROOF 0.7		/* share of it that an IO must have taken which ended after it */
/* IOs that usually end in its time: that none does by chance has a probability of exp(-DUE) */
#define DUE 10

void flow_uninit(struct flow *f)
{
	free(f->ios);
	free(f->room);
}

/* What usually takes long, as a flush may, is no witness of a stall. */
static void add_op(struct flow *f, const struct series_run *s)
{
	double usual_ns = GAP_LATENCIES * s->total->percentile_ns[RUN_P50];

	for (u32 i = 0; s->ios && i < f->q->run->n; i++) {
		f->ios[i] += s->ios[i];
		f->sum_ns[i] += s->sum_ns[i];
		if (s->ios[i] && s->max_ns[i] >= usual_ns && s->max_ns[i] > f->max_ns[i])
			f->max_ns[i] = s->max_ns[i];
	}
}

static void measure(struct flow *f)
{
	const struct run *r = f->q->run;
	u32 n = 0, low = 0;

	for (u32 i = 0; i < r->n; i++)
		if (f->ios[i])
			f->room[n++] = (struct weighted){ run_iops(r, f->ios, i), r->length_s[i] };
	f->median = weighted_median(f->room, n);
	f->least = f->median * LOW;
	while (low < n && f->room[low].value < f->least)
		low++;
	if (low > n * LOW_SHARE_MAX)
		f->least = 0;
}

int flow_init(struct flow *f, const struct inquiry *q, int op)
{
	u32 main = op < 0 ? main_op(q->watch) : (u32)op, n = q->run->n;

	*f = (struct flow){ .q = q, .op = op, .ios = calloc(3 * n + 1, sizeof(u64)), .room = calloc(n + 1, sizeof(*f->room)) };
	if (!f->ios || !f->room)
		return -ENOMEM;
	f->sum_ns = f->ios + n;
	f->max_ns = f->sum_ns + n;
	for (u32 i = 0; i < BLKLAT_OPS; i++)
		if (op < 0 || i == (u32)op)
			add_op(f, &q->watch->ops[i]);
	f->gap_s = GAP_LATENCIES * q->watch->ops[main].total->percentile_ns[RUN_P50] / NSEC_PER_SEC;
	measure(f);
	return 0;
}

/* An interval that is too short, as the last one may be, does not count. */
static bool is_low(const struct flow *f, u32 i)
{
	const struct run *r = f->q->run;

	return (!f->ios[i] || run_iops(r, f->ios, i) < f->least) && r->length_s[i] >= r->interval_s / 2;
}

/* IOs in flight at an interval's end; 0 for a single op, whose share of them is unknown. */
static u64 in_flight(const struct flow *f, s64 i)
{
	return f->op < 0 && i >= 0 ? f->q->watch->in_flight[i] : 0;
}

/* Whether an IO ended in the interval that took much of it. */
static bool ends_long(const struct flow *f, u32 i)
{
	return f->ios[i] && f->max_ns[i] >= LONG * f->q->run->length_s[i] * NSEC_PER_SEC;
}

/* Whether interval @i itself shows that an IO was in flight for most of it. */
static bool has_witness(const struct flow *f, u32 i)
{
	const struct watch_run *w = f->q->watch;

	if (f->op < 0 && f->q->age_proven[i] && w->oldest_ns[i] >= LONG * f->q->run->length_s[i] * NSEC_PER_SEC)
		return true;
	if (ends_long(f, i))
		return true;
	/*
	 * The device crawls: few IOs end, all of them slowly, and others follow. This goes by IOs that ended and not by
	 * ages: the age of an IO whose end was missed keeps growing while the workload rests.
	 */
	return in_flight(f, (s64)i - 1) && in_flight(f, i) &&
	       f->sum_ns[i] >= LONG * f->q->run->length_s[i] * NSEC_PER_SEC;
}

static int add(struct stalls *to, double from_s, double to_s)
{
	if (array_more(&to->s, sizeof(*to->s), to->n, &to->room))
		return -ENOMEM;
	to->s[to->n++] = (struct stall){ from_s, to_s };
	return 0;
}

/*
 * Adds the stalled intervals in a row of low ones, [from, to). An IO that ends right after the row and took as long as
 * it is a witness for all of them.
 */
static int add_row(const struct flow *f, u32 from, u32 to, struct stalls *ret)
{
	const struct run *r = f->q->run;
	double gap_ns = (run_end_of(r, to - 1) - r->start_s[from]) * NSEC_PER_SEC;
	bool all = to < r->n && f->ios[to] && f->max_ns[to] >= 0.9 * gap_ns;
	int err = 0;

	for (u32 i = from; !err && i < to; i++) {
		u32 begin = i;

		while (i < to && (all || has_witness(f, i)))
			i++;
		if (i > begin)
			err = add(ret, r->start_s[begin], run_end_of(r, i - 1));
	}
	return err;
}

static int add_rows(const struct flow *f, struct stalls *ret)
{
	u32 n = f->q->run->n;
	int err = 0;

	for (u32 i = 0; !err && i < n; i++) {
		u32 from = i;

		while (i < n && is_low(f, i))
			i++;
		if (i > from)
			err = add_row(f, from, i, ret);
	}
	return err;
}

/*
 * Whether interval @i shows the rate of a device that is not stalled: no IO that took long ended in it
 * or right after it.
 */
static bool is_even(const struct flow *f, u32 i)
{
	const struct run *r = f->q->run;

	return !is_low(f, i) && r->length_s[i] >= r->interval_s / 2 && !ends_long(f, i) &&
	       !(i + 1 < r->n && ends_long(f, i + 1));
}

/*
 * The standard deviation of the rate of even intervals over their mean. It is estimated from the median
 * of the differences between neighbours, so that a change of level does not count. For a normal
 * distribution this median is 0.6745 * sqrt(2) times the deviation.
 */
static double unevenness_of(const struct flow *f)
{
	const struct run *r = f->q->run;
	double before = 0;
	u32 n = 0;

	for (u32 i = 0; i < r->n; i++) {
		double iops = run_iops(r, f->ios, i);

		if (!is_even(f, i) || !iops)
			continue;
		if (before)
			f->room[n++] = (struct weighted){ fabs(iops - before) / ((iops + before) / 2), 1 };
		before = iops;
	}
	return weighted_median(f->room, n) / (0.6745 * M_SQRT2);
}

/* The usual rate around interval @i: that of the nearest even intervals. 0: there are too few. */
static double usual_iops(const struct flow *f, u32 i)
{
	const struct run *r = f->q->run;
	struct weighted near[2 * NEAR];
	u32 n = 0;

	for (u32 j = i, found = 0; j-- && i - j <= NEAR_WITHIN && found < NEAR;)
		if (is_even(f, j) && ++found)
			near[n++] = (struct weighted){ run_iops(r, f->ios, j), r->length_s[j] };
	for (u32 j = i + 1, found = 0; j < r->n && j - i <= NEAR_WITHIN && found < NEAR; j++)
		if (is_even(f, j) && ++found)
			near[n++] = (struct weighted){ run_iops(r, f->ios, j), r->length_s[j] };
	return n < NEAR_MIN ? 0 : weighted_median(near, n);
}

/*
 * When the IO that took @took_s and ended in interval @i was in flight. If it began before the
 * interval, everything that completed in the interval came after its end, at the usual rate. Otherwise
 * it is placed in the middle, for want of anything better.
 */
static struct stall place(const struct flow *f, u32 i, double took_s, double iops)
{
	const struct run *r = f->q->run;
	double end_s = run_end_of(r, i), to_s = fmax(end_s - f->ios[i] / iops, r->start_s[i]);

	if (to_s - took_s > r->start_s[i])
		to_s = (r->start_s[i] + took_s + end_s) / 2;
	return (struct stall){ fmax(to_s - took_s, r->start_s[0]), to_s };
}

static double length_s(const struct stall *s)
{
	return s->to_s - s->from_s;
}

/*
 * Whether the intervals that @s lies in miss as many IOs, at the rate of @iops, as would have completed meanwhile, and
 * more than chance explains. IOs that come at random also vary by the square root of their number.
 */
static bool stood_still(const struct flow *f, u32 i, const struct stall *s, double iops, double unevenness)
{
	const struct run *r = f->q->run;
	double due = 0, missing = 0, variance = 0;

	for (u32 j = i + 1; j-- && (j == i || run_end_of(r, j) > s->from_s);) {
		double ios = iops * r->length_s[j];

		due += ios;
		missing += ios - f->ios[j];
		variance += pow(unevenness * ios, 2);
	}
	return missing >= MISSED * length_s(s) * iops && missing >= NOISE * sqrt(variance + due);
}

/* Adds the stalls that long IOs show, whatever else completed in their intervals. */
static int add_long(const struct flow *f, struct stalls *ret)
{
	double unevenness = unevenness_of(f);
	int err = 0;

	for (u32 i = 0; !err && i < f->q->run->n; i++) {
		double took_s = (double)f->max_ns[i] / NSEC_PER_SEC, iops;
		struct stall s;

		if (!ends_long(f, i) || took_s < f->gap_s)
			continue;
		iops = usual_iops(f, i);
		if (!iops)
			continue;
		s = place(f, i, took_s, iops);
		if (stood_still(f, i, &s, iops, unevenness))
			err = add(ret, s.from_s, s.to_s);
	}
	return err;
}

/* The interval that @at_s lies in, or the last one. */
static u32 interval_at(const struct run *r, double at_s)
{
	u32 i = 0;

	while (i + 1 < r->n && run_end_of(r, i) < at_s)
		i++;
	return i;
}

/*
 * Whether an IO that ended right after the halt, or surely is still in flight at the end of its interval, waited for
 * most of it: an IO whose end was missed seems to be in flight while the load rests. And whether so many IOs usually
 * end in that time that by chance (Poisson) there is always one. How even the load is does not matter, since it was
 * not resting.
 */
static bool is_stall(const struct flow *f, const struct stall *h)
{
	const struct run *r = f->q->run;
	u32 i = interval_at(r, h->to_s);
	double took_ns = f->max_ns[i];

	if (h->to_s > run_end_of(r, i) - r->interval_s * HALT) {
		took_ns = fmax(took_ns, i + 1 < r->n ? f->max_ns[i + 1] : 0);
		took_ns = fmax(took_ns, f->q->age_proven[i] ? f->q->watch->oldest_ns[i] : 0);
	}
	return length_s(h) >= HALT * r->interval_s && took_ns >= PROOF * length_s(h) * NSEC_PER_SEC &&
	       (usual_iops(f, i) ?: f->median) * length_s(h) >= DUE;
}

/* Adds the stalls that the looks between the reads have found. */
static int add_halts(const struct flow *f, struct stalls *ret)
{
	const struct watch_run *w = f->q->watch;
	int err = 0;

	for (u32 i = 0; !err && i < w->n_halts; i++)
		if (is_stall(f, &w->halts[i]))
			err = add(ret, w->halts[i].from_s, w->halts[i].to_s);
	return err;
}

/*
 * Joins stalls that overlap, since they are signs of the same stall, and drops those that are too
 * short. The position of a long IO is less certain than its length, so one that reaches beyond a stall
 * found by the other sign does not extend it.
 */
static void join(const struct flow *f, struct stalls *s)
{
	u32 n = 0;

	if (!s->n)
		return;
	qsort(s->s, s->n, sizeof(*s->s), compare_double);	/* by their begins */
	for (u32 i = 0; i < s->n; i++) {
		struct stall *before = n ? &s->s[n - 1] : NULL;

		if (before && s->s[i].from_s < before->to_s)
			before->to_s = before->from_s + fmax(length_s(before), length_s(&s->s[i]));
		else
			s->s[n++] = s->s[i];
	}
	s->n = 0;
	for (u32 i = 0; i < n; i++)
		if (length_s(&s->s[i]) >= f->gap_s)
			s->s[s->n++] = s->s[i];
}

int stalls_find(const struct flow *f, struct stalls *ret)
{
	int err = add_rows(f, ret) ?: f->op < 0 && f->q->run->glanced ? add_halts(f, ret) : add_long(f, ret);

	if (!err)
		join(f, ret);
	return err;
}

double stalled_time(const struct run *r, const double *stalled_s, u32 last, const struct stall *within)
{
	double s = 0;

	for (u32 i = last + 1; i-- && run_end_of(r, i) > within->from_s;)
		s += fmin(stalled_s[i], fmin(run_end_of(r, i), within->to_s) - fmax(r->start_s[i], within->from_s));
	return s;
}

void stalls_sum_up(struct stalls *s, const struct run *r, const double *told_s)
{
	u32 n = 0, last = 0;

	for (u32 i = 0; i < s->n; i++) {
		const struct stall stall = s->s[i];

		while (last + 1 < r->n && r->start_s[last + 1] < stall.to_s)
			last++;
		if (stalled_time(r, told_s, last, &stall) > length_s(&stall) / 2)
			continue;
		s->s[n++] = stall;
		s->time_s += length_s(&stall);
		/* Of equally long stalls, takes the first one, regardless of rounding. */
		if (length_s(&stall) > s->longest_s + ROUNDING_S) {
			s->longest_s = length_s(&stall);
			s->longest_at_s = stall.from_s;
		}
	}
	s->n = n;
	/* Rounded, the mean of equal stalls may exceed each of them. */
	s->mean_s = n ? fmin(s->time_s / n, s->longest_s) : 0;
}

void stalls_uninit(struct stalls *s)
{
	free(s->s);
}

u32 stalls_spread(const struct stalls *s, const struct run *r, double *stalled_s)
{
	u32 n = 0, at = 0;

	for (u32 i = 0; i < r->n; i++) {
		double in_s = 0;

		while (at < s->n && s->s[at].to_s <= r->start_s[i])
			at++;
		for (u32 k = at; k < s->n && s->s[k].from_s < run_end_of(r, i); k++)
			in_s += fmin(s->s[k].to_s, run_end_of(r, i)) - fmax(s->s[k].from_s, r->start_s[i]);
		if (in_s < ROUNDING_S)
			continue;
		stalled_s[i] += in_s;
		n++;
	}
	return n;
}
