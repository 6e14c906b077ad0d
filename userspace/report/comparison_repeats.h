/* SPDX-License-Identifier: GPL-2.0-only */
/* Repeats beside repeats: comparison_judge() of these. */
#ifndef REPORT_COMPARISON_REPEATS_H
#define REPORT_COMPARISON_REPEATS_H

#include "report/comparison.h"

/* Judges the medians of both sides by @condition, whatever its phase. Returns as comparison_judge() does. */
int comparison_judge_repeats(struct comparison *c, const struct condition *condition, struct problem *p);

#endif
