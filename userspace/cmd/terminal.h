/* SPDX-License-Identifier: GPL-2.0-only */
/* What commands that print once on stdout share. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "core/text_draw.h"

/* Width of the terminal @fd, 80 when it is none. */
u32 terminal_columns(int fd);

/* Whether to write colours to @fd: it is a terminal, and nobody said NO_COLOR (no-color.org). */
bool terminal_colour(int fd);

/* How text is to look on @out, which is stdout or stderr. */
struct look terminal_look(FILE *out);

/* "931.5G", "512B": powers of 1024, at most 6 letters, as lsblk writes them. */
void size_text(u64 bytes, char *ret, size_t size);

/*
 * Flushes stdout. Returns STATUS_DONE, also when the reader of a pipe went away, or prints why the
 * output is not whole and returns STATUS_FAILED.
 */
int finish_output(const char *who);

#endif
