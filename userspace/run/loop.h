/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop: at each deadline one snapshot, one set of frames, one call of the sink. Deadlines are
 * absolute, so 60 intervals of 1 s take 60 s; after a late one the next deadline is still on the grid.
 */
#ifndef RUN_LOOP_H
#define RUN_LOOP_H

#include <signal.h>

#include "capture/capture.h"
#include "sink/sink.h"

struct loop_config {
	double interval_s;
	u64 count;		/* intervals; 0: no limit */
	double duration_s;	/* 0: no limit */
	const struct percentiles *percentiles;
};

enum loop_end {
	LOOP_DONE,		/* count, duration, end of a replay, SIGINT or SIGTERM */
	LOOP_PIPE,		/* the reader of the output went away */
	LOOP_GONE,		/* the last device went away */
	LOOP_FAILED,		/* see the problem */
};

/*
 * Runs until an end is reached, then gives the sink the summary. The last interval is partial when
 * the end comes within one. @gone is called once for each device that went away (the caller prints).
 * SIGINT and SIGTERM must be blocked by loop_signals_block() before the capture is opened.
 */
enum loop_end loop_run(struct capture *c, struct sink *s, const struct loop_config *cfg,
		       void (*gone)(const struct device *d), struct problem *p);

/*
 * Blocks SIGINT, SIGTERM and SIGHUP: they become ends of the loop. SIGPIPE is to be ignored (main.c).
 * Gives the mask before, unless that is NULL.
 */
void loop_signals_block(sigset_t *ret_before);

#endif
