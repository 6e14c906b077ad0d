// SPDX-License-Identifier: GPL-2.0-only
#include "util/channel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/array.h"
#include "util/confine.h"
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
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t news;
	struct message *first, **last;
	size_t waiting;
	bool stop;		/* or the other end is closed */
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
	pthread_cond_init(&c->news, NULL);
	*ret = c;
	return 0;
}

static int send_all(int fd, const void *data, size_t len)
{
	for (const char *at = data; len;) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= n;
	}
	return 0;
}

static int send_message(int fd, const struct message *m)
{
	return send_all(fd, &m->header, sizeof(m->header)) ?: send_all(fd, m->data, m->header.len);
}

/* The next message, or NULL at the end. It still counts as queued. */
static struct message *next_message(struct channel *c)
{
	struct message *m = NULL;

	pthread_mutex_lock(&c->lock);
	while (!c->first && !c->stop)
		pthread_cond_wait(&c->news, &c->lock);
	if (!c->stop) {
		m = c->first;
		c->first = m->next;
		if (!c->first)
			c->last = &c->first;
	}
	pthread_mutex_unlock(&c->lock);
	return m;
}

static void *sender(void *channel)
{
	struct channel *c = channel;
	struct message *m;

	confine_thread();
	while ((m = next_message(c))) {
		int err = send_message(c->fd, m);

		pthread_mutex_lock(&c->lock);
		c->waiting -= size_of(m);
		c->stop |= err < 0;
		pthread_mutex_unlock(&c->lock);
		message_free(m);
	}
	return NULL;
}

int channel_start(struct channel *c)
{
	int err = -pthread_create(&c->thread, NULL, sender, c);

	c->started = !err;
	return err;
}

/* Returns 0 and has taken @m, or a negative errno. */
static int enqueue(struct channel *c, struct message *m)
{
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (c->stop) {
		err = -EPIPE;
	} else if (c->waiting > CHANNEL_MOST) {
		err = -ENOBUFS;
	} else {
		c->waiting += size_of(m);
		*c->last = m;
		c->last = &m->next;
		pthread_cond_signal(&c->news);
	}
	pthread_mutex_unlock(&c->lock);
	return err;
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
	err = enqueue(c, m);
	if (err)
		message_free(m);
	return err == -EPIPE ? 0 : err;
}

size_t channel_waiting(struct channel *c)
{
	size_t waiting;

	pthread_mutex_lock(&c->lock);
	waiting = c->waiting;
	pthread_mutex_unlock(&c->lock);
	return waiting;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_signal(&c->news);
	pthread_mutex_unlock(&c->lock);
	shutdown(c->fd, SHUT_RDWR);	/* the thread may wait for a reader */
	if (c->started)
		pthread_join(c->thread, NULL);
	while (c->first) {
		struct message *m = c->first;

		c->first = m->next;
		message_free(m);
	}
	close(c->fd);
	pthread_cond_destroy(&c->news);
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
