/* SPDX-License-Identifier: GPL-2.0-only */
/* A run's slow IOs, as charts and tables need them. Pure. */
#ifndef REPORT_SLOW_RUN_H
#define REPORT_SLOW_RUN_H

#include "core/frame.h"

#define SLOW_RUN_MOST 5000	/* of all wholes together; a page with this many dots is still fast */
#define SLOW_RUN_LEAST 10	/* of each whole, however many there are */

/* How many slow IOs a run keeps of each whole. */
u32 slow_run_most(u32 n_wholes);

/*
 * Adds an interval's slow IOs: those that failed and the slowest are kept. In @to, an IO's told.end_ns
 * is in ns since the run's start, at @start_mono_ns. Returns 0, or -ENOMEM (some are then only
 * counted).
 */
int slow_run_add(struct slow_ios *to, const struct frames *interval, u64 start_mono_ns);

/* The most memory that @s takes. */
u64 slow_run_bytes(const struct slow_ios *s);

#endif
