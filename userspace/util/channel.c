// SPDX-License-Identifier: GPL-2.0-only
#include "util/channel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/array.h"
#include "util/realtime.h"

#define READ_BYTES (64u << 10)

/* The header of each message. */
struct header {
	u32 kind;
	u32 len;
};

struct message {
	struct message *next;
	struct header header;
	u8 *data;		/* of malloc() */
};

struct channel {
	int fd;
	pthread_mutex_t lock;	/* of what follows */
	struct message *first, **last;
	size_t sent;		/* of the first message */
	size_t waiting;
	bool closed;		/* the other end */
};

static size_t size_of(const struct message *m)
{
	return sizeof(m->header) + m->header.len;
}

static void message_free(struct message *m)
{
	free(m->data);
	free(m);
}

int channel_new(int fd, struct channel **ret)
{
	struct channel *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->fd = fd;
	c->last = &c->first;
	realtime_lock_init(&c->lock);
	*ret = c;
	return 0;
}

static void drop_first(struct channel *c)
{
	struct message *m = c->first;

	c->first = m->next;
	c->sent = 0;
	if (!c->first)
		c->last = &c->first;
	message_free(m);
}

/* Sends as much of the first message as there is room for: of its header, then of its data. */
static ssize_t send_some(const struct channel *c)
{
	const struct message *m = c->first;
	bool begins = c->sent < sizeof(m->header);
	const u8 *at = begins ? (const u8 *)&m->header + c->sent : m->data + (c->sent - sizeof(m->header));

	return send(c->fd, at, (begins ? sizeof(m->header) : size_of(m)) - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void flush(struct channel *c)
{
	while (c->first && !c->closed) {
		ssize_t n = send_some(c);

		if (n < 0) {
			c->closed = errno != EAGAIN && errno != EINTR;
			return;
		}
		c->sent += n;
		c->waiting -= n;
		if (c->sent == size_of(c->first))
			drop_first(c);
	}
}

/* Returns 0 and has taken @m, or a negative errno. */
static int enqueue(struct channel *c, struct message *m)
{
	if (c->closed)
		return -EPIPE;
	if (c->waiting > CHANNEL_MOST)
		return -ENOBUFS;
	c->waiting += size_of(m);
	*c->last = m;
	c->last = &m->next;
	flush(c);
	return 0;
}

int channel_post(struct channel *c, u32 kind, struct wire_out *bytes)
{
	struct message *m = bytes->failed ? NULL : malloc(sizeof(*m));
	int err;

	if (!m) {
		wire_out_free(bytes);
		return -ENOMEM;
	}
	*m = (struct message){ .header = { .kind = kind, .len = bytes->len }, .data = bytes->data };
	*bytes = (struct wire_out){ 0 };
	pthread_mutex_lock(&c->lock);
	err = enqueue(c, m);
	pthread_mutex_unlock(&c->lock);
	if (err)
		message_free(m);
	return err == -EPIPE ? 0 : err;
}

void channel_flush(struct channel *c)
{
	pthread_mutex_lock(&c->lock);
	flush(c);
	pthread_mutex_unlock(&c->lock);
}

size_t channel_waiting(struct channel *c)
{
	size_t waiting;

	pthread_mutex_lock(&c->lock);
	waiting = c->closed ? 0 : c->waiting;
	pthread_mutex_unlock(&c->lock);
	return waiting;
}

struct pollfd channel_pollfd(struct channel *c)
{
	return (struct pollfd){ .fd = channel_waiting(c) ? c->fd : -1, .events = POLLOUT };
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	while (c->first)
		drop_first(c);
	close(c->fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
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
