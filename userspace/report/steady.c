// SPDX-License-Identifier: GPL-2.0-only
#include "report/steady.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "util/cleanup.h"
#include "util/units.h"

/* In standard errors of a round: one time in a thousand five rounds at one rate are as far apart, or rise as much. */
#define CHANCE_EXCURSION 5.5
#define CHANCE_SLOPE 4.2

static double middle_s(const struct run *r, u32 i)
{
	return r->start_s[i] + r->length_s[i] / 2;
}

static struct steady_window window_of(const struct run *r, u32 first, u32 end)
{
	if (end <= first)
		return (struct steady_window){ .first = first };
	return (struct steady_window){ first, end - first, r->start_s[first], run_end_of(r, end - 1), "" };
}

static struct steady_window window_between(const struct run *r, double from_s, double to_s)
{
	u32 first = 0, end;

	while (first < r->n && middle_s(r, first) < from_s)
		first++;
	for (end = first; end < r->n && middle_s(r, end) < to_s;)
		end++;
	return window_of(r, first, end);
}

struct steady_window steady_window_active(const struct run *r)
{
	const struct active_window *a = &r->active;
	u32 first = a->first, end = first + a->n;

	first += a->n && a->from_s > r->start_s[first];
	end -= end > first && a->to_s < run_end_of(r, end - 1);
	return window_of(r, first, end);
}

struct steady_window steady_window_default(const struct run *r)
{
	const struct steady_window active = steady_window_active(r);
	/* Intervals begin and end late by the time of a read, which is less than a second. */
	bool is_long = active.to_s + 1 >= STEADY_FROM_S + STEADY_ROUNDS * STEADY_ROUND_S;
	double from_s = is_long ? STEADY_FROM_S : (active.from_s + active.to_s) / 2;
	struct steady_window w = window_between(r, from_s, active.to_s);

	snprintf(w.rule, sizeof(w.rule), is_long ? "t >= %.0f s" : "second half", STEADY_FROM_S);
	return w;
}

struct steady_window steady_window_set(const struct run *r, double from_s, double to_s)
{
	bool ends = isfinite(to_s);
	struct steady_window w = window_between(r, from_s, ends ? to_s : steady_window_active(r).to_s);

	snprintf(w.rule, sizeof(w.rule), ends ? "as asked: %s to %s" : "as asked: t >= %s", UNITS(seconds, from_s),
		 UNITS(seconds, to_s));
	return w;
}

struct steady_window steady_window_there(const struct run *r, const struct watch_run *of,
					 const struct steady_window *in)
{
	/* An owner without IOs is there all the same. */
	while (of->watch->part)
		of--;
	return window_of(r, max_u64(in->first, of->first_there + (of->first_there > 0)),
			 min_u64(in->first + in->n, of->n_there - of->gone));
}

struct consistency consistency_of(const struct run *r, const struct watch_run *of, u32 op,
				  const struct steady_window *in)
{
	const struct steady_window there = steady_window_there(r, of, in), *w = &there;
	const u64 *ios = of->ops[op].ios;
	struct consistency c = { .worst = -1 };
	double time = 0, squares = 0;

	for (u32 i = w->first; i < w->first + w->n; i++) {
		c.ios += ios ? ios[i] : 0;
		time += r->length_s[i];
	}
	c.mean = time > 0 ? c.ios / time : 0;
	for (u32 i = w->first; i < w->first + w->n; i++) {
		double iops = run_iops(r, ios, i);

		squares += (iops - c.mean) * (iops - c.mean) * r->length_s[i];
		if (r->length_s[i] < r->interval_s / 2)
			continue;
		if (c.worst < 0 || iops < c.worst) {
			c.worst = iops;
			c.worst_at_s = r->start_s[i];
		}
		c.intervals_at_0 += iops == 0;
	}
	c.deviation = time > 0 ? sqrt(squares / time) : 0;
	if (c.deviation <= c.mean * CONSISTENCY_ROUNDING)
		c.deviation = 0;
	return c;
}

bool consistency_around(const struct run *r, const struct watch_run *of, u32 op, const struct steady_window *active,
			u32 i, struct consistency *ret)
{
	const u32 end = active->first + active->n;
	struct steady_window w = { .first = i > active->first + MOVING_REACH ? i - MOVING_REACH : active->first };

	if (i < active->first || i >= end)
		return false;
	w.n = (i + MOVING_REACH < end ? i + MOVING_REACH + 1 : end) - w.first;
	if (w.n < MOVING_LEAST)
		return false;
	*ret = consistency_of(r, of, op, &w);
	return true;
}

bool steady_by_chance(const struct steady_state *s, double error)
{
	return !s->reached && s->excursion <= fmax(STEADY_EXCURSION, CHANCE_EXCURSION * error) &&
	       fabs(s->slope) <= fmax(STEADY_SLOPE, CHANCE_SLOPE * error);
}

