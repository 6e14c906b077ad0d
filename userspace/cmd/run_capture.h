/* SPDX-License-Identifier: GPL-2.0-only */
/* The steps that commands share to run a capture, from its options to its exit status. They print messages. */
#ifndef CMD_RUN_CAPTURE_H
#define CMD_RUN_CAPTURE_H

#include "cmd/capture_options.h"
#include "live/loop.h"

/*
 * Chooses the engine asked for, or else the first that can run; prints a message if that is not the
 * preferred one. Returns 0, or a negative errno and a sentence.
 */
int run_capture_engine(const struct capture_options *o, const struct capture_ops **ret, struct problem *p);

/* What the options ask of a capture. @follow: devices that come are watched, too. */
struct capture_config run_capture_config(const struct capture_options *o, bool follow);

/*
 * The exit status for a capture that could not begin: whether the failure is an error of the command
 * line. A failed replay always is, unless the recording is damaged.
 */
int run_capture_status_of(const struct capture_ops *engine, int err);

struct run_capture {
	const struct capture_options *o;
	const char *who;		/* the command's name in messages */
	struct child *child;		/* the command to run meanwhile; NULL: none */
	struct monitor_config config;
	struct monitor monitor;
	struct run_info info;		/* for the sink */
	struct loop_input *input;	/* set before the loop, if there is one; NULL: none */
	/* How far it has begun, and what the last look for devices found: */
	enum { RUN_READS_DEVICES, RUN_FINDS, RUN_CHOOSES_ENGINE, RUN_OPENS, RUN_BEGUN } begun;
	bool partitions_at_total, partitions_lack_total;	/* as in struct watches, struct wanted */
	bool plain;			/* it does without what may be lacking */
};

/*
 * Starts the capture that @o asks for. Returns a negative number, or on failure the exit status to end with (the reason
 * was printed). Either way @r has to be ended; until then it borrows @o, @child and @who.
 */
int run_capture_begin(struct run_capture *r, const struct capture_options *o, struct child *child, const char *who);

/* Hooks of a monitor that print its events; they do not use their first argument. */
void print_came(void *, const struct device *d);
void print_gone(void *, const struct device *d, bool replaced);
void print_outgrown(void *, const struct device *d);
void print_reopened(void *, const char *why, u64 gap_ns);

/* Runs the loop with @sink, and the child meanwhile. */
enum loop_end run_capture_loop(struct run_capture *r, struct sink *sink, struct problem *p);

/* Prints what the user has to know about the loop's end. Returns the exit status, regardless of the child's. */
int run_capture_status(const struct run_capture *r, enum loop_end end, struct problem *p);

void run_capture_end(struct run_capture *r);

/* The command line as typed, with words quoted as for a shell, in malloc()ed memory. NULL: no memory. */
char *run_capture_line(char **argv);

/* Describes this machine; @line is the command line as typed. Unknown facts are "" or 0. Returns 0 or -ENOMEM. */
int run_capture_origin(struct origin *o, const char *line);

/*
 * Runs a command that is nothing but a capture: reads its options, @checks them, and has the capture that has begun
 * @shown, which returns the exit status.
 */
int run_capture_command(const struct options *options, int argc, char **argv,
			int (*check)(struct capture_options *o, struct problem *p), int (*show)(struct run_capture *r));

#endif
