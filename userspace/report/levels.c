// SPDX-License-Identifier: GPL-2.0-only
/*
 * Binary segmentation: a stretch is cut where that explains most of its variance, as long as it
 * explains more than noise would. Of many short levels in turn no cut explains much of the whole, so windows of it
 * are looked at as well. Then cuts that are not clean steps are taken back, the worst first.
 */
#include "report/findings_rules.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"

#define NOISE_LEAST 0.01	/* in logarithms, which are compared here: a change below 1 % is not a new level */
#define PENALTY 4.0		/* the variance that a cut has to explain, in units of noise * log(n) */
#define STANDARD_ERRORS 5.0
#define WINDOW (8 * LEVEL_LEAST)
#define SAME 1e-9		/* tolerance: a step of exactly the least size is enough */

struct search {
	const double *y;
	u32 n;
	double step;
	double *sum, *squares;	/* [i] over all values before i */
	u32 *cuts;
	u32 n_cuts;
};

static double mean_of(const struct search *s, u32 from, u32 to)
{
	return (s->sum[to] - s->sum[from]) / (to - from);
}

/* Sum of squared differences from the mean. */
static double scatter(const struct search *s, u32 from, u32 to)
{
	double sum = s->sum[to] - s->sum[from];

	return fmax(s->squares[to] - s->squares[from] - sum * sum / (to - from), 0);
}

/* The cut of [from, to) that explains most, and how much that is. 0: the stretch is too short to be cut. */
static u32 best_cut(const struct search *s, u32 from, u32 to, double *ret_gain)
{
	double whole = scatter(s, from, to);
	u32 best = 0;

	*ret_gain = 0;
	for (u32 c = from + LEVEL_LEAST; c + LEVEL_LEAST <= to; c++) {
		double gain = whole - scatter(s, from, c) - scatter(s, c, to);

		if (!best || gain > *ret_gain) {
			best = c;
			*ret_gain = gain;
		}
	}
	return best;
}

/* The same of the window, any half of one apart, with the cut that explains most there. */
static u32 best_cut_in_windows(const struct search *s, u32 from, u32 to, double *ret_gain)
{
	u32 best = 0;

	*ret_gain = 0;
	for (u32 begin = from; begin + WINDOW / 2 < to; begin += WINDOW / 2) {
		double gain;
		u32 cut = best_cut(s, begin, min_u64(begin + WINDOW, to), &gain);

		if (cut && gain > *ret_gain) {
			best = cut;
			*ret_gain = gain;
		}
	}
	return best;
}

static u32 begin_of(const struct search *s, u32 level)
{
	return level ? s->cuts[level - 1] : 0;
}

static u32 end_of(const struct search *s, u32 level)
{
	return level < s->n_cuts ? s->cuts[level] : s->n;
}

double median_near(const double *y)
{
	double near[LEVEL_LEAST];

	memcpy(near, y, sizeof(near));
	qsort(near, LEVEL_LEAST, sizeof(*near), compare_double);
	return near[LEVEL_LEAST / 2];
}

/* The noise within the levels, from differences of neighbours: it includes flicker, but not slow drift. */
static double noise_within(const struct search *s)
{
	double squares = 0;
	u32 n = 0, cut = 0;

	for (u32 i = 1; i < s->n; i++) {
		if (cut < s->n_cuts && s->cuts[cut] == i) {
			cut++;
			continue;
		}
		squares += (s->y[i] - s->y[i - 1]) * (s->y[i] - s->y[i - 1]) / 2;
		n++;
	}
	return fmax(n ? squares / n : 0, NOISE_LEAST * NOISE_LEAST);
}

/* As long as there are more cuts: what is known to be a step is no noise. */
static void segment(struct search *s)
{
	u32 before;

	do {
		double least = PENALTY * noise_within(s) * log(s->n);

		before = s->n_cuts;
		for (u32 level = 0; level <= s->n_cuts && s->n_cuts < LEVEL_CUTS_MAX;) {
			double gain;
			u32 cut = best_cut(s, begin_of(s, level), end_of(s, level), &gain);

			if (gain <= least)
				cut = best_cut_in_windows(s, begin_of(s, level), end_of(s, level), &gain);
			if (!cut || gain <= least) {
				level++;
				continue;
			}
			memmove(&s->cuts[level + 1], &s->cuts[level], (s->n_cuts++ - level) * sizeof(*s->cuts));
			s->cuts[level] = cut;
		}
	} while (s->n_cuts > before);
}

