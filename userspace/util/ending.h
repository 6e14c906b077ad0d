/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a signal asks for the end, the process ends, whatever hangs. Code that may wait for others, such as a reader of our
 * output, polls ending_asked() and then gives up. The kernel, waiting for a file system, can't be asked. So a separate
 * thread watches the one that called ending_start(), and all others that it may wait for, and ends the process when none
 * of them has run for ENDING_STILL_NS.
 *
 * It goes by CPU time, so that a slow disk, a busy machine or long work is not taken for a hang.
 */
#ifndef UTIL_ENDING_H
#define UTIL_ENDING_H

#include <signal.h>

#include "util/types.h"

#define ENDING_STILL_NS (1500 * (NSEC_PER_SEC / 1000))

struct ending {
	sigset_t signals;	/* that ask for the end; already blocked, in every thread */
	bool again;		/* once the end has begun, another signal kills as if it were not blocked */
	/*
	 * Ends the process, which hangs. @where is the kernel function that it is in, or "". Called by another thread than
	 * the hanging one, which may hold a lock, such as a stream's.
	 */
	void (*held_up)(const char *where);
};

/* Called once, by the thread that runs the command; @e outlives it. Returns 0, or a negative errno. */
int ending_start(const struct ending *e);

/* A signal was received, and the end begins. Not to be called for a signal that was passed on instead. */
void ending_begin(void);

/* A signal is pending, or the end has begun. False without ending_start(). */
bool ending_asked(void);

/* To be polled: readable while a signal is pending. -1 without ending_start(). */
int ending_fd(void);

#endif
