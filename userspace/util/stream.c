// SPDX-License-Identifier: GPL-2.0-only
#include "util/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/ending.h"

/* Time limits once the command is asked to end: for a reader that takes nothing, and in all for a slow one. */
#define STILL_NS (NSEC_PER_SEC / 2)
#define MOST_NS (NSEC_PER_SEC * 6 / 5)
#define REST_MS 1

struct stream {
	int fd;
	size_t most;		/* bytes to write at a time */
	bool socket;
	bool drops;		/* drops what is not taken within a moment, even before the end */
	bool gone;		/* its reader is considered gone: waiting for it was in vain */
	u64 still_ns, left_ns;	/* what is left of both limits */
};

static struct stream out, error;

/*
 * Opens the same pipe or terminal again: this open file is not shared, so it may be non-blocking. If that is not
 * allowed, we write to a pipe only as much as surely fits once poll() says that there is room.
 */
static void open_apart(struct stream *s)
{
	int flags = fcntl(s->fd, F_GETFL), fd;
	char path[32];
	struct stat st;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(s->fd, &st))
		return;
	s->socket = S_ISSOCK(st.st_mode);
	if (S_ISFIFO(st.st_mode))
		s->most = PIPE_BUF;
	else if (!isatty(s->fd))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	s->fd = fd;
	s->most = SSIZE_MAX;
}

static u64 less(u64 ns, u64 took_ns)
{
	return ns > took_ns ? ns - took_ns : 0;
}

static void spend(struct stream *s, u64 began_ns)
{
	u64 took_ns = now_ns() - began_ns;

	s->still_ns = less(s->still_ns, took_ns);
	s->left_ns = less(s->left_ns, took_ns);
}

static u64 patience_ns(const struct stream *s)
{
	return s->still_ns < s->left_ns ? s->still_ns : s->left_ns;
}

static bool hurries(const struct stream *s)
{
	return s->drops || s->gone || ending_asked();
}

/* Returns false when the time limit is reached. */
static bool wait_ready(struct stream *s)
{
	for (;;) {
		bool hurry = hurries(s);
		struct pollfd fds[] = {
			{ .fd = s->fd, .events = POLLOUT },
			{ .fd = hurry ? -1 : ending_fd(), .events = POLLIN },
		};
		u64 began_ns = now_ns();
		const struct timespec most = { .tv_nsec = patience_ns(s) };
		int n = ppoll(fds, ARRAY_SIZE(fds), hurry ? &most : NULL, NULL);

		if ((n < 0 && errno != EINTR) || (n > 0 && fds[0].revents))
			return true;
		if (hurry)
			spend(s, began_ns);
		if (hurry && !patience_ns(s))
			return false;
	}
}

/* A terminal may report room, and then not have enough for a whole character. */
static void rest(struct stream *s)
{
	u64 began_ns = now_ns();

	poll(NULL, 0, REST_MS);
	if (hurries(s))
		spend(s, began_ns);
}

static ssize_t put(const struct stream *s, const char *data, size_t len)
{
	if (len > s->most)
		len = s->most;
	return s->socket ? send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL) : write(s->fd, data, len);
}

/* For fopencookie(3): returns the bytes written; fewer than @len, with errno set, on failure. */
static ssize_t stream_write(void *cookie, const char *data, size_t len)
{
	struct stream *s = cookie;
	size_t done = 0;

	while (done < len) {
		ssize_t n;

		s->gone = !wait_ready(s);
		if (s->gone) {
			errno = EPIPE;
			return done;
		}
		n = put(s, data + done, len - done);
		if (n > 0)
			s->still_ns = STILL_NS;
		if (n >= 0)
			done += n;
		else if (errno == EAGAIN)
			rest(s);
		else if (errno != EINTR)
			return done;
	}
	if (s->drops)
		s->left_ns = MOST_NS;
	return done;
}

static FILE *begin(struct stream *s, int fd)
{
	const cookie_io_functions_t functions = { .write = stream_write };

	*s = (struct stream){ .fd = fd, .most = SSIZE_MAX, .still_ns = STILL_NS, .left_ns = MOST_NS };
	open_apart(s);
	return fopencookie(s, "w", functions);
}

int streams_begin(void)
{
	FILE *o = begin(&out, STDOUT_FILENO), *e = begin(&error, STDERR_FILENO);

	if (!o || !e)
		return -ENOMEM;
	/* Unbuffered, so that each message is one write. */
	setvbuf(e, NULL, _IONBF, 0);
	stdout = o;
	stderr = e;
	return 0;
}

void streams_drop_errors(void)
{
	error.drops = true;
}

int streams_error_fd(void)
{
	return error.fd;
}

void streams_try_error(const char *text)
{
	struct pollfd fd = { .fd = error.fd, .events = POLLOUT };

	if (poll(&fd, 1, 0) > 0)
		put(&error, text, strlen(text));
}

int print_buffer_open(struct print_buffer *buffer)
{
	*buffer = (struct print_buffer){ 0 };
	buffer->f = open_memstream(&buffer->text, &buffer->len);
	return buffer->f ? 0 : -errno;
}

int print_buffer_write(struct print_buffer *buffer, FILE *to)
{
	if (fflush(buffer->f) || ferror(buffer->f))
		return -ENOMEM;
	errno = 0;
	if (fwrite(buffer->text, 1, buffer->len, to) == buffer->len && !fflush(to))
		return 0;
	return errno ? -errno : -EIO;
}

void print_buffer_close(struct print_buffer *buffer)
{
	if (buffer->f)
		fclose(buffer->f);
	free(buffer->text);
	*buffer = (struct print_buffer){ 0 };
}
