/* SPDX-License-Identifier: GPL-2.0-only */
/* How far two figures, or two distributions, are apart. Pure. */
#ifndef REPORT_DISTANCE_H
#define REPORT_DISTANCE_H

#include "core/hist.h"

/* @other over @base; negative where there is none, that is where @base is not above 0 or one is missing. */
double ratio_of(double base, double other);

/*
 * The Kolmogorov-Smirnov distance, the largest difference between two cumulative distributions (0: the same,
 * 1: nothing in common), over the bins that both have: exact at the coarser scale. Returns 0, -ENOMEM,
 * or -ENODATA when one is empty.
 */
int ks_distance(const struct hist *a, const struct hist *b, double *ret);

#endif
