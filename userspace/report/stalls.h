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
	double time_s;		/* of all together */
	const struct stall *longest;
};

/* Finds stalls outside of the intervals marked in @known. Returns 0 or -ENOMEM; stalls_uninit() either way. */
int stalls_find(const struct flow *f, const bool *known, struct stalls *ret);
void stalls_uninit(struct stalls *s);

/* Marks the intervals with stalls. Returns how many there are. */
u32 stalls_mark(const struct stalls *s, const struct run *r, bool *marks);

#endif
