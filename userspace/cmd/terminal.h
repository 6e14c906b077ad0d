/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by commands that print once on stdout. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include "core/text_draw.h"

/* The width of the terminal @fd; 80 if it is not a terminal. */
u32 terminal_columns(int fd);

/* Whether to write colours to @fd: it is a terminal, and NO_COLOR (no-color.org) is not set. */
bool terminal_colour(int fd);

/* How to format text for @out, which is stdout or stderr. */
struct look terminal_look(FILE *out);

/* "931.5G", "512B": powers of 1024, at most 6 letters, as lsblk writes them. */
void size_text(u64 bytes, char *ret, size_t size);

/*
 * Flushes stdout. Returns STATUS_DONE, also if a pipe's reader went away; or prints why the output is
 * incomplete and returns STATUS_FAILED.
 */
int finish_output(const char *who);

#endif
