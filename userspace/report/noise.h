/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a change more than what repeats differ by? Pure.
 *
 * Welch's t test (B. L. Welch, Biometrika 34, 1947) on the logarithms of the figures: figures of latency and rate are
 * above 0 and vary by a share of themselves, so logarithms are closer to normal than they, and a difference of logarithms
 * is a ratio. Variances need not be equal. Of three repeats against three a rank test could never reach 5 % (2 of 20
 * orders are 10 %). What is no more than the figures' resolution is no change, even where repeats do not vary at all: a
 * percentile that moves by one bin. So the interval is at least that wide to either side. The level holds if repeats are independent of each other: run them in turns, a b a b a b.
 */
#ifndef REPORT_NOISE_H
#define REPORT_NOISE_H

#include <stdbool.h>

#include "util/types.h"

#define NOISE_CONFIDENCE 0.95
#define NOISE_METHOD "Welch's t on logarithms"
#define NOISE_REPEATS_MIN 2

/* What the repeats of one side have in one figure. */
struct noise_side {
	u32 n;
	double median, min, max;
};

struct noise {
	struct noise_side base, other;
	double ratio;		/* of the medians; negative: unknown */
	/* Unless known, a side has less than NOISE_REPEATS_MIN repeats or a figure that is not above 0. */
	bool known;
	double low, high;	/* the ratio's confidence interval (of geometric means) */
	double p;		/* two-sided probability of such a difference, or a larger one, between equal sides */
};

/*
 * Both lists are sorted by this. A side of none has -1 everywhere. @resolution: the ratio up to which two figures can't be told
 * apart, the largest of all of them (quantile_resolution()); 1 if they are exact.
 */
struct noise noise_of(double *base, u32 n_base, double *other, u32 n_other, double resolution);

/* Is the other side above the baseline, or else below it, by more than noise? */
bool noise_beyond(const struct noise *n, bool above);

#endif
