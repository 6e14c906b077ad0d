/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An end that is asked for by a signal comes, whatever stands still. Who may wait for somebody else, a reader of our
 * output, asks ending_asked() and then gives up. What can't be asked, the kernel waiting for a
 * file system, is looked at from outside: a thread that does nothing else watches the one that called
 * ending_start(), and all others that it may wait for, and has the process ended when none has run for ENDING_STILL_NS.
 *
 * It is CPU time that tells who stands still, so that a slow disk, a busy machine or work that takes long cuts nobody short.
 */
#ifndef UTIL_ENDING_H
#define UTIL_ENDING_H

#include <signal.h>

#include "util/types.h"

#define ENDING_STILL_NS (1500 * (NSEC_PER_SEC / 1000))

struct ending {
	sigset_t signals;	/* that ask for it; blocked already, in each thread */
	bool again;		/* another one, once the end has begun, is as deadly as if nobody blocked it */
	/*
	 * Ends the process, which stands still. @where is the kernel's function that it is in, or "". Called by
	 * another thread than the one that may hold a lock, of a stream for one.
	 */
	void (*held_up)(const char *where);
};

/* Called once, by the thread that runs the command; @e outlives it. Returns 0, or a negative errno. */
int ending_start(const struct ending *e);

/* A signal was heard, and the end begins. Without it a signal that was taken is none of the end (it was passed on). */
void ending_begin(void);

/* A signal is waiting to be heard, or the end has begun. False where there was no ending_start(). */
bool ending_asked(void);

/* To be polled: readable while a signal is waiting to be heard. -1 where there was no ending_start(). */
int ending_fd(void);

#endif