/* Judges @s, whose rounds are filled in. */
static void judge(struct steady_state *s)
{
	double least = s->rounds[0], most = s->rounds[0], sum = 0, moment = 0, about_0 = 0;

	for (u32 i = 0; i < STEADY_ROUNDS; i++) {
		double x = i - (STEADY_ROUNDS - 1) / 2.0;

		least = fmin(least, s->rounds[i]);
		most = fmax(most, s->rounds[i]);
		sum += s->rounds[i];
		moment += x * s->rounds[i];
		about_0 += x * x;
	}
	s->mean = sum / STEADY_ROUNDS;
	s->known = s->mean > 0;
	if (!s->known)
		return;
	s->error /= s->mean;
	s->scatter /= s->mean;
	s->excursion = (most - least) / s->mean;
	s->slope = moment / about_0 * (STEADY_ROUNDS - 1) / s->mean;
	/* Rounds may begin within intervals, so equal ones differ by rounding errors. */
	if (s->excursion <= CONSISTENCY_ROUNDING)
		s->excursion = s->slope = 0;
	/* An excursion of exactly 20 % passes, whatever the last bit of the division says. */
	s->reached = s->excursion <= STEADY_EXCURSION * (1 + 1e-12) && fabs(s->slope) <= STEADY_SLOPE * (1 + 1e-12);
	s->few = steady_by_chance(s, 1 / sqrt(s->mean * s->round_s));
	s->known = !s->few;
}

struct steady_state steady_state_of(const struct run *r, const struct watch_run *of, u32 op,
				    const struct steady_window *w)
{
	const u64 *ios = of->ops[op].ios;
	const struct duty duty = duty_of(r, of);
	struct steady_state s = { .while_busy = duty.bursts, .there = of->first_there <= w->first && of->n_there >= w->first + w->n };
	double window_s = w->to_s - w->from_s, at_s = 0, squares = 0, last = 0;
	u32 n = 0, pairs = 0, of_last = STEADY_ROUNDS;

	for (u32 i = w->first; i < w->first + w->n; i++)
		window_s -= duty_leaves_out(&duty, r, of, i) ? r->length_s[i] : 0;
	s.round_s = window_s / STEADY_ROUNDS;
	if (ios && r->n >= STEADY_INTERVALS && w->n >= STEADY_ROUNDS && s.round_s > 0 && s.there) {
		for (u32 i = w->first; i < w->first + w->n; i++) {
			double begin = s.while_busy ? at_s : r->start_s[i] - w->from_s;

			if (duty_leaves_out(&duty, r, of, i))
				continue;
			at_s += r->length_s[i];
			/* By John von Neumann et al., Annals of Mathematical Statistics 12, 1941. */
			if (of_last == (u32)(begin / s.round_s)) {
				squares += pow(run_iops(r, ios, i) - last, 2) / 2;
				pairs++;
			}
			of_last = begin / s.round_s;
			last = run_iops(r, ios, i);
			n++;
			for (u32 round = 0; round < STEADY_ROUNDS; round++) {
				double from = fmax(round * s.round_s, begin);
				double to = fmin((round + 1) * s.round_s, begin + r->length_s[i]);

				if (to > from)
					s.rounds[round] += run_iops(r, ios, i) * (to - from) / s.round_s;
			}
		}
		s.scatter = pairs ? sqrt(squares / pairs) : 0;
		s.error = n ? s.scatter / sqrt((double)n / STEADY_ROUNDS) : 0;
		judge(&s);
	}
	return s;
}

/*
 * IOs done by @t, if those of an interval are spread evenly over it. @before[i]: IOs done by the start of interval i.
 */
static double ios_by(const struct run *r, const double *before, double t)
{
	u32 low = 0, high = r->n;	/* intervals below low begin by t, those from high on do not */

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (r->start_s[mid] <= t)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return 0;
	return before[low - 1] + (before[low] - before[low - 1]) *
	       fmin((t - r->start_s[low - 1]) / r->length_s[low - 1], 1);
}

int steady_state_first(const struct run *r, const u64 *ios, double round_s, double *ret_s)
{
	CLEANUP(cleanup_free) double *before = calloc(r->n + 1, sizeof(*before));
	double end = run_end(r) + 1e-9;

	if (!before)
		return -ENOMEM;
	*ret_s = -1;
	if (!ios || !(round_s > 0))
		return 0;
	for (u32 i = 0; i < r->n; i++)
		before[i + 1] = before[i] + ios[i];
	for (u32 i = 0; i < r->n && r->start_s[i] + STEADY_ROUNDS * round_s <= end; i++) {
		struct steady_state s = { .round_s = round_s };

		for (u32 round = 0; round < STEADY_ROUNDS; round++) {
			double from = r->start_s[i] + round * round_s;

			s.rounds[round] = (ios_by(r, before, from + round_s) - ios_by(r, before, from)) / round_s;
		}
		judge(&s);
		if (s.reached && ios[i]) {
			*ret_s = r->start_s[i];
			return 0;
		}
	}
	return 0;
}
