/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said on a stream while a screen hides it: the first and the latest of it, however long that goes on. */
#ifndef LIVE_KEPT_H
#define LIVE_KEPT_H

#include <stdio.h>

#include "util/types.h"

#define KEPT_BYTES (32 << 10)	/* of the first, and of the latest */

struct kept;

/* NULL: no memory. */
struct kept *kept_new(void);

/* Where it is said. Others may close neither it nor its lines: it goes with @k. */
FILE *kept_stream(struct kept *k);

/* The last line of it without its end, cut to @room; "" if there is none. Also of one that has not ended yet. */
void kept_last_line(struct kept *k, char *to, size_t room);

/* Writes all that is left of it to @to, with the number of lines that are not where they were, and frees @k. */
void kept_end(struct kept *k, FILE *to);

#endif
