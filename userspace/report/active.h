/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The active window of a run or a phase, over which its rates are computed: from its first IO to its last, as far as
 * that can be told from counts by interval. It reaches from the first interval with IO to the last one, pauses in
 * between included. The load began somewhere within the first and ended somewhere within the last, so of these two
 * only the time counts that their IOs take if the load was as in the interval beside each. Pure.
 */
#ifndef REPORT_ACTIVE_H
#define REPORT_ACTIVE_H

#include "util/types.h"

#define ACTIVE_SHARE 0.01	/* an interval below this share of the mean rate (of intervals with IO) is idle */

struct active_window {
	u32 first, n;			/* intervals; n is 0 if there are none */
	double from_s, to_s;		/* where it begins in the first of them, and ends in the last */
	u32 left_out;			/* at how many of its ends a part of the interval is left out */
};

struct run;
struct watch_run;

/*
 * Sets the windows of a run and of its phases. The run's reaches from the first to the last interval that had IO, or
 * an IO in flight at its end, on any whole; devices with less than ACTIVE_SHARE of the run's IOs don't count. At an
 * end given by the user it has all intervals, each as a whole. Without IO it is the whole run.
 *
 * How long the IOs of the first and the last interval took: each op of each device as long as at its own IOPS in the
 * interval beside it, at most the whole interval; the mean of that over all IOs; and at least the age of the oldest
 * IO in flight. The same by the IOs' time, hence queue depth, instead of their number, if this is the steadier one in
 * all other intervals. All of the interval if an IO is in flight at the window's end, if there is no other interval,
 * and where a phase is partial.
 */
void active_windows_set(struct run *r);

#define ACTIVE_TEXT 96

/* @lead and "rates over 1.0 s to 9.0 s, the active window", or "as asked"; "" without IO, if nothing was asked for. */
const char *active_words(char ret[ACTIVE_TEXT], const char *lead, const struct run *r);

/* The sum of a series' array over the window; 0 if @of is NULL. */
u64 active_sum(const struct run *r, const u64 *of);

/* For how much of the window the device was present, in s. */
double active_time(const struct run *r, const struct watch_run *w);

/*
 * How much the queue depth varies from interval to interval, over how much IOPS do: as squares of logarithms; of @w, or
 * if it is NULL, of all devices and stages. It is less than KEEPS_DEPTH of a load that keeps a number of IOs in flight,
 * and 1 or more of one at a rate of its own; NAN: neither varies.
 */
#define KEEPS_DEPTH 0.25
double depth_scatter(const struct run *r, const struct watch_run *w, u32 first, u32 end);

#endif
