/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds stalls of a run: nothing completes, or less than 1 % of the usual rate, although there is work
 * to do. A pause of the workload is not a stall, so each stall needs a witness: an IO that was in
 * flight. Pure.
 *
 * There are two signs, used together. The first is an interval that is empty, or nearly, and has a
 * witness. The second, for stalls within intervals that are not empty, is an IO that took half an
 * interval or more and ended while as many IOs were missing as would have completed meanwhile. A stall
 * with the second sign has its true length; one with the first sign alone has that of its intervals.
 */
#ifndef REPORT_STALLS_H
#define REPORT_STALLS_H

#include "report/findings_rules.h"

/* The IOs of a device, or of one of its ops. */
struct flow {
	const struct inquiry *q;
	int op;			/* -1: all */
	u64 *ios;		/* [interval] */
	u64 *sum_ns;		/* of the latencies */
	u64 *max_ns;
	double median;		/* IOPS of the intervals with IOs */
	double least;		/* IOPS below which an interval is low */
	double gap_s;		/* least length of a stall */
};

/* @op as in struct flow. Returns 0 or -ENOMEM; flow_uninit() either way. */
int flow_init(struct flow *f, const struct inquiry *q, int op);
void flow_uninit(struct flow *f);

struct stall {
	double from_s, to_s;
};

struct stalls {
	u32 n;
	struct stall *s;	/* in order; no two touch */
	u32 room;
	double time_s, mean_s, longest_s, longest_at_s;	/* see stalls_sum_up() */
};

/* Finds all stalls, without the figures of all together. Returns 0 or -ENOMEM; stalls_uninit() either way. */
int stalls_find(const struct flow *f, struct stalls *ret);
void stalls_uninit(struct stalls *s);

/*
 * Drops the stalls of which more than half was told: @told_s has the seconds told of each interval. Then sets the figures
 * of all together; the longest is the first of equal ones, and the mean is never above it.
 */
void stalls_sum_up(struct stalls *s, const struct run *r, const double *told_s);

/* How many of @stalled_s, seconds of each interval, lie in @within; @last is the interval in which it ends. */
double stalled_time(const struct run *r, const double *stalled_s, u32 last, const struct stall *within);

/* Adds to @stalled_s for how long each interval stalled. Returns how many did. */
u32 stalls_spread(const struct stalls *s, const struct run *r, double *stalled_s);

#endif
