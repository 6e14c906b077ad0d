/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The active window of a run, which its rates are over. It goes from the first interval with IO to the last one, without
 * these two if enough remain, since the load began and ended somewhere within them. A pause between them belongs to it.
 * Pure.
 */
#ifndef REPORT_ACTIVE_H
#define REPORT_ACTIVE_H

#include "report/run.h"

#define ACTIVE_SHARE 0.01	/* of the mean rate of the intervals with IO: an interval with less, by all devices together, has no IO */
#define ACTIVE_LEAST 5		/* intervals that have to remain, if the first and the last one are to be left out */

/*
 * From the first to the last interval that had IO, or an IO in flight at its end, over all wholes; devices with less than
 * ACTIVE_SHARE of the run's IOs don't count. A begin or end given by the user is taken instead. For a run without IO it is
 * the whole run.
 */
struct active_window active_window_of(const struct run *r);

/* How the window was chosen: "the active window", "as asked". */
const char *active_words(const struct run *r);

/* The window's sum of an array of a series; 0 of NULL. */
u64 active_sum(const struct run *r, const u64 *of);

/* How much of the window the device was present for. */
double active_time(const struct run *r, const struct watch_run *w);

#endif
