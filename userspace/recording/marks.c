// SPDX-License-Identifier: GPL-2.0-only
#include "recording/marks.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "recording/sqlite.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/utf8.h"

#define FIFO_BYTES (1 << 20)	/* room for marks until the interval ends; the kernel may allow less */

static_assert(sizeof(struct mark_message) <= PIPE_BUF, "a write is atomic: messages of several senders don't mix");

/* Errors of file systems without FIFOs, such as those of removable disks. */
static bool has_no_fifos(int err)
{
	return err == -EPERM || err == -EOPNOTSUPP || err == -ENOSYS || err == -EINVAL;
}

/* Opens the FIFO, making sure that it is the one we made and that nobody else can write to it. */
static int open_own_fifo(const char *name)
{
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077)) {
		fcntl(fd, F_SETPIPE_SZ, FIFO_BYTES);
		return fd;
	}
	close(fd);
	return -EEXIST;
}

int recording_marks_open(struct recording_marks *m, const char *file, struct problem *p)
{
	int err;

	m->fifo = -1;
	m->name = joined(file, RECORDING_MARK_END);
	if (!m->name)
		return problem_set(p, -ENOMEM, "%s: out of memory", file);
	err = mkfifo(m->name, 0600) ? -errno : 0;
	if (has_no_fifos(err))
		return 0;
	if (!err) {
		m->fifo = open_own_fifo(m->name);
		err = m->fifo < 0 ? m->fifo : 0;
	}
	return err ? problem_set(p, err, "%s: can't be created: %s", m->name, strerror(-err)) : 0;
}

static bool read_one(const struct recording_marks *m, struct mark_message *ret)
{
	return m->fifo >= 0 && read(m->fifo, ret, sizeof(*ret)) == sizeof(*ret);
}

bool recording_marks_take(struct recording_marks *m, u64 until_ns)
{
	const struct origin *o = m->source;

	for (; m->n < RECORDING_MARKS_AT_ONCE && m->next < o->n_marks && o->marks[m->next].mono_ns <= until_ns; m->n++) {
		const struct mark *from = &o->marks[m->next++];
		struct mark_message *to = &m->waiting[m->n];

		to->mono_ns = from->mono_ns;
		to->wall_ns = from->wall_ns;
		snprintf(to->text, sizeof(to->text), "%s", from->text);
	}
	while (m->n < RECORDING_MARKS_AT_ONCE && read_one(m, &m->waiting[m->n]))
		m->n++;
	return m->n == RECORDING_MARKS_AT_ONCE;
}

static int put(sqlite3_stmt *s, struct mark_message *mark)
{
	const s64 most = RECORDING_TOTAL_MAX;

	mark->text[RECORDING_MARK_BYTES] = '\0';
	text_clean(mark->text);
	if (!*mark->text || mark->mono_ns > RECORDING_TOTAL_MAX || mark->wall_ns < -most || mark->wall_ns > most)
		return SQLITE_OK;
	return sqlite_put_row(s, VALUES([MARK_mono_ns] = NUMBER(mark->mono_ns), [MARK_wall_ns] = NUMBER(mark->wall_ns),
					[MARK_text] = TEXT(mark->text)));
}

int recording_marks_write(struct recording_marks *m, sqlite3 *db)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	int rc = SQLITE_OK;
	s64 n = m->n ? sqlite_number(db, "SELECT count(*) FROM mark", &rc) : 0;

	if (!rc && m->n)
		rc = sqlite3_prepare_v2(db, "INSERT INTO " SQL_INTO(mark), -1, &s, NULL);
	for (u32 i = 0; !rc && i < m->n && n < RECORDING_MARKS_MAX; i++, n++)
		rc = put(s, &m->waiting[i]);
	if (n >= RECORDING_MARKS_MAX)
		recording_marks_close(m);
	return rc;
}

void recording_marks_close(struct recording_marks *m)
{
	if (m->fifo >= 0)
		unlink(m->name);
	cleanup_close(&m->fifo);
	m->fifo = -1;
	free(TAKE(m->name));
}

/* A recorder holds an exclusive lock on its file. If we get a shared lock, there is no recorder. */
static int check_recorded(int fd, const char *file, struct problem *p)
{
	char magic[sizeof(RECORDING_MAGIC)];

	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) || memcmp(magic, RECORDING_MAGIC, sizeof(magic)))
		return problem_set(p, -EBADMSG, "%s: is not a recording", file);
	if (!flock(fd, LOCK_SH | LOCK_NB)) {
		flock(fd, LOCK_UN);
		return problem_set(p, -ENXIO, "%s: is not being recorded: give the time with --at", file);
	}
	return 0;
}

/* The FIFO has to belong to the recording's owner, so that nobody else can read the mark. Opening never blocks. */
static int open_fifo_of(int file, const char *name, struct problem *p)
{
	char *real CLEANUP(cleanup_free) = realpath(name, NULL);
	char *path CLEANUP(cleanup_free) = real ? joined(real, RECORDING_MARK_END) : NULL;
	struct stat st, recorded;
	int fd;

	if (!path)
		return problem_set(p, -ENOMEM, "%s: out of memory", name);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return problem_set(p, -ENXIO, "%s: takes no more marks: it already has %d, or its file system has no FIFOs",
				   name, RECORDING_MARKS_MAX);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be marked: %s can't be opened: %s", name, path, strerror(errno));
	if (!fstat(fd, &st) && !fstat(file, &recorded) && S_ISFIFO(st.st_mode) && st.st_uid == recorded.st_uid)
		return fd;
	close(fd);
	return problem_set(p, -EPERM, "%s: can't be marked: %s does not belong to its recorder", name, path);
}

static int send_mark(int fifo, const char *file, const struct mark_message *m, struct problem *p)
{
	ssize_t len = write(fifo, m, sizeof(*m));

	if (len == sizeof(*m))
		return 0;
	if (len < 0 && errno == EAGAIN)
		return problem_set(p, -EAGAIN, "%s: too many marks at once: try again when the next interval has ended", file);
	if (len < 0 && errno == EPIPE)
		return problem_set(p, -ENXIO, "%s: is not being recorded any more", file);
	return problem_set(p, len < 0 ? -errno : -EIO, "%s: can't be marked: %s", file, strerror(len < 0 ? errno : EIO));
}

int recording_mark(const char *file, const char *text, struct problem *p)
{
	struct mark_message m = { clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME), "" };
	int fd CLEANUP(cleanup_close) = -1, fifo CLEANUP(cleanup_close) = -1;
	int err;

	snprintf(m.text, sizeof(m.text), "%s", text);
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be opened: %s", file, strerror(errno));
	err = check_recorded(fd, file, p);
	if (err)
		return err;
	fifo = open_fifo_of(fd, file, p);
	return fifo < 0 ? fifo : send_mark(fifo, file, &m, p);
}
