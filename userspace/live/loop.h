/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop: at each deadline one snapshot, one set of frames, one call of the sink. Deadlines are
 * absolute, so 60 intervals of 1 s take 60 s; after a late one the next deadline is still on the grid.
 */
#ifndef LIVE_LOOP_H
#define LIVE_LOOP_H

#include "core/capture.h"
#include "core/sink.h"
#include "live/child.h"

/* Somebody who gives orders meanwhile, at a terminal. Embedded at the start of what it is of. */
struct loop_input {
	/* Called whenever a descriptor may have news (SIGIO), and after each interval. Returns false when the run is to end. */
	bool (*take)(struct loop_input *in);
};

struct loop_config {
	double interval_s;
	u64 count;		/* intervals; 0: no limit */
	double duration_s;	/* 0: no limit */
	const struct percentiles *percentiles;
	struct child *child;	/* a command to run meanwhile, made by child_init(); NULL: none */
	struct loop_input *input;	/* NULL: none */
};

enum loop_end {
	LOOP_DONE,		/* count, duration, end of a replay, a signal, the child's end, the input's word */
	LOOP_PIPE,		/* the reader of the output went away */
	LOOP_GONE,		/* the last device went away */
	LOOP_FAILED,		/* see the problem */
};

/*
 * Runs until an end is reached, then gives the sink the summary. The last interval is partial when
 * the end comes within one. @gone is called once for each device that went away (the caller prints);
 * @replaced as in struct watch_counts. That is seen when the kernel tells of it; where it does not, at the interval's end.
 * Signals must be blocked by signals_block() before the capture is opened.
 *
 * The child is started once the capture has been read for the first time. Signals are then passed on to
 * it, and the loop ends with it; another end of the loop leaves it running.
 *
 * With an input somebody looks on. So each interval of a replay takes interval_s, and at its end, after the summary, the input's
 * word is waited for.
 */
enum loop_end loop_run(struct capture *c, struct sink *s, const struct loop_config *cfg,
		       void (*gone)(const struct device *d, bool replaced), struct problem *p);

#endif
