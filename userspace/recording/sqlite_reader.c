// SPDX-License-Identifier: GPL-2.0-only
#include "recording/sqlite_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/cleanup.h"

#define HEAD_BYTES 100
#define HEAD_READ_VERSION 19		/* byte of the header: 2 if the database has a log */
#define VERSION_WAL 2
#define LOG_HEAD_BYTES 32
#define TRIES 8				/* attempts to copy a file while it is being written */

/* --- copies without a name ---------------------------------------------------------------------- */

static const char *folder(void)
{
	const char *named = secure_getenv("TMPDIR");

	return named && *named ? named : "/var/tmp";
}

/* Not all file systems can make a file without a name (O_TMPFILE). On others, make one and unlink it. */
static int make_file(void)
{
	char *name CLEANUP(cleanup_free) = joined(folder(), "/blklat-XXXXXX");
	int fd = open(folder(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd < 0 ? -errno : fd;
	if (!name)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

/* Copies up to the current end; data appended during the copy is left to the next copy. @room: most bytes to write. */
static int copy(int from, int to, s64 room)
{
	struct stat st;
	off_t at = 0, end;

	if (fstat(from, &st) || ftruncate(to, st.st_size))
		return -errno;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < st.st_size) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0 || lseek(to, at, SEEK_SET) < 0)
			return -errno;
		if (end > st.st_size)
			end = st.st_size;
		room -= end - at;
		if (room < 0)
			return -ENOSPC;
		for (ssize_t n = 1; n && at < end; )
			if ((n = sendfile(to, from, &at, end - at)) < 0)
				return -errno;
	}
	return at >= 0 || errno == ENXIO ? 0 : -errno;
}

int copy_file(int from, int to)
{
	struct statvfs fs;

	return fstatvfs(to, &fs) ? -errno : copy(from, to, (s64)(fs.f_bavail * fs.f_frsize / 2));
}

/*
 * Copies the regular file @from into a file in $TMPDIR, or /var/tmp, that nobody else can reach; holes stay holes. The
 * copy takes at most half of the free space there. Returns 0, or a negative errno and a sentence with @name in it.
 */
static int private_copy(int from, const char *name, int *ret_fd, struct problem *p)
{
	int to CLEANUP(cleanup_close) = make_file(), err = to < 0 ? to : 0;

	if (!err)
		err = copy_file(from, to);
	if (err)
		return problem_set(p, err, "%s: can't be copied to %s, which has to be done while it is written to: %s "
				   "(TMPDIR names another directory)", name, folder(), strerror(-err));
	*ret_fd = to;
	to = -1;
	return 0;
}

/* --- the files ------------------------------------------------------------------------------------ */

static int no_reading(const struct sqlite_reader *r, int err, struct problem *p)
{
	return problem_set(p, err, "%s: can't be read: %s", r->file, strerror(-err));
}

