/* SPDX-License-Identifier: GPL-2.0-only */
/* A capture from its options to its exit status: the steps that commands share. They print. */
#ifndef CMD_RUN_CAPTURE_H
#define CMD_RUN_CAPTURE_H

#include "cmd/capture_options.h"
#include "live/loop.h"

/*
 * The first engine that can run, or the one asked for; says so once if it is not the one preferred. Returns
 * 0, or a negative errno and a sentence.
 */
int run_capture_engine(const struct capture_options *o, const struct capture_ops **ret, struct problem *p);

/* What is wanted of slow IOs. */
struct slow_wanted run_capture_slow(const struct capture_options *o);

/*
 * The exit status for a capture that could not begin: which failures are the command line's. A replay's
 * are all, but for a recording that is damaged.
 */
int run_capture_status_of(const struct capture_ops *engine, int err);

struct run_capture {
	const struct capture_options *o;
	const char *who;		/* what messages call the command */
	struct child *child;		/* the command to be run meanwhile; NULL: none */
	struct device_table devices;
	struct watches watches;
	struct capture *capture;
	u64 idle_gap_ns;		/* that is looked for; 0: none. Not known of a replay */
	struct run_info info;		/* for the sink */
	struct loop_input *input;	/* set by who has one, before the loop; NULL: none */
};

/*
 * Starts the capture that @o asks for. Returns a negative number, or the exit status to end with when it
 * could not (the reason is printed). Either way @r is to be ended; it borrows @o, @child and @who until then.
 */
int run_capture_begin(struct run_capture *r, const struct capture_options *o, struct child *child, const char *who);

/* Tells that a watched device is there no more; @replaced as in struct watch_counts. */
void print_gone(const struct device *d, bool replaced);

/* Runs the loop into @sink, and the child meanwhile. */
enum loop_end run_capture_loop(struct run_capture *r, struct sink *sink, struct problem *p);

/* Prints what a person has to know of the loop's end. Returns the exit status, not knowing of the child's. */
int run_capture_status(const struct run_capture *r, enum loop_end end, struct problem *p);

void run_capture_end(struct run_capture *r);

#endif
