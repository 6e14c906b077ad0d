/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages from one process to another, over a stream socket. The sender never blocks: what the socket does not take at
 * once waits in a queue until channel_flush(). channel_waiting() tells how much that is, so that the sender can hold
 * back; if it is more than CHANNEL_MOST, messages are refused.
 */
#ifndef UTIL_CHANNEL_H
#define UTIL_CHANNEL_H

#include <poll.h>

#include "util/wire.h"

#define CHANNEL_MOST (32u << 20)	/* bytes in the queue before the last message */

struct channel {
	int fd;			/* connected; owned */
	struct wire_out queue;	/* messages with their headers */
	size_t sent;		/* bytes of it */
	bool closed;		/* the other end */
};

void channel_init(struct channel *c, int fd);

/*
 * Sends a message of some @kind, or queues it. Takes ownership of the bytes, even if it fails. Returns 0, -ENOMEM, or
 * -ENOBUFS if too much is queued already. Messages that can't be sent, since the other end is closed, are dropped.
 */
int channel_post(struct channel *c, u32 kind, struct wire_out *bytes);

/* Sends as much of the queue as there is room for. */
void channel_flush(struct channel *c);

/* For poll(2), to wait until more of the queue can be sent; if nothing waits, poll(2) ignores it. */
struct pollfd channel_pollfd(const struct channel *c);

/* Bytes that have not been sent yet; 0 if the other end is closed. */
size_t channel_waiting(const struct channel *c);

/* Ends the stream at once and drops what is still queued. */
void channel_uninit(struct channel *c);

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
