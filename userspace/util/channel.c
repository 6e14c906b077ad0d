// SPDX-License-Identifier: GPL-2.0-only
#include "util/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/array.h"

#define READ_BYTES (64u << 10)

/* The header of each message. */
struct header {
	u32 kind;
	u32 len;
};

void channel_init(struct channel *c, int fd)
{
	*c = (struct channel){ .fd = fd };
}

void channel_flush(struct channel *c)
{
	while (c->sent < c->queue.len && !c->closed) {
		ssize_t n = send(c->fd, c->queue.data + c->sent, c->queue.len - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			c->closed = errno != EAGAIN && errno != EINTR;
			return;
		}
		c->sent += n;
	}
	wire_out_free(&c->queue);
	c->sent = 0;
}

size_t channel_waiting(const struct channel *c)
{
	return c->closed ? 0 : c->queue.len - c->sent;
}

static int enqueue(struct channel *c, u32 kind, const struct wire_out *bytes)
{
	const struct header header = { .kind = kind, .len = bytes->len };
	struct wire_out *q = &c->queue;
	size_t len;

	if (channel_waiting(c) > CHANNEL_MOST)
		return -ENOBUFS;
	if (c->sent > q->len / 2) {
		memmove(q->data, q->data + c->sent, q->len - c->sent);
		q->len -= c->sent;
		c->sent = 0;
	}
	len = q->len;
	wire_put(q, &header, sizeof(header));
	wire_put(q, bytes->data, bytes->len);
	if (q->failed) {
		q->len = len;
		q->failed = false;
		return -ENOMEM;
	}
	channel_flush(c);
	return 0;
}

int channel_post(struct channel *c, u32 kind, struct wire_out *bytes)
{
	int err = bytes->failed ? -ENOMEM : 0;

	if (!err && !c->closed)
		err = enqueue(c, kind, bytes);
	wire_out_free(bytes);
	return err;
}

struct pollfd channel_pollfd(const struct channel *c)
{
	return (struct pollfd){ .fd = channel_waiting(c) ? c->fd : -1, .events = POLLOUT };
}

void channel_uninit(struct channel *c)
{
	wire_out_free(&c->queue);
	close(c->fd);
}

/* --- the other end ----------------------------------------------------------------------------- */

/* The size of the first message, or how many bytes are needed to know it. */
static size_t first_size(const struct channel_reader *r)
{
	struct header h = { 0 };

	if (r->len >= sizeof(h))
		memcpy(&h, r->data, sizeof(h));
	return sizeof(h) + h.len;
}

/* Hands over the complete messages, and moves the rest to the beginning of the buffer. */
static int take_whole(struct channel_reader *r, int (*take)(void *into, u32 kind, struct wire_in *bytes), void *into)
{
	struct channel_reader rest = *r;
	size_t size;
	int err = 0;

	while (!err && rest.len >= sizeof(struct header) && rest.len >= (size = first_size(&rest))) {
		struct header h;

		memcpy(&h, rest.data, sizeof(h));
		err = take(into, h.kind, &(struct wire_in){ .at = rest.data + sizeof(h), .end = rest.data + size });
		rest.data += size;
		rest.len -= size;
	}
	if (rest.len)
		memmove(r->data, rest.data, rest.len);
	r->len = rest.len;
	return err;
}

int channel_read(struct channel_reader *r, int (*take)(void *into, u32 kind, struct wire_in *bytes), void *into)
{
	size_t room = max_u64(r->len + READ_BYTES, first_size(r));
	ssize_t n;

	if (r->room < room && array_grow(&r->data, 1, room))
		return -ENOMEM;
	r->room = max_u64(r->room, room);
	n = recv(r->fd, r->data + r->len, r->room - r->len, 0);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (!n)
		return -EPIPE;
	r->len += n;
	return take_whole(r, take, into);
}

void channel_reader_uninit(struct channel_reader *r)
{
	free(r->data);
	r->data = NULL;
}
