/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares repeats with repeats, for comparison_judge(). */
#ifndef REPORT_COMPARISON_REPEATS_H
#define REPORT_COMPARISON_REPEATS_H

#include "report/comparison.h"

/* Judges the medians of both sides by @condition, whatever its phase. Returns as comparison_judge() does. */
int comparison_judge_repeats(struct comparison *c, const struct condition *condition, struct problem *p);

#endif
