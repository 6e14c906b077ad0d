/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal that is drawn on, for whoever has to cut the program off: the thread that draws may stand still within a write to
 * it, and nobody may call into what it uses.
 */
#ifndef UTIL_TTY_H
#define UTIL_TTY_H

/* Remembers how @fd is set, before it is changed; @fd stays open until tty_is_back(). */
void tty_is_taken(int fd);
void tty_is_back(void);

/* Sets it as it was, drops what waits to be written, leaves the alternate screen. From any thread; does nothing where none is taken. */
void tty_give_back(void);

#endif
