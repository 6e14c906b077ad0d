/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Standard output and error as streams that wait for a slow reader, however long it takes. Once the
 * command is asked to end (util/ending.h) they stop waiting and treat the reader as gone: EPIPE.
 * Whether writing blocks is a property of the open file, which other processes share. It is left as it
 * is, blocking or not.
 */
#ifndef UTIL_STREAM_H
#define UTIL_STREAM_H

#include <stdio.h>

/*
 * Makes stdout and stderr such streams. fileno() finds no descriptor for them. Returns 0, or a negative
 * errno and changes nothing.
 */
int streams_begin(void);

/* From now on a write to standard error waits for a moment at most; what can't be written by then is dropped. */
void streams_drop_errors(void);

/* The descriptor that standard error is written to now, which may not be STDERR_FILENO. */
int streams_error_fd(void);

/*
 * Collects what a sink prints, to write it all at once. A reader never sees half an interval, a failed
 * write is noticed where it happens, with its errno, and a terminal gets one write per interval.
 */

struct print_buffer {
	FILE *f;		/* the stream to print to; print_buffer_write() reports failed allocations */
	char *text;
	size_t len;
};

/* Returns 0 or a negative errno. */
int print_buffer_open(struct print_buffer *buffer);

/* Writes the buffer to @to and flushes. Returns 0 or the negative errno of the write. */
int print_buffer_write(struct print_buffer *buffer, FILE *to);

/* For CLEANUP(). Takes a buffer in any state, even one that was never opened (all 0). */
void print_buffer_close(struct print_buffer *buffer);

#endif
