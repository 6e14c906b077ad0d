/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop: at each deadline one snapshot, one set of frames, one call of the sink. Deadlines are absolute, so 60
 * intervals of 1 s take 60 s; after a late one the next deadline is still on the grid.
 */
#ifndef LIVE_LOOP_H
#define LIVE_LOOP_H

#include "core/monitor.h"
#include "core/sink.h"
#include "live/child.h"
#include "util/types.h"

/* A user who controls the run at a terminal. Embedded at the start of its owner's struct. */
struct loop_input {
	int fds[2];	/* to poll; -1: none. The run also ends when the first one hangs up */
	/* Called when there may be input, and after each interval. Returns false to end the run. */
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
	LOOP_DONE,		/* ended by count, duration, the end of a replay, a signal, the child or the input */
	LOOP_PIPE,		/* the reader of the output went away */
	LOOP_GONE,		/* the last device went away, and none can come */
	LOOP_FAILED,		/* see the problem */
};

/*
 * Runs until one of these ends the run, then gives the sink the summary. If the end comes within an interval, that is
 * partial. @m has just been opened. Watches that come are added to @info, which the sink has. The monitor's hooks
 * report devices that went away: when the kernel says so, otherwise at the interval's end. Catch signals before, see
 * ending_catch().
 *
 * The child is started once the capture has been read for the first time. From then on, signals are passed on to it,
 * and the loop ends with it; another end of the loop leaves it running.
 *
 * With an input a user is watching. So each interval of a replay takes interval_s, and after the last one and the
 * summary, the loop waits until the input ends the run.
 */
enum loop_end loop_run(struct monitor *m, struct run_info *info, struct sink *s, const struct loop_config *cfg,
		       struct problem *p);

#endif
