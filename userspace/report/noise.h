/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics for comparisons. Pure. */
#ifndef REPORT_NOISE_H
#define REPORT_NOISE_H

#include "core/hist.h"
#include "util/types.h"

/* --- how far apart two figures or two distributions are --- */

/* @other / @base; negative if @base is not above 0 or @other is missing (negative). */
double ratio_of(double base, double other);

/*
 * The Kolmogorov-Smirnov distance: the largest difference between two cumulative distributions (0: the same, 1: nothing
 * in common), computed exactly on the bins of the coarser scale. Returns 0, -ENOMEM, or -ENODATA if one is empty.
 */
int ks_distance(const struct hist *a, const struct hist *b, double *ret);

/* --- Student's t distribution; the degrees of freedom need not be whole --- */

/* The probability of a value at least as far from 0 as @t, on either side. @df is above 0. */
double student_two_sided(double t, double df);

/* The t > 0 whose two-sided probability is @p, 0 < @p < 1: 2.776 for @p = 0.05 and @df = 4. */
double student_beyond(double p, double df);

/* --- the incomplete beta function and the binomial distribution --- */

/* The probability of @k or more successes in @n trials, each with probability @p, 0 <= @p <= 1, and @k <= @n. */
double binomial_at_least(unsigned int k, unsigned int n, double p);

/* --- whether a change is larger than the differences between repeats --- */

/*
 * Welch's t test (B. L. Welch, Biometrika 34, 1947) on the logarithms of the figures: latencies and rates are above 0
 * and vary in proportion to their size, so their logarithms are closer to a normal distribution, and a difference of
 * logarithms is a ratio. Variances need not be equal. With three repeats on each side a rank test could never reach 5 %
 * (2 of 20 orders are 10 %). A difference within the figures' resolution, such as a percentile that moves by one bin,
 * is not a change, even if the repeats do not vary at all. So the interval extends at least that far to either side.
 * The confidence level holds if the repeats are independent: run them in turns, a b a b a b.
 */
#define NOISE_CONFIDENCE 0.95
#define NOISE_METHOD "Welch's t on logarithms"
#define NOISE_REPEATS_MIN 2

/* One figure over the repeats of one side. */
struct noise_side {
	u32 n;
	double median, min, max;
};

struct noise {
	struct noise_side base, other;
	double ratio;		/* of the medians; negative: unknown */
	/* False if a side has fewer than NOISE_REPEATS_MIN repeats, or a figure that is not above 0. */
	bool known;
	double low, high;	/* the ratio's confidence interval (of geometric means) */
	/* two-sided probability of such a difference, or a larger one, if the sides are equal */
	double p;
};

/*
 * Sorts both lists. A side without repeats has -1 everywhere. @resolution: the ratio up to which two figures can't be
 * told apart, the largest over all figures (quantile_resolution()); 1 if they are exact.
 */
struct noise noise_of(double *base, u32 n_base, double *other, u32 n_other, double resolution);

/* Whether the other side is above the baseline (or below it, if @above is false) by more than noise. */
bool noise_beyond(const struct noise *n, bool above);

#endif
