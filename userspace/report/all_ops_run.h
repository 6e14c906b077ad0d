/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An owner's percentiles over time, of all of its ops together (--by cgroup): those of the merged bins
 * of each interval. As long as a part has IOs of one op, they are that op's and take no memory. Pure.
 */
#ifndef REPORT_ALL_OPS_RUN_H
#define REPORT_ALL_OPS_RUN_H

#include "report/run.h"

/* Whether parts of this division have them. */
bool all_ops_run_has(const struct watch_run *w);

/* Whether they have to begin: a second op's series just did. */
bool all_ops_run_lacks(const struct watch_run *w);

/* Begins them after @n intervals, in which one op at most had IOs. Returns 0, or -ENOMEM and changes nothing. */
int all_ops_run_begin(struct watch_run *w, u32 n, u32 room);

/* Sets interval @i, if they have begun. @f is NULL if there is no frame; @scratch is of merged_init(). */
void all_ops_run_put(struct watch_run *w, u32 i, const struct frame *f, struct op_frame *scratch);

/* The percentiles, wherever they are. */
const struct percentiles_run *all_ops_run_of(const struct watch_run *w);

#endif
