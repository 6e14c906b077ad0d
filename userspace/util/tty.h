/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Restores a terminal that is drawn on, when the program has to be cut off. The thread that draws may
 * hang within a write to it, so nothing here may call into the library that draws.
 */
#ifndef UTIL_TTY_H
#define UTIL_TTY_H

/* Remembers the settings of @fd before they are changed; @fd stays open until tty_is_back(). */
void tty_is_taken(int fd);
void tty_is_back(void);

/*
 * Restores the settings, drops output that is still queued, and leaves the alternate screen. May be
 * called by any thread; does nothing if no terminal is taken.
 */
void tty_give_back(void);

#endif
