/* SPDX-License-Identifier: GPL-2.0-only */
/* How far apart two figures or two distributions are. Pure. */
#ifndef REPORT_DISTANCE_H
#define REPORT_DISTANCE_H

#include "core/hist.h"

/* @other / @base; negative if @base is not above 0 or @other is missing (negative). */
double ratio_of(double base, double other);

/*
 * The Kolmogorov-Smirnov distance: the largest difference between two cumulative distributions (0: the same, 1: nothing
 * in common), computed exactly on the bins of the coarser scale. Returns 0, -ENOMEM, or -ENODATA if one is empty.
 */
int ks_distance(const struct hist *a, const struct hist *b, double *ret);

#endif
