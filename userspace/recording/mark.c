// SPDX-License-Identifier: GPL-2.0-only
#include "recording/recorder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "recording/schema.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/sysfs.h"

static_assert(sizeof(struct recording_mark) <= PIPE_BUF, "written at once");

static int take_text(const char *text, char clean[RECORDING_MARK_BYTES + 1], struct problem *p)
{
	if (strlen(text) > RECORDING_MARK_BYTES)
		return problem_set(p, -EINVAL, "a mark's text has at most %d bytes", RECORDING_MARK_BYTES);
	strcpy(clean, text);
	text_clean(clean);
	return *clean ? 0 : problem_set(p, -EINVAL, "a mark needs a text");
}

/* A recorder holds the file exclusively; whoever gets it shared is alone with it. */
static int check_recorded(int fd, const char *file, struct problem *p)
{
	char magic[sizeof(RECORDING_MAGIC)];

	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || memcmp(magic, RECORDING_MAGIC, sizeof(magic)))
		return problem_set(p, -EBADMSG, "%s: is no recording", file);
	if (!flock(fd, LOCK_SH | LOCK_NB)) {
		flock(fd, LOCK_UN);
		return problem_set(p, -ENXIO, "%s: is not being recorded, marks are for what happens now", file);
	}
	return 0;
}

/* The FIFO has to be of who recorded the file: any other is told nothing, and nobody is waited for. */
static int open_fifo(int file, const char *name, struct problem *p)
{
	char *real CLEANUP(cleanup_free) = realpath(name, NULL), *path CLEANUP(cleanup_free) = NULL;
	struct stat st, recorded;
	int fd;

	if (!real || asprintf(&path, "%s" RECORDING_MARK_END, real) < 0) {
		path = NULL;
		return problem_set(p, -ENOMEM, "%s: no memory", name);
	}
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return problem_set(p, -ENXIO, "%s: takes no marks: it has %d already, or lies on a file system without "
				   "FIFOs", name, RECORDING_MARKS_MAX);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be marked: %s can't be opened: %s", name, path, strerror(errno));
	if (!fstat(fd, &st) && !fstat(file, &recorded) && S_ISFIFO(st.st_mode) && st.st_uid == recorded.st_uid)
		return fd;
	close(fd);
	return problem_set(p, -EPERM, "%s: can't be marked: %s is not its recorder's", name, path);
}

static int send_mark(int fifo, const char *file, const struct recording_mark *m, struct problem *p)
{
	ssize_t len = write(fifo, m, sizeof(*m));

	if (len == sizeof(*m))
		return 0;
	if (len < 0 && errno == EAGAIN)
		return problem_set(p, -EAGAIN, "%s: has as many marks as it can take before the next interval ends", file);
	if (len < 0 && errno == EPIPE)
		return problem_set(p, -ENXIO, "%s: is not being recorded any more", file);
	return problem_set(p, len < 0 ? -errno : -EIO, "%s: can't be marked: %s", file, strerror(len < 0 ? errno : EIO));
}

int recording_mark(const char *file, const char *text, struct problem *p)
{
	struct recording_mark m = { clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME), "" };
	int fd CLEANUP(cleanup_close) = -1, fifo CLEANUP(cleanup_close) = -1;
	int err = take_text(text, m.text, p);

	if (err)
		return err;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be opened: %s", file, strerror(errno));
	err = check_recorded(fd, file, p);
	if (err)
		return err;
	fifo = open_fifo(fd, file, p);
	return fifo < 0 ? fifo : send_mark(fifo, file, &m, p);
}
