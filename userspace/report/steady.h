/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How even a run is: its IOPS over a window, and whether it is in a steady state there by the rule of
 * SNIA's Solid State Storage Performance Test Specification 2.0. Pure.
 */
#ifndef REPORT_STEADY_H
#define REPORT_STEADY_H

#include "report/run.h"

#define STEADY_FROM_S 1400.0	/* where reviewers begin to measure in runs of 2000 s */
#define STEADY_ROUNDS 5
#define STEADY_ROUND_S 60.0	/* SNIA's; a default window from STEADY_FROM_S on fits STEADY_ROUNDS of them */
#define STEADY_EXCURSION 0.20	/* limit of (maximum - minimum) / average of the rounds */
#define STEADY_SLOPE 0.10	/* limit of the rise or fall of a line through all rounds, over their average */
#define STEADY_INTERVALS 10	/* a run with fewer is too short to judge */

/* The intervals of a run whose middle lies in a span of time. */
struct steady_window {
	u32 first;
	u32 n;			/* 0: none */
	double from_s, to_s;	/* where the first begins and the last ends */
	char rule[48];		/* "t >= 1400 s", "second half", "as asked: 100.0 s to 200.0 s" */
};

/*
 * t >= 1400 s if five rounds of a minute fit behind it, else the second half; both of the intervals that lie in the
 * run's active window whole.
 */
struct steady_window steady_window_default(const struct run *r);

/*
 * Sets the window that the user wants; @to_s may be INFINITY: to the last interval that lies in the active window
 * whole. n is 0 if no interval lies there.
 */
struct steady_window steady_window_set(const struct run *r, double from_s, double to_s);

/* The intervals that lie in the run's active window whole. */
struct steady_window steady_window_active(const struct run *r);

/*
 * The intervals of @in for all of which the device was there: not those in which it came or went. Has no rule; n is 0
 * if there are none.
 */
struct steady_window steady_window_there(const struct run *r, const struct watch_run *of,
					 const struct steady_window *in);

/*
 * How IOPS vary between the intervals of a window. Intervals are weighted by their length, since those
 * of a recording may have been merged. An interval shorter than half of the configured length (often
 * the last one of a run) counts for mean and deviation, but not as the worst or as one at 0.
 */
#define CONSISTENCY_ROUNDING 1e-9	/* share of the mean: smaller differences are rounding errors, and count as 0 */

struct consistency {
	u64 ios;
	double mean;			/* IOs over time */
	double deviation;		/* population standard deviation */
	double worst;			/* negative: there is none */
	double worst_at_s;		/* begin of the first interval with that rate */
	u32 intervals_at_0;
};

/*
 * Of the intervals of @w for all of which the device was there. If there are none, worst is -1 and everything else is
 * 0.
 */
struct consistency consistency_of(const struct run *r, const struct watch_run *of, u32 op,
				  const struct steady_window *w);

/*
 * The same around interval @i, to tell a trend from scatter: over up to MOVING_REACH intervals to
 * either side, within the active window, so over fewer at its ends. Returns false outside of the
 * window, or if there are fewer than MOVING_LEAST intervals.
 */
#define MOVING_REACH 15
#define MOVING_LEAST 10
bool consistency_around(const struct run *r, const struct watch_run *of, u32 op, const struct steady_window *active,
			u32 i, struct consistency *ret);

/*
 * A load that comes and goes regularly: five bursts or more of 100 IOs or more on average, whose distances deviate by
 * at most 25 %, with pauses in between: intervals below 1 % of the mean rate, at whose ends no IO is in flight.
 */
struct duty {
	u32 bursts;			/* 0: there is none; without few, nothing else is meaningful */
	u32 few;			/* bursts, of two to four; then overall_iops is of the active window */
	double rest_s;			/* between the first one and the last */
	double from_s;			/* begin of the first burst */
	double period_s;		/* mean, from the begin of a burst to that of the next */
	double busy_iops;		/* of all ops, while busy: of the intervals that are busy all the time */
	/* bursts are too short for such an interval; then busy_iops may be more, and share less */
	bool at_least;
	double overall_iops;		/* of all whole periods */
	double share;			/* of the time that is busy: the one rate over the other */
	/* Private. */
	u32 first, end;
	double low_iops;
	bool has_inner;
};

struct duty duty_of(const struct run *r, const struct watch_run *w);

/* Whether an interval is not all busy: in a pause, or at an end of a burst. False if there is no duty cycle. */
bool duty_leaves_out(const struct duty *d, const struct run *r, const struct watch_run *w, u32 i);

struct steady_state {
	bool there;			/* the device was, for all of the window */
	/* false: it was not, the run is too short, or the window has no or too few IOs to tell */
	bool known;
	bool few;			/* the IOs of a round would exceed the limits by chance, at a constant rate */
	double scatter;			/* standard deviation from interval to interval within a round / mean */
	double error;			/* standard error of a round by this / mean */
	bool reached;
	bool while_busy;		/* there is a duty cycle */
	double round_s;			/* length of a round; the busy time of it */
	double rounds[STEADY_ROUNDS];	/* IOPS of each */
	double mean;			/* of the rounds */
	double excursion;		/* (largest - smallest) / mean */
	double slope;			/* rise of the least-squares line from first to last round / mean */
};

/*
 * The five rounds are equal parts of the window, or with a duty cycle of the busy time in it. An interval that lies
 * in two rounds counts for each in proportion to its time there. Reached: excursion <= STEADY_EXCURSION and |slope|
 * <= STEADY_SLOPE.
 */
struct steady_state steady_state_of(const struct run *r, const struct watch_run *of, u32 op,
				    const struct steady_window *w);

/*
 * Whether rounds with this standard error / mean would exceed the limits by as much at a constant rate, one time in a
 * thousand.
 */
bool steady_by_chance(const struct steady_state *s, double error);

/*
 * Finds when the first five consecutive rounds of @round_s that pass the test begin, anywhere in the
 * run; negative: there are none. Only rounds that begin with an interval are tried. Returns 0 or
 * -ENOMEM.
 */
int steady_state_first(const struct run *r, const u64 *ios, double round_s, double *ret_s);

#endif
