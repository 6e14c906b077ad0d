/* SPDX-License-Identifier: GPL-2.0-only */
/* Two runs side by side: what to compare with what, and how far they are apart. Pure. */
#ifndef REPORT_PAIRING_H
#define REPORT_PAIRING_H

#include "report/run.h"

/* Two watches that are compared: indices into the runs' watches. */
struct pair {
	u32 base, other;
};

/*
 * Pairs the watches of two runs: those of a device's name and stage; then, where a stage is left once in
 * each, these (another drive, the same test). @ret has room for @base's watches. Returns the number.
 */
u32 pairs_make(const struct run *base, const struct run *other, struct pair *ret);

/* All of @total's ops as one, percentiles run_of_total. Returns 0 or -ENOMEM; free with merged_uninit(). */
int merged_make(const struct frame *total, struct op_frame *ret);
void merged_uninit(struct op_frame *o);

/* @other over @base; negative where there is none, that is where @base is not above 0 or one is missing. */
double ratio_of(double base, double other);

/*
 * The Kolmogorov-Smirnov distance, the largest difference between two cumulative distributions (0: the same,
 * 1: nothing in common), over the bins that both have: exact at the coarser scale. Returns 0, -ENOMEM,
 * or -ENODATA when one is empty.
 */
int ks_distance(const struct hist *a, const struct hist *b, double *ret);

#endif