/* Opens the file whose name is ours plus @end. Returns a descriptor and sets @st, or returns a negative errno. */
static int open_side_file(const struct sqlite_reader *r, const char *end, struct stat *st)
{
	char *name CLEANUP(cleanup_free) = joined(r->name, end);
	int fd;

	if (!name)
		return -ENOMEM;
	/* Don't wait for a FIFO, don't acquire a terminal, don't follow a link. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static bool is_own(const struct stat *file, const struct stat *side)
{
	return S_ISREG(side->st_mode) && side->st_uid == file->st_uid && side->st_nlink <= 1;
}

/* Refuses a file with a journal of its owner that was not played back: the file holds half a transaction. */
static int check_journal(const struct sqlite_reader *r, const struct stat *file, struct problem *p)
{
	struct stat st;
	int fd CLEANUP(cleanup_close) = open_side_file(r, "-journal", &st);
	char first = 0;

	if (fd < 0 || !is_own(file, &st) || pread(fd, &first, 1, 0) != 1 || !first)
		return 0;
	return problem_set(p, -EBADMSG, "%s: a writer was interrupted and left %s-journal: open it with "
			   "sqlite3 once, as its owner, or delete the journal", r->file, r->name);
}

/* Returns the descriptor of the log, -ENOENT if there is none, or another negative errno and a sentence. */
static int open_log(const struct sqlite_reader *r, const struct stat *file, struct stat *st, struct problem *p)
{
	int fd = open_side_file(r, "-wal", st);

	if (fd == -ENOENT)
		return fd;
	if (fd >= 0 && is_own(file, st))
		return fd;
	if (fd >= 0)
		close(fd);
	if (fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE || fd == -EACCES)
		return problem_set(p, fd, "%s-wal: can't be opened: %s", r->name, strerror(-fd));
	return problem_set(p, -EBADMSG, "%s: can't be read: %s-wal is not its own log, a regular file of the same owner "
			   "with one name", r->file, r->name);
}

int sqlite_has_log(int fd)
{
	u8 version = 0;

	return pread(fd, &version, 1, HEAD_READ_VERSION) < 0 ? -errno : version == VERSION_WAL;
}

static int check_head(const struct sqlite_reader *r, struct problem *p)
{
	u8 head[HEAD_BYTES];
	ssize_t len = pread(r->fds.fd, head, HEAD_BYTES, 0);

	if (len < 0)
		return no_reading(r, -errno, p);
	if (len < (ssize_t)sizeof(RECORDING_MAGIC) || memcmp(head, RECORDING_MAGIC, sizeof(RECORDING_MAGIC)))
		return problem_set(p, len ? -EBADMSG : -ENODATA, "%s: is not a recording%s", r->file, len ? "" : " (it is empty)");
	if (len < HEAD_BYTES)
		return problem_set(p, -EBADMSG, "%s: is damaged: it has %zd bytes", r->file, len);
	return 0;
}

/* Whether @log is still the one next to the database. */
static bool is_current(const struct sqlite_reader *r, int log)
{
	struct stat now, then;
	int fd CLEANUP(cleanup_close) = open_side_file(r, "-wal", &now);

	if (log < 0)
		return fd == -ENOENT;
	return fd >= 0 && !fstat(log, &then) && now.st_ino == then.st_ino && now.st_dev == then.st_dev;
}

/*
 * Pages that are moved from the log into the file stay in the log too, until it starts over with a new header. So if
 * first the file and then the log is copied, the copies fit together if the log's header is the same before and after.
 */
static int copy_both(struct sqlite_reader *r, int log, bool *ret_fit, struct problem *p)
{
	int file CLEANUP(cleanup_close) = -1, log_copy CLEANUP(cleanup_close) = -1;
	u8 before[LOG_HEAD_BYTES] = { 0 }, after[LOG_HEAD_BYTES] = { 0 };
	int err;

	if (log >= 0 && pread(log, before, sizeof(before), 0) < 0)
		return no_reading(r, -errno, p);
	err = private_copy(r->fds.fd, r->file, &file, p);
	if (!err && log >= 0)
		err = private_copy(log, r->file, &log_copy, p);
	if (!err && log >= 0 && pread(log, after, sizeof(after), 0) < 0)
		err = no_reading(r, -errno, p);
	*ret_fit = !err && !memcmp(before, after, sizeof(before)) && is_current(r, log);
	if (!*ret_fit)
		return err;
	close(r->fds.fd);
	r->fds.fd = file;
	r->fds.log = log_copy;
	file = log_copy = -1;
	return 0;
}

/*
 * Takes file and log themselves if nobody records, else copies of them. @ret_again: they were written to during the
 * copy.
 */
static int take(struct sqlite_reader *r, const struct stat *st, bool *ret_again, struct problem *p)
{
	int log CLEANUP(cleanup_close) = -ENOENT;
	struct stat log_st;
	bool fit;
	int err = check_head(r, p), has_log = err ?: sqlite_has_log(r->fds.fd);

	*ret_again = false;
	if (err || has_log <= 0)
		return err || !has_log ? err : no_reading(r, has_log, p);
	log = open_log(r, st, &log_st, p);
	if (log < 0 && log != -ENOENT)
		return log;
	if (flock(r->fds.fd, LOCK_SH | LOCK_NB)) {
		err = copy_both(r, log, &fit, p);
		*ret_again = !err && !fit;
		return err;
	}
	/* Nobody records it, and nobody ever will: a recorder always makes a new file. */
	flock(r->fds.fd, LOCK_UN);
	if (log >= 0 && log_st.st_size > LOG_HEAD_BYTES) {
		r->fds.log = log;
		log = -1;
	}
	return 0;
}

static int open_file(struct sqlite_reader *r, struct stat *st, struct problem *p)
{
	r->fds.fd = open(r->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (r->fds.fd < 0 || fstat(r->fds.fd, st))
		return problem_set(p, -errno, "%s: can't be opened: %s", r->file, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return problem_set(p, -EINVAL, "%s: is not a regular file", r->file);
	r->name = realpath(r->file, NULL);
	return r->name ? check_journal(r, st, p) : no_reading(r, -errno, p);
}

static int take_files(struct sqlite_reader *r, struct problem *p)
{
	struct stat st;
	bool again = true;
	int err = open_file(r, &st, p);

	for (u32 i = 0; !err && again && i < TRIES; i++)
		err = take(r, &st, &again, p);
	if (!err && again)
		return problem_set(p, -EAGAIN, "%s: is written to faster than it can be copied: read it when its recording "
				   "has ended", r->file);
	return err;
}

int sqlite_reader_open(struct sqlite_reader *r, const char *file, struct problem *p)
{
	int err, rc;

	*r = (struct sqlite_reader){ .file = file, .fds = { .fd = -1, .log = -1 } };
	err = take_files(r, p);
	rc = err ? 0 : sqlite_fds_open(&r->fds, false, &r->db);
	return rc ? no_reading(r, sqlite_errno(r->db, rc), p) : err;
}

int sqlite_reader_open_bytes(struct sqlite_reader *r, const char *file, const void *bytes, u64 len, struct problem *p)
{
	int rc;

	*r = (struct sqlite_reader){ .file = file, .fds = { .fd = -1, .log = -1 } };
	rc = sqlite3_open_v2(":memory:", &r->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ?:
	     sqlite3_deserialize(r->db, "main", (void *)bytes, len, len, SQLITE_DESERIALIZE_READONLY);
	return rc ? no_reading(r, sqlite_errno(r->db, rc), p) : 0;
}

u64 sqlite_reader_bytes(const struct sqlite_reader *r)
{
	struct stat st;

	return r->fds.log >= 0 || fstat(r->fds.fd, &st) ? 0 : st.st_size;
}

void sqlite_reader_close(struct sqlite_reader *r)
{
	if (!r->file)
		return;
	sqlite_fds_close(&r->fds, r->db);
	cleanup_close(&r->fds.log);
	cleanup_close(&r->fds.fd);
	free(r->name);
}
