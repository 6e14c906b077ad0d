/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sink writes at one go: made in memory, then handed to the stream whole. A reader never sees
 * half an interval, a failed write is noticed where it happens with the errno that it has, and a
 * terminal gets one write for each interval.
 */
#ifndef UTIL_PRINT_BUFFER_H
#define UTIL_PRINT_BUFFER_H

#include <stdio.h>

struct print_buffer {
	FILE *f;		/* to print to; failures (no memory) are found by print_buffer_write() */
	char *text;
	size_t len;
};

/* Returns 0 or a negative errno. */
int print_buffer_open(struct print_buffer *buffer);

/* Writes the buffer to @out and flushes. Returns 0 or the negative errno of the write. */
int print_buffer_write(struct print_buffer *buffer, FILE *out);

/* For CLEANUP(); the buffer may be written or not, or never have been opened (all 0). */
void print_buffer_close(struct print_buffer *buffer);

#endif
