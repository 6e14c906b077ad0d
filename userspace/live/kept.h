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

struct kept {
	FILE *f;		/* to write to; it belongs to this: do not close it. NULL: nothing is kept */
	u32 len;
	u32 latest;		/* where the latest text begins; 0: nothing was dropped yet */
	u64 dropped;		/* lines before it */
	char text[2 * KEPT_BYTES];
};

/* Begins; @k is all 0, and stays where it is. Returns 0 or -ENOMEM. */
int kept_begin(struct kept *k);

/* Copies the last line without its newline, cut to @room; "" if there is none. The line may be incomplete. */
void kept_last_line(struct kept *k, char *to, size_t room);

/* Writes what was kept to @to, with the number of lines dropped in between, and ends. */
void kept_end(struct kept *k, FILE *to);

#endif
