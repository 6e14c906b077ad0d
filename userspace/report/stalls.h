/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a run stalls: nothing completes, or less than 1 % of the usual rate, although there was something to do. A pause of
 * the workload is no stall, so each needs a witness: an IO that was in flight. Pure.
 *
 * Two signs, together: intervals that are empty, or nearly, and have a witness; and, wherever a stall lies in intervals that
 * are not empty, an IO that took half an interval or more and ended while as many IOs were missing as would have completed
 * meanwhile. A stall of which the second kind is known has its true length; of the first kind alone, that of its intervals.
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
	double median;		/* IOPS of intervals with IOs */
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
	struct stall *s;	/* in their order, none touches another */
	u32 room;
	double time_s;		/* of all together */
	const struct stall *longest;
};

/*
 * Stalls outside of the intervals marked in @known. Returns 0 or -ENOMEM; stalls_uninit() either way.
 */
int stalls_find(const struct flow *f, const bool *known, struct stalls *ret);
void stalls_uninit(struct stalls *s);

/* Marks the intervals in which it stalled. Returns how many there are. */
u32 stalls_mark(const struct stalls *s, const struct run *r, bool *marks);

#endif
