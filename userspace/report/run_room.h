/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of a run's intervals, and whether it may take more; for run.c. */
#ifndef REPORT_RUN_ROOM_H
#define REPORT_RUN_ROOM_H

#include "report/run.h"

/* How many columns each heat may have, by the run's scale, wholes and memory limit. */
u32 run_heat_columns(const struct run *r);

/* Whether it may have room for so many intervals of all this. If not, sets run.full. */
bool run_fits(struct run *r, u32 room, const struct run_has *has);

#endif
