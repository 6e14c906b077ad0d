/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The totals that are exposed. Neither they nor their series change once they are made: the next
 * interval makes others, which share the series that had no interval. Counted references, of any
 * thread.
 */
#ifndef SERVICE_PROMETHEUS_TOTALS_H
#define SERVICE_PROMETHEUS_TOTALS_H

#include <stdatomic.h>

#include "core/sink.h"
#include "service/prometheus.h"

/* Series kept for devices that went away; beyond, the one gone longest is forgotten. */
#define TOTALS_ABSENT_MAX 1024

#define EXEMPLARS_MAX 4

/* A slow IO by which somebody who sees a bucket can go on. */
struct exemplar {
	u64 latency_ns;
	s64 end_ns;			/* CLOCK_REALTIME */
	u64 sector;
	u32 pid;
	u32 known;			/* bit set of enum blklat_slow_known */
	char comm[BLKLAT_COMM];
};

struct op_total {
	u64 bytes;
	u64 errors;
	unsigned __int128 sum_ns;	/* 64 bits are 200 days of 1000 IOs in flight */
	s64 created_ns;			/* CLOCK_REALTIME from which on it was counted */
	struct hist hist;		/* no cells: not exposed, there was no such IO yet */
	u32 n_exemplars;
	struct exemplar exemplars[EXEMPLARS_MAX];	/* the slowest of the last interval that told of any */
};

/* Of what a capture counts from its begin on, and may correct downwards, a total that only rises. */
struct rising {
	u64 total;
	u64 capture;			/* of it, what came from the present capture */
	u64 last;			/* what the capture said last */
};

/*
 * Of one device and stage, or of a part of that. The ops of a divided one are those of its parts, so that whoever adds up
 * series counts no IO twice; what is a matter of the whole is the whole's alone.
 */
struct series {
	atomic_uint refs;
	struct device device;		/* as last seen; its parent and lower mean nothing here */
	enum blklat_stage stage;
	const struct part *part;	/* static; NULL: the whole */
	u64 capture;			/* number of the last capture that had it */
	bool gone;
	s64 seen_ns;			/* end of its last interval */
	u64 in_flight;
	u64 oldest_ns;
	double queue_depth;
	struct rising started;
	struct rising requeued;
	struct rising lost_by[LOST_REASONS];
	bool tells_slow;		/* slow IOs are wanted */
	u64 slow;			/* found so far */
	u64 failed[SLOW_ERRORS];	/* of those that were told, by what with */
	struct op_total ops[BLKLAT_OPS];
};

struct totals {
	atomic_uint refs;
	struct totals_facts {
		char version[32];	/* "" before the first capture */
		char engine[32];
		u64 memory_bytes;
		double interval_s;
		u64 capture;		/* number of the last capture that had an interval; from 1 */
		u64 intervals;
		u64 drain_ns;
		struct rising skipped;	/* program runs, unexplained */
		u64 refused[REFUSALS];	/* by the server */
		s64 end_ns;		/* of the last interval */
	} facts;
	u32 n;
	struct series **series;		/* by device name (numbers by value), then stage, then part */
};

/* What an interval adds. */
struct totals_interval {
	const struct run_info *run;
	const struct frames *frames;	/* NULL: the capture was only opened */
	u64 capture;
	u64 drain_ns;
	u64 reads;			/* that the frames are of */
	u64 refused[REFUSALS];		/* so far */
	u32 scale;			/* of the histograms that are made; none so far is coarser */
};

/* Empty ones, or those after an interval. NULL when there is no memory. */
struct totals *totals_new(void);
struct totals *totals_next(const struct totals *before, const struct totals_interval *add);

struct totals *totals_ref(struct totals *t);
void totals_unref(struct totals *t);	/* takes NULL */

/* Whether it is exposed: the last capture has it, and it did not go away. */
static inline bool series_present(const struct totals *t, const struct series *s)
{
	return s->capture == t->facts.capture && !s->gone;
}

#endif
