/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A command that runs while it is measured. It is what a shell would make of it: in our process group, so
 * the terminal is its own and Ctrl-C reaches it; the standard streams and the signal mask that we were
 * given; no other descriptor. When we are killed it lives on.
 *
 * It is never cut off in its last words. Who wants it to end asks ever more firmly, each time giving it
 * CHILD_PATIENCE_NS: first the signal that came to us, then SIGTERM, then SIGKILL. A SIGINT more makes
 * it the next. Only the command itself is asked: what it started in its turn is its own.
 */
#ifndef LIVE_CHILD_H
#define LIVE_CHILD_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "util/problem.h"
#include "util/types.h"

#define CHILD_PATIENCE_NS (10 * NSEC_PER_SEC)

enum child_asked { CHILD_NOT_ASKED, CHILD_ASKED, CHILD_TERM, CHILD_KILL, CHILD_GIVEN_UP };

struct child {
	char *path;			/* of the program; owned */
	char **argv;			/* ended by NULL; borrowed */
	sigset_t mask;			/* of blocked signals, that it begins with */
	struct rlimit files;		/* how many files it may have open, the same */
	pid_t pid;			/* 0: not running, not yet or not any more */
	int start_err;			/* what child_start() returned */
	bool ended;
	int wait_status;		/* of waitpid(), once it ended */
	enum child_asked asked;		/* to end, so far */
	u64 firmer_ns;			/* when to ask again; UINT64_MAX: not by itself */
	u64 patience_ns;		/* until then; CHILD_PATIENCE_NS unless a test changes it */
};

/*
 * Finds the program of @argv as a shell would. What it begins with is decided here: the signals that are blocked
 * now, before signals_block(), and the limit of open files, before limits_raise_files(). Returns 0, or a sentence and -ENOENT (there is none),
 * -EACCES (it can't be executed), -ENOMEM.
 */
int child_init(struct child *c, char **argv, struct problem *p);
void child_uninit(struct child *c);	/* the process, if there is one, is left to itself */

/* Starts it. Returns 0, or a negative errno and a sentence. The signals must be blocked, see signals.h. */
int child_start(struct child *c, struct problem *p);

/*
 * Waits until it ended or @deadline_ns, and passes on to it what comes to us meanwhile. Returns false at
 * the deadline, and before it when SIGIO came; true when it does not run any more, or when even SIGKILL did not end it (stuck in the kernel): see ended.
 */
bool child_wait(struct child *c, u64 deadline_ns);

/* Asks it to end, by SIGTERM to begin with, and waits for that. One that does not run is left so. */
void child_end(struct child *c);

/* As a shell tells it: its exit status, or 128 and the number of the signal that ended it. */
int child_status(const struct child *c);

#endif
