/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How even a run is: its IOPS over a window, and whether it is in a steady state there, by the rule of SNIA's
 * Solid State Storage Performance Test Specification 2.0. Pure.
 */
#ifndef REPORT_STEADY_H
#define REPORT_STEADY_H

#include "report/run.h"

#define STEADY_FROM_S 1400.0	/* where reviewers begin to look in runs of 2000 s */
#define STEADY_ROUNDS 5
#define STEADY_ROUND_S 60.0	/* SNIA's; a default window from STEADY_FROM_S on has room for STEADY_ROUNDS of them */
#define STEADY_EXCURSION 0.20	/* most that the rounds' maximum may exceed their minimum, over their average */
#define STEADY_SLOPE 0.10	/* most that a line through the rounds may rise or fall in all, over their average */
#define STEADY_INTERVALS 10	/* a run with fewer tells nothing */

/* The intervals of a run whose middle lies in a span of time. */
struct steady_window {
	u32 first;
	u32 n;			/* 0: none */
	double from_s, to_s;	/* where the first begins and the last ends */
	char rule[48];		/* "t >= 1400 s", "second half", "as asked: 100.0 s to 200.0 s" */
};

/* t >= 1400 s if there are five rounds of a minute from there on, else the second half; of the run's active window. */
void steady_window_default(const struct run *r, struct steady_window *ret);

/* As the user wants it; @to_s may be INFINITY: to the end of the active window. n is 0 when no interval lies there. */
void steady_window_set(const struct run *r, double from_s, double to_s, struct steady_window *ret);

/* The run's active window. */
void steady_window_active(const struct run *r, struct steady_window *ret);

/*
 * How IOPS vary between the intervals of a window. Intervals are weighted by their length, since those of a recording
 * may have been merged. One that is shorter than half of what was asked for (often the last one of a run) counts for
 * mean and deviation, but neither as the worst nor as one at 0.
 */
#define CONSISTENCY_ROUNDING 1e-9	/* of the mean: a deviation or difference up to that is one of doubles, and is 0 */

struct consistency {
	u64 ios;
	double mean;			/* IOs over time */
	double deviation;		/* population standard deviation */
	double worst;			/* negative: there is none */
	double worst_at_s;		/* where the first interval with that rate begins */
	u32 intervals_at_0;
};

/* @ios as in struct series_run; NULL: no IOs. In an empty window worst is -1 and all else is 0. */
void consistency_of(const struct run *r, const u64 *ios, const struct steady_window *w, struct consistency *ret);

/*
 * The same around interval @i, so that a curve can be told from its scatter: of up to MOVING_REACH intervals to either side, as far as
 * the active window reaches, so fewer at its ends. Returns false outside of that, or if these are less than MOVING_LEAST.
 */
#define MOVING_REACH 15
#define MOVING_LEAST 10
bool consistency_around(const struct run *r, const u64 *ios, const struct steady_window *active, u32 i, struct consistency *ret);

struct steady_state {
	bool known;			/* false: too short to tell, or no IO in the window */
	bool reached;
	double round_s;			/* length of a round */
	double rounds[STEADY_ROUNDS];	/* IOPS of each */
	double mean;			/* of the rounds */
	double excursion;		/* (largest - smallest) / mean */
	double slope;			/* rise of the least-squares line from first to last round / mean */
};

/*
 * The five rounds are equal parts of the window. An interval that lies in two of them counts for each in proportion to
 * its time there. Reached: excursion <= STEADY_EXCURSION and |slope| <= STEADY_SLOPE.
 */
void steady_state_of(const struct run *r, const u64 *ios, const struct steady_window *w, struct steady_state *ret);

/*
 * When the first five rounds of @round_s in a row that pass began, anywhere in the run; negative: there are none. Only
 * rounds that begin with an interval are tried. Returns 0 or -ENOMEM.
 */
int steady_state_first(const struct run *r, const u64 *ios, double round_s, double *ret_s);

#endif
