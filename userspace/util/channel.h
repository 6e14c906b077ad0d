/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages from one process to another, over a stream socket. The sender never blocks: posting puts a
 * message into a queue, and a thread sends it. channel_waiting() tells how much is queued, so that the
 * sender can hold back; beyond CHANNEL_MOST messages are refused.
 */
#ifndef UTIL_CHANNEL_H
#define UTIL_CHANNEL_H

#include "util/wire.h"

#define CHANNEL_MOST (32u << 20)	/* bytes in the queue before the last message */

struct channel;

/* Takes ownership of @fd, connected and blocking, even if it fails. Returns 0 or a negative errno. */
int channel_new(int fd, struct channel **ret);

/* Starts the sending thread; messages posted before that stay queued. Returns 0 or a negative errno. */
int channel_start(struct channel *c);

/*
 * Queues a message of some @kind. Takes ownership of the bytes, even if it fails. May be called by any
 * thread. Returns 0, -ENOMEM, or -ENOBUFS if too much is queued already. Messages that can't be sent,
 * since the other end is closed, are dropped.
 */
int channel_post(struct channel *c, u32 kind, struct wire_out *bytes);

/* Bytes that have not been sent yet. */
size_t channel_waiting(struct channel *c);

/* Ends the stream at once and drops what is still queued. Takes NULL. */
void channel_free(struct channel *c);

/* --- the other end ----------------------------------------------------------------------------- */

struct channel_reader {
	int fd;			/* not owned */
	u8 *data;
	size_t len, room;
};

/*
 * Reads what has arrived, or waits until something does, and passes each complete message to @take. If @take returns a
 * negative errno, reading stops. Returns that errno, 0, -EPIPE at the end of the stream, or another negative errno.
 */
int channel_read(struct channel_reader *r, int (*take)(void *into, u32 kind, struct wire_in *bytes), void *into);
void channel_reader_uninit(struct channel_reader *r);

#endif
