// SPDX-License-Identifier: GPL-2.0-only
/* Latency that changes little by little. */
#include "report/findings_levels.h"

#include <math.h>
#include <string.h>

/* The logarithm of percentile @p without what lasts for two intervals. Returns its noise. */
static double smooth(const struct trace *t, u32 p)
{
	double squares = 0;

	for (u32 i = 0; i < t->n; i++) {
		u32 first = min_u64(max_u64(i, LEVEL_LEAST / 2) - LEVEL_LEAST / 2, t->n - LEVEL_LEAST);

		for (u32 k = 0; k < LEVEL_LEAST; k++)
			t->room[k] = (struct weighted){ trace_log_ns(t, first + k, p), 1 };
		t->y[i] = weighted_median(t->room, LEVEL_LEAST);
		squares += pow(trace_log_ns(t, i, p) - t->y[i], 2);
	}
	return sqrt(squares / t->n);
}

/* Where most of a drift by @change from @first is, if it is not for a quarter of the time or longer before or after. */
static void find_moving(const struct trace *t, u32 p, double first, double change, struct change *c)
{
	u32 from = 0, to = 0;

	smooth(t, p);
	for (u32 i = 0; i < t->n; i++) {
		double by = t->y[i] - first;

		/* In logarithms or not, whatever is earlier and later. */
		from = fmax(by / change, expm1(by) / expm1(change)) < 0.1 ? i + 1 : from;
		to = fmin(by / change, expm1(by) / expm1(change)) < 0.9 ? i + 1 : to;
	}
	if (from >= t->n / 4.0 && from < t->n)
		c->ramp.from = from;
	if (to <= t->n * 3 / 4.0 && to)
		c->ramp.to = to;
}

bool find_drift(const struct trace *t, u32 p, struct change *ret)
{
	double ns[FIFTHS], squares = 0, most = 0, change, way;

	if (t->q->run->phases.n || t->n < FIFTHS * LEVEL_LEAST)
		return false;
	*ret = (struct change){ .gradual = true, .at_s = t->q->run->start_s[t->interval[0]], .ramp = { 0, t->n } };
	for (u32 i = 0; i < FIFTHS; i++) {
		ret->span[1] = fifth_of((struct span){ 0, t->n }, i);
		ret->after = figures_of(t, t->s, ret->span[1]);
		ns[i] = p == LEVEL_MEAN ? ret->after.mean_ns : ret->after.ns[p];
		for (u32 k = ret->span[1].from; k < ret->span[1].to; k++)
			squares += pow(trace_log_ns(t, k, p) - log(ns[i]), 2);
	}
	change = log(ns[FIFTHS - 1] / ns[0]);
	way = change < 0 ? -1 : 1;
	for (u32 i = 1; i < FIFTHS; i++) {
		double by = way * log(ns[i] / ns[i - 1]);

		if (by < -log(FALLS))
			return false;
		most = fmax(most, by);
	}
	ret->span[0] = fifth_of((struct span){ 0, t->n }, 0);
	memcpy(ret->near, ret->span, sizeof(ret->near));
	change_compare(t, ret);
	/* Steps of the mean alone are not looked for. */
	if (way * change < fmax(log(STEP(p)), sqrt(squares / t->n) * fmax(2, 5 / sqrt(t->n / FIFTHS / 2.0))) ||
	    (p == LEVEL_MEAN && most >= way * change / 2))
		return false;
	/* A percentile behind the median may step where the mean does not, of which is told unless the median stays. */
	if (p == RUN_P50 || p == LEVEL_MEAN || (change_is_tail(ret) && p == ret->tail))
		find_moving(t, p, log(ns[0]), change, ret);
	return true;
}

u32 find_humps(const struct trace *t, u32 p, int way, struct change *ret)
{
	double noise, low, high, foot;
	u32 n = 0, last = 0;

	if (t->q->run->phases.n || t->n < FIFTHS * LEVEL_LEAST)
		return 0;
	noise = smooth(t, p);
	for (u32 i = 0; i < t->n; i++)
		t->y[i] *= way;
	trace_ends(t, t->n / 20, &low, &high);
	foot = low + fmax(log(EVEN), 2 * noise);
	for (u32 from = 0, to; from < t->n && n + 1 < LEVEL_CUTS_MAX; from = to + 1) {
		u32 top = from, lower = 0, tall = 0;
		double rise, most = 0;

		for (to = from; to < t->n && lower < LEVEL_LEAST && (to == from || t->y[from] > foot); to++) {
			lower = t->y[to] > foot ? 0 : lower + 1;
			top = t->y[to] > t->y[top] ? to : top;
		}
		to -= lower;
		rise = t->y[top] - low;
		for (u32 i = from; i < to; i++) {
			tall += t->y[i] > low + rise / 2;
			most = fmax(most, i && i <= top ? t->y[i] - t->y[i - 1] : 0);
		}
		/* What is as at the run's start in the end is no hump: there was a dip before. */
		if (!from || (to == t->n && t->y[0] > foot) || tall < 2 * LEVEL_LEAST ||
		    rise < fmax(2 * log(STEP(p)), 4 * noise) || most > rise / 2)
			continue;
		ret[n] = (struct change){ .gradual = true, .at_s = t->q->run->start_s[t->interval[from]],
					  .span = { { last, from }, { max_u64(top, 2) - 2, min_u64(top + 3, t->n) } } };
		ret[n].lasts_s = run_end_of(t->q->run, t->interval[to - 1]) - ret[n].at_s;
		for (ret[n].ramp.from = ret[n].ramp.to = from; t->y[ret[n].ramp.to++] < low + 0.9 * rise;)
			;
		n++;
		last = to;
		if (to < t->n)
			ret[n++] = (struct change){ .at_s = t->q->run->start_s[t->interval[to]] };
	}
	if (!n)
		return 0;
	memcpy(ret->near, ret->span, sizeof(ret->near));
	change_compare(t, ret);
	return ret->latency == way && direction(ret->before.ns[p], ret->after.ns[p], STEP(p) * STEP(p)) == way ? n : 0;
}
