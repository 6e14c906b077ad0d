/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) end a command that captures: the first one asks
 * for an orderly end, and another SIGINT or SIGTERM kills at once.
 *
 * One rule avoids races between a check and a wait: whoever waits polls ending_fd() too, which stays readable. System
 * calls of libraries are restarted (SA_RESTART); only the terminal is taken away from the library that draws on it.
 */
#ifndef UTIL_ENDING_H
#define UTIL_ENDING_H

#include "util/types.h"

struct ending_signal {
	int number;
	bool of_terminal;	/* sent to the whole foreground process group, as by Ctrl-C */
};

/*
 * Catches the signals from now on. @pass_on: the caller passes them on to another process, so none of them kills us.
 * Returns 0 or a negative errno. Called again, it only changes @pass_on.
 */
int ending_catch(bool pass_on);

/* A descriptor to poll: readable while there is a signal that ending_take() has not taken. -1 before ending_catch(). */
int ending_fd(void);

/* Takes a signal to pass it on. Returns false if there is none. */
bool ending_take(struct ending_signal *ret);

/*
 * Remembers the settings of the terminal @fd before they are changed; @fd stays open until tty_is_back(). The first
 * signal restores them, drops output that is still queued, and leaves the alternate screen. From then on @fd is
 * /dev/null, as the library that draws repeats a write to a stopped terminal for ever.
 */
void tty_is_taken(int fd);
void tty_is_back(void);

#endif
