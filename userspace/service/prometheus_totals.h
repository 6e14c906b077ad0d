/* SPDX-License-Identifier: GPL-2.0-only */
/* The totals that are exposed. */
#ifndef SERVICE_PROMETHEUS_TOTALS_H
#define SERVICE_PROMETHEUS_TOTALS_H

#include "core/sink.h"
#include "service/prometheus.h"

/* How many series are kept of devices that are gone. Beyond that, the one gone for longest is forgotten. */
#define TOTALS_ABSENT_MAX 1024

#define EXEMPLARS_MAX 4

/* A slow IO, for whoever looks at a bucket and wants to know more. */
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
	unsigned __int128 sum_ns;	/* 64 bits would last 200 days with 1000 IOs in flight */
	s64 created_ns;			/* CLOCK_REALTIME since which it is counted */
	struct hist hist;		/* no cells: not exposed, there was no such IO yet */
	u32 n_exemplars;
	struct exemplar exemplars[EXEMPLARS_MAX];	/* the slowest of the last interval that had any */
};

/*
 * Makes a total that never falls of a figure that begins at 0 again when its device comes back, and that may be
 * corrected downwards.
 */
struct rising {
	u64 total;
	u64 since;			/* the share of it since it was 0 */
	u64 last;			/* the last figure */
};

/*
 * A device and stage, or a part of it. If it is divided, only its parts have ops, so that a sum of series counts no IO
 * twice; all other figures are in the whole's series only.
 */
struct series {
	struct device device;		/* as last seen; its parent and lower mean nothing here */
	enum blklat_stage stage;
	const struct part *part;	/* static; NULL: the whole */
	u64 interval;			/* the number of its last interval */
	u32 number;			/* frame.number then */
	bool gone;
	u64 in_flight;
	u64 oldest_ns;
	double queue_depth;
	struct health health;
	struct rising started;
	struct rising requeued;
	struct rising lost_by[LOST_REASONS];
	bool tells_slow;		/* slow IOs are looked for */
	u64 slow;			/* found so far */
	u64 failed[SLOW_ERRORS];	/* slow IOs that failed, by error */
	struct op_total ops[BLKLAT_OPS];
};

struct totals {
	const struct run_info *run;	/* NULL: there is no capture yet */
	u64 intervals;			/* so far; the number of the last one */
	u64 drain_ns;
	struct rising skipped;		/* program runs, unexplained */
	u64 refused[REFUSALS];		/* by the server */
	const struct recorder_state *recorder;	/* NULL: there is none */
	s64 begin_ns;			/* of the first interval with a device, CLOCK_REALTIME; 0: there was none */
	s64 end_ns;			/* of the last one */
	u32 n, room;
	struct series **series;		/* by device name (numbers by value), then stage, then part */
};

/* Whether a series is exposed: the last interval has it, and its device did not go away. */
static inline bool series_present(const struct totals *t, const struct series *s)
{
	return s->interval == t->intervals && !s->gone;
}

#endif
