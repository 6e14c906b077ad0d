/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The active window of a run, over which its rates are computed. It reaches from the first interval
 * with IO to the last one. These two are left out if enough others remain, since the load began and
 * ended somewhere within them. Pauses in between belong to the window. Pure.
 */
#ifndef REPORT_ACTIVE_H
#define REPORT_ACTIVE_H

#include "report/run.h"

#define ACTIVE_SHARE 0.01	/* an interval below this share of the mean rate (of intervals with IO) is idle */
#define ACTIVE_LEAST 5		/* intervals that must remain if the first and the last are left out */

/*
 * The window reaches from the first to the last interval that had IO, or an IO in flight at its end, on
 * any whole; devices with less than ACTIVE_SHARE of the run's IOs don't count. A begin or end given by
 * the user takes precedence. For a run without IO it is the whole run.
 */
struct active_window active_window_of(const struct run *r);

/* How the window was chosen: "the active window", "as asked". */
const char *active_words(const struct run *r);

/* The sum of a series' array over the window; 0 if @of is NULL. */
u64 active_sum(const struct run *r, const u64 *of);

/* For how much of the window the device was present, in s. */
double active_time(const struct run *r, const struct watch_run *w);

#endif
