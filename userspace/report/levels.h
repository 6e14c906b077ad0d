/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds where a series of figures changes from one level to another. Pure. */
#ifndef REPORT_LEVELS_H
#define REPORT_LEVELS_H

#include "util/types.h"

#define LEVEL_LEAST 5		/* a level has at least this many values */
#define LEVEL_CUTS_MAX 512

/*
 * Finds the cuts between levels of @y[0..n): cut c means that y[c] is the first value of a new level.
 * For each cut,
 *   - the means of the two levels differ by at least @step, as do the medians of the LEVEL_LEAST values on both
 *     sides of the cut (a ramp is no step);
 *   - both levels are stable: the standard deviation within each is at most half the difference;
 *   - the difference is at least 5 standard errors.
 * Ascending cuts are written to @ret, which has room for LEVEL_CUTS_MAX. Returns their number, or
 * -ENOMEM.
 */
int levels_find(const double *y, u32 n, double step, u32 *ret);

#endif
