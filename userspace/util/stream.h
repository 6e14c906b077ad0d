/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The standard output and error, as streams that wait for a reader who is slow, and go on waiting however long it takes,
 * but not for ever once the command is asked to end (util/ending.h). Then the reader counts as gone: EPIPE.
 *
 * Whether writing blocks is a matter of the open file, which others share: a parent that made a pipe non-blocking
 * finds it so afterwards, and one that did not does not find it changed.
 */
#ifndef UTIL_STREAM_H
#define UTIL_STREAM_H

/*
 * Makes stdout and stderr such streams. They have no descriptor to stdio (fileno()). Returns 0 or a negative errno;
 * nothing is changed then.
 */
int streams_begin(void);

/* From now on the standard error is never waited for longer than a moment at a time: what it does not take is dropped. */
void streams_drop_errors(void);

/* Where the standard error goes now: another descriptor than that of stdio, or the same. */
int streams_error_fd(void);

/* Writes @text to the standard error if it takes it now. For when another thread may be writing and stands still. */
void streams_try_error(const char *text);

#endif
