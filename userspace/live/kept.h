/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps what is written to a stream while a full-screen display hides it: its beginning and its end, however long it
 * gets.
 */
#ifndef LIVE_KEPT_H
#define LIVE_KEPT_H

#include <stdio.h>

#include "util/types.h"

#define KEPT_BYTES (32 << 10)	/* of the beginning, and of the end */

struct kept;

/* NULL: no memory. */
struct kept *kept_new(void);

/* The stream to write to. It belongs to @k: do not close it. */
FILE *kept_stream(struct kept *k);

/* Copies the last line without its newline, cut to @room; "" if there is none. The line may be incomplete. */
void kept_last_line(struct kept *k, char *to, size_t room);

/* Writes what was kept to @to, with the number of lines dropped in between, and frees @k. */
void kept_end(struct kept *k, FILE *to);

#endif
