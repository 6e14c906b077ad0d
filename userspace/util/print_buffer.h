/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collects what a sink prints, to write it all at once. A reader never sees half an interval, a failed
 * write is noticed where it happens with its errno, and a terminal gets one write an interval.
 */
#ifndef UTIL_PRINT_BUFFER_H
#define UTIL_PRINT_BUFFER_H

#include <stdio.h>

struct print_buffer {
	FILE *f;		/* the stream to print to; print_buffer_write() reports failed allocations */
	char *text;
	size_t len;
};

/* Returns 0 or a negative errno. */
int print_buffer_open(struct print_buffer *buffer);

/* Writes the buffer to @out and flushes. Returns 0 or the negative errno of the write. */
int print_buffer_write(struct print_buffer *buffer, FILE *out);

/* For CLEANUP(). Takes a buffer in any state, even one that was never opened (all 0). */
void print_buffer_close(struct print_buffer *buffer);

#endif
