/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How even a run is: IOPS over a window of it, and whether that window is in a steady state by the
 * rule of SNIA's Solid State Storage Performance Test Specification 2.0. Pure.
 */
#ifndef REPORT_STEADY_H
#define REPORT_STEADY_H

#include "report/run.h"

#define STEADY_FROM_S 1400.0	/* where reviewers begin to look, of runs of 2000 s */
#define STEADY_ROUNDS 5
#define STEADY_ROUND_S 60.0	/* SNIA's; a default window from STEADY_FROM_S has as many of them */
#define STEADY_EXCURSION 0.20	/* of the rounds' average: the most that their maximum may be above their minimum */
#define STEADY_SLOPE 0.10	/* of the rounds' average: the most that a line through them may rise or fall in all */
#define STEADY_INTERVALS 10	/* fewer in the run tell nothing */

/* Intervals of a run, those whose middle lies in a span of time. */
struct steady_window {
	u32 first;
	u32 n;			/* 0: none */
	double from_s, to_s;	/* where the first begins and the last ends */
	char rule[48];		/* "t >= 1400 s", "second half", "as asked: 100.0 s to 200.0 s" */
};

/* t >= 1400 s where five rounds of a minute follow it, else the second half. */
void steady_window_default(const struct run *r, struct steady_window *ret);

/* As the user wants it; @to_s may be INFINITY. n is 0 when no interval lies there. */
void steady_window_set(const struct run *r, double from_s, double to_s, struct steady_window *ret);

/* All of the run. */
void steady_window_all(const struct run *r, struct steady_window *ret);

/*
 * IOPS of a window, from interval to interval. Each counts by its length, as those of a recording that
 * was merged differ. What is shorter than half an interval as asked for (the last one of a run, often) counts
 * for mean and deviation, but is no worst one nor one at 0.
 */
struct consistency {
	u64 ios;
	double mean;			/* IOs over time */
	double deviation;		/* population standard deviation */
	double worst;			/* negative: there is none */
	double worst_at_s;		/* where the first interval with it begins */
	u32 intervals_at_0;
};

/* @ios as in struct series_run; NULL: none. All figures of an empty window are 0, worst -1. */
void consistency_of(const struct run *r, const u64 *ios, const struct steady_window *w, struct consistency *ret);

struct steady_state {
	bool known;			/* false: too short to tell, or no IO in the window */
	bool reached;
	double round_s;			/* length of a round */
	double rounds[STEADY_ROUNDS];	/* IOPS of each */
	double mean;			/* of the rounds */
	double excursion;		/* (largest - smallest) / mean */
	double slope;			/* what the least-squares line rises from first to last round / mean; negative: falls */
};

/*
 * Five rounds are equal parts of the window; an interval that two share counts for each by its time
 * there. Reached: excursion <= STEADY_EXCURSION and |slope| <= STEADY_SLOPE.
 */
void steady_state_of(const struct run *r, const u64 *ios, const struct steady_window *w, struct steady_state *ret);

/*
 * When, in the whole run, the first five rounds of @round_s in a row began that pass; negative: never.
 * Looks from the beginning of each interval. Returns 0 or -ENOMEM.
 */
int steady_state_first(const struct run *r, const u64 *ios, double round_s, double *ret_s);

#endif
