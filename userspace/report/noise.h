/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a change is larger than the differences between repeats. Pure.
 *
 * Welch's t test (B. L. Welch, Biometrika 34, 1947) on the logarithms of the figures: latencies and
 * rates are above 0 and vary in proportion to their size, so their logarithms are closer to a normal
 * distribution, and a difference of logarithms is a ratio. Variances need not be equal. With three
 * repeats on each side a rank test could never reach 5 % (2 of 20 orders are 10 %). A difference within
 * the figures' resolution, such as a percentile that moves by one bin, is not a change, even if the
 * repeats do not vary at all. So the interval extends at least that far to either side. The confidence
 * level holds if the repeats are independent: run them in turns, a b a b a b.
 */
#ifndef REPORT_NOISE_H
#define REPORT_NOISE_H

#include <stdbool.h>

#include "util/types.h"

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
	double p;		/* two-sided probability of such a difference, or a larger one, if the sides are equal */
};

/*
 * Sorts both lists. A side without repeats has -1 everywhere. @resolution: the ratio up to which two
 * figures can't be told apart, the largest over all figures (quantile_resolution()); 1 if they are
 * exact.
 */
struct noise noise_of(double *base, u32 n_base, double *other, u32 n_other, double resolution);

/* Whether the other side is above the baseline (or below it, if @above is false) by more than noise. */
bool noise_beyond(const struct noise *n, bool above);

#endif
