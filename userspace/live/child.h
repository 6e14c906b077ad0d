/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command that runs while it is measured. It starts as a shell would start it: in our process group, so it owns the
 * terminal and Ctrl-C reaches it; with the standard streams and the signal mask that we were given; and with no other
 * descriptor. If we are killed, it lives on.
 *
 * It always gets time to finish. It is asked to end more and more firmly, CHILD_PATIENCE_NS apart: by the signal that
 * we received, then by SIGTERM, then by SIGKILL. Another SIGINT skips to the next step. Only the command itself is
 * asked, not the processes that it started.
 */
#ifndef LIVE_CHILD_H
#define LIVE_CHILD_H

#include <sys/resource.h>
#include <sys/types.h>

#include "util/problem.h"
#include "util/types.h"

#define CHILD_PATIENCE_NS (10 * NSEC_PER_SEC)

enum child_asked { CHILD_NOT_ASKED, CHILD_ASKED, CHILD_TERM, CHILD_KILL, CHILD_GIVEN_UP };

struct child {
	char *path;			/* of the program; owned */
	char **argv;			/* ended by NULL; borrowed */
	struct rlimit files;		/* the limit of open files that it starts with */
	pid_t pid;			/* 0: not running, not yet or not any more */
	int process;			/* a pidfd, readable once it has ended; -1: none */
	int start_err;			/* what child_start() returned */
	bool ended;
	int wait_status;		/* of waitpid(), once it ended */
	enum child_asked asked;		/* to end, so far */
	u64 firmer_ns;			/* when to ask again; UINT64_MAX: only when told to */
	u64 patience_ns;		/* between steps; CHILD_PATIENCE_NS, except in tests */
};

/*
 * Finds the program of @argv as a shell would. The command gets the current limit of open files, so call this before
 * limits_raise_files(). Returns 0, or a sentence and -ENOENT (no such program), -EACCES (it can't be executed) or
 * -ENOMEM.
 */
int child_init(struct child *c, char **argv, struct problem *p);
void child_uninit(struct child *c);	/* leaves a process that still runs alone */

/* Starts it. Returns 0, or a negative errno and a sentence. Signals are to be caught, see ending_catch(). */
int child_start(struct child *c, struct problem *p);

/*
 * Passes our signals on to it, and asks it to end more firmly if that is due (firmer_ns). Returns true if it no
 * longer runs, or if even SIGKILL did not end it (stuck in the kernel): see ended.
 */
bool child_tend(struct child *c);

/* Repeats that until it returns true or @deadline_ns has come. */
bool child_wait(struct child *c, u64 deadline_ns);

/* Asks it to end, beginning with SIGTERM, and waits for the end. Does nothing if it does not run. */
void child_end(struct child *c);

/* Its status as a shell reports it: the exit status, or 128 plus the number of the signal that ended it. */
int child_status(const struct child *c);

#endif
