/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a signal asks the process to end, it ends, even if something hangs. Code that may wait for others, such as a
 * reader of our output, polls ending_asked() and then gives up.
 *
 * A thread that waits for a file system inside the kernel can't poll. So a separate thread watches the thread that
 * called ending_start() and all others that it may wait for, and ends the process when none of them has run for
 * ENDING_STILL_NS. It judges by CPU time, so it does not take a slow disk, a busy machine or long work for a hang.
 */
#ifndef UTIL_ENDING_H
#define UTIL_ENDING_H

#include <signal.h>

#include "util/types.h"

#define ENDING_STILL_NS (1500 * (NSEC_PER_SEC / 1000))

struct ending {
	sigset_t signals;	/* ask for the end; already blocked in every thread */
	bool again;		/* once the end has begun, another signal kills as if it were not blocked */
	/*
	 * Ends the process, which hangs. @where is the kernel function in which it hangs, or "". Called
	 * by a thread other than the hanging one, which may hold a lock, such as a stream's, and which
	 * does not run on even if this frees it.
	 */
	void (*held_up)(const char *where);
};

/*
 * Called once, by the thread that runs the command; @e outlives it. Takes SIGRTMIN for itself. Returns 0,
 * or a negative errno.
 */
int ending_start(const struct ending *e);

/* A signal was received, and the end begins. Must not be called for a signal that was only passed on. */
void ending_begin(void);

/* A signal is pending, or the end has begun. False without ending_start(). */
bool ending_asked(void);

/* A descriptor to poll: readable while a signal is pending. -1 without ending_start(). */
int ending_fd(void);

/*
 * Restores a terminal that is drawn on, when the program has to be cut off. The thread that draws may
 * hang within a write to it, so nothing here may call into the library that draws.
 */

/* Remembers the settings of @fd before they are changed; @fd stays open until tty_is_back(). */
void tty_is_taken(int fd);
void tty_is_back(void);

/*
 * Restores the settings, drops output that is still queued, and leaves the alternate screen. May be
 * called by any thread; does nothing if no terminal is taken.
 */
void tty_give_back(void);

#endif
