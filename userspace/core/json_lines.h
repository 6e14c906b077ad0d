/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON lines: one object a line, one line for each device, stage and interval, and behind it one for each of its parts that
 * had IOs; their keys are described in blklat(8). A
 * figure that cannot be had is null. Latencies are ns; no number carries more digits than it means.
 */
#ifndef CORE_JSON_LINES_H
#define CORE_JSON_LINES_H

#include <stdio.h>

#include "core/sink.h"

/* Prints those of an interval; @bins: every bin too. Returns 0 or -ENOMEM; what @to fails with is its owner's to ask. */
int json_lines_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins);

#endif
