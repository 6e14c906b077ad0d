/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON lines: one object a line, one line for each device, stage and interval, followed by one for each
 * of its parts that had IOs. The keys are described in blklat(8). A figure that is not available is
 * null. Latencies are in ns; no number has more digits than are meaningful.
 */
#ifndef CORE_JSON_LINES_H
#define CORE_JSON_LINES_H

#include <stdio.h>

#include "core/sink.h"

/*
 * Prints the lines of an interval; @bins: with every bin. Returns 0 or -ENOMEM. For write errors the
 * caller checks @to.
 */
int json_lines_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins);

#endif
