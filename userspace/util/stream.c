// SPDX-License-Identifier: GPL-2.0-only
#include "util/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/ending.h"

/* How long to wait for a reader: for all output once the command is asked to end; for a message that may be dropped. */
#define END_NS (NSEC_PER_SEC * 6 / 5)
#define DROP_NS (NSEC_PER_SEC / 2)
#define REST_MS 1

struct stream {
	int fd;
	size_t most;		/* bytes to write at a time */
	bool socket;
	bool drops;		/* drops what is not taken within a moment, even before the end */
	bool gone;		/* its reader is considered gone: waiting for it was in vain */
	u64 until_ns;		/* how long to wait for it; UINT64_MAX: for ever */
};

static struct stream out, error;
static u64 end_ns;		/* of both, once the command is asked to end; 0: it is not */

/*
 * Opens the same pipe or terminal again: this open file is not shared, so it may be non-blocking. If that is not
 * allowed, we write to a pipe only as much as is sure to fit once poll() says that there is room.
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

/* Returns false when the time limit is reached. */
static bool wait_ready(struct stream *s)
{
	for (;;) {
		bool patient = s->until_ns == UINT64_MAX;
		struct pollfd fds[] = {
			{ .fd = s->fd, .events = POLLOUT },
			{ .fd = patient ? ending_fd() : -1, .events = POLLIN },
		};

		poll_until(fds, ARRAY_SIZE(fds), s->until_ns);
		if (fds[1].revents)
			s->until_ns = end_ns = end_ns ?: now_ns() + END_NS;
		else if (patient)
			end_ns = 0;	/* it was passed on */
		if (fds[0].revents)
			return true;
		if (now_ns() >= s->until_ns)
			return false;
	}
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

	s->until_ns = s->gone ? 0 : s->drops ? now_ns() + DROP_NS : UINT64_MAX;
	do {
		bool ready = wait_ready(s);
		ssize_t n = ready ? put(s, data + done, len - done) : -1;

		if (n >= 0)
			done += n;
		else if (ready && errno == EAGAIN)
			/* A terminal may report room, and then not have enough for a whole character. */
			poll(NULL, 0, REST_MS);
		else if (ready && errno != EINTR)
			return done;
		s->gone = n < 0 && now_ns() >= s->until_ns;
	} while (done < len && !s->gone);
	if (s->gone)
		errno = EPIPE;
	return done;
}

static FILE *begin(struct stream *s, int fd)
{
	const cookie_io_functions_t functions = { .write = stream_write };

	*s = (struct stream){ .fd = fd, .most = SSIZE_MAX };
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