/*
 * Whether both levels have enough values. A value at the cut that is closer to the other level does not
 * count: it may belong to the interval in which the level changed.
 */
static bool long_enough(const struct search *s, u32 from, u32 cut, u32 to)
{
	double before = median_near(s->y + cut - LEVEL_LEAST), after = median_near(s->y + cut);
	double last = s->y[cut - 1], first = s->y[cut];
	u32 n_before = cut - from - (fabs(last - after) < fabs(last - before));
	u32 n_after = to - cut - (fabs(first - before) < fabs(first - after));

	return n_before >= LEVEL_LEAST && n_after >= LEVEL_LEAST;
}

/* The quality of a cut; below 1 it fails. */
static double quality(const struct search *s, u32 i, double noise)
{
	u32 from = begin_of(s, i), cut = s->cuts[i], to = end_of(s, i + 1);
	double n_before = cut - from, n_after = to - cut;
	double before = scatter(s, from, cut), after = scatter(s, cut, to);
	double step = fabs(mean_of(s, from, cut) - mean_of(s, cut, to));
	double abrupt = fabs(median_near(s->y + cut - LEVEL_LEAST) - median_near(s->y + cut));
	double unstable = sqrt(fmax(before / n_before, after / n_after));
	double variance = fmax((before + after) / (n_before + n_after), noise);
	double error = sqrt(variance * (1 / n_before + 1 / n_after));
	double least = fmin(step, abrupt) / s->step * (1 + SAME);

	if (!long_enough(s, from, cut, to))
		return 0;
	if (unstable > 0)
		least = fmin(least, step / 2 / unstable);
	return fmin(least, step / (STANDARD_ERRORS * error));
}

/* Takes back the worst of the cuts that fail. Returns false if none fails. */
static bool take_back(struct search *s)
{
	double noise = noise_within(s), least = 1;
	u32 worst = s->n_cuts;

	for (u32 i = 0; i < s->n_cuts; i++) {
		double q = quality(s, i, noise);

		if (q < least) {
			least = q;
			worst = i;
		}
	}
	if (worst == s->n_cuts)
		return false;
	s->n_cuts--;
	memmove(&s->cuts[worst], &s->cuts[worst + 1], (s->n_cuts - worst) * sizeof(*s->cuts));
	return true;
}

/*
 * Places each cut again, between its neighbours: the first cuts were made when the stretch still
 * contained later levels.
 */
static void refine(struct search *s)
{
	for (u32 i = 0; i < s->n_cuts; i++) {
		double gain;
		u32 cut = best_cut(s, begin_of(s, i), end_of(s, i + 1), &gain);

		if (cut)
			s->cuts[i] = cut;
	}
}

/* A value far off draws a cut to it. Where two or more behind it are as before, the level begins behind these. */
static void leave_out_one(struct search *s)
{
	for (u32 i = 0; i < s->n_cuts; i++) {
		u32 cut = s->cuts[i], as_before = 0, last = cut;
		double before = median_near(s->y + cut - LEVEL_LEAST), after = median_near(s->y + cut);

		for (u32 k = cut; k < cut + LEVEL_LEAST; k++) {
			if (fabs(s->y[k] - before) >= fabs(s->y[k] - after))
				continue;
			as_before++;
			last = k + 1;
		}
		if (as_before >= 2 && last + LEVEL_LEAST <= end_of(s, i + 1))
			s->cuts[i] = last;
	}
}

int levels_find(const double *y, u32 n, double step, u32 *ret)
{
	CLEANUP(cleanup_free) double *sum = calloc(n + 1, sizeof(*sum));
	CLEANUP(cleanup_free) double *squares = calloc(n + 1, sizeof(*squares));
	struct search s = { .y = y, .n = n, .step = step, .sum = sum, .squares = squares, .cuts = ret };

	if (!sum || !squares)
		return -ENOMEM;
	if (n < 2 * LEVEL_LEAST)
		return 0;
	for (u32 i = 0; i < n; i++) {
		/* Relative to the first value: otherwise large numbers would hide a small scatter. */
		double d = y[i] - y[0];

		sum[i + 1] = sum[i] + d;
		squares[i + 1] = squares[i] + d * d;
	}
	segment(&s);
	refine(&s);
	while (take_back(&s))
		refine(&s);
	leave_out_one(&s);
	return s.n_cuts;
}
