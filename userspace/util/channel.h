/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages from one process to another, over a stream socket. Who posts never waits: a message is put into a queue,
 * and a thread sends it. How much waits is told, so that who posts can hold back; beyond CHANNEL_MOST it is refused.
 */
#ifndef UTIL_CHANNEL_H
#define UTIL_CHANNEL_H

#include "util/wire.h"

#define CHANNEL_MOST (32u << 20)	/* bytes in the queue */

struct channel;

/* @fd, connected and blocking, is taken over, also in failure. Returns 0 or a negative errno. */
int channel_new(int fd, struct channel **ret);

/* Starts the thread: what is posted before waits for it. Returns 0 or a negative errno. */
int channel_start(struct channel *c);

/*
 * Queues a message of some @kind; the bytes are taken over, also in failure. Of any thread. Returns 0, -ENOMEM, or -ENOBUFS
 * when too much waits already. What can't be sent, since nobody reads any more, is dropped.
 */
int channel_post(struct channel *c, u32 kind, struct wire_out *bytes);

/* Bytes that have not been sent yet. */
size_t channel_waiting(struct channel *c);

/* Ends the stream at once, whatever waits. Takes NULL. */
void channel_free(struct channel *c);

/* --- the other end ----------------------------------------------------------------------------- */

struct channel_reader {
	int fd;			/* not owned */
	u8 *data;
	size_t len, room;
};

/*
 * Reads what is there, or waits for something, and hands the messages that are whole to @take, which returns 0 or a
 * negative errno that ends it. Returns that, 0, -EPIPE at the stream's end, or another negative errno.
 */
int channel_read(struct channel_reader *r, int (*take)(void *into, u32 kind, struct wire_in *bytes), void *into);
void channel_reader_uninit(struct channel_reader *r);

#endif
