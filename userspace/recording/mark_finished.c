// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds a mark to a recording that has ended: to a copy, which then replaces it in one step, so at any time the file is
 * either the old or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/marks.h"
#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "recording/sqlite_vfs.h"
#include "util/cleanup.h"
#include "util/parse.h"

struct finished {
	const char *file;	/* as the user called it */
	char *name;		/* in its folder */
	int folder, fd;		/* fd: locked, so that of two processes that mark, one is refused */
	struct stat st;
	char copy[64];		/* in the folder, while it is made */
	struct mark mark;	/* without its text */
};

static int failed(const struct finished *f, int err, struct problem *p)
{
	return problem_set(p, err, "%s: can't be marked: %s", f->file, strerror(-err));
}

static void finished_uninit(struct finished *f)
{
	free(f->name);
	cleanup_close(&f->fd);
	cleanup_close(&f->folder);
}

static int open_file(struct finished *f, struct problem *p)
{
	char *real CLEANUP(cleanup_free) = realpath(f->file, NULL), *slash;

	if (!real)
		return problem_set(p, -errno, "%s: can't be opened: %s", f->file, strerror(errno));
	slash = strrchr(real, '/');
	f->name = strdup(slash + 1);
	if (!f->name)
		return failed(f, -ENOMEM, p);
	slash[slash == real] = '\0';
	f->folder = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->fd = f->folder < 0 ? -1
			      : openat(f->folder, f->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &f->st))
		return problem_set(p, -errno, "%s: can't be opened: %s", f->file, strerror(errno));
	if (!S_ISREG(f->st.st_mode))
		return problem_set(p, -EINVAL, "%s: is not a regular file", f->file);
	if (flock(f->fd, LOCK_EX | LOCK_NB))
		return problem_set(p, -EBUSY, "%s: is being recorded or marked: leave out --at, and the mark is of now", f->file);
	if (sqlite_has_log(f->fd) > 0)
		return problem_set(p, -EEXIST, "%s: its recording was interrupted: make a complete copy with 'blklat record --replay %s "
				   "-o NEW', and mark that", f->file, f->file);
	return 0;
}

static bool read_time(const struct recording_reader *r, const char *sql, u64 *ret_mono_ns, s64 *ret_wall_ns)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;

	return !sqlite3_prepare_v2(r->db, sql, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW &&
	       column_u64(s, 0, RECORDING_TOTAL_MAX, ret_mono_ns) && column_wall_ns(s, 1, ret_wall_ns);
}

static int read_mark(struct finished *f, const struct recording_reader *r, const struct moment *at, struct problem *p)
{
	u64 start, end;
	s64 wall, end_wall, since;

	if (!read_time(r, "SELECT mono_ns, wall_ns FROM interval ORDER BY id LIMIT 1", &start, &wall) ||
	    !read_time(r, "SELECT mono_ns, wall_ns FROM interval ORDER BY id DESC LIMIT 1", &end, &end_wall) || end < start)
		return reader_damaged(r, p, "its intervals have no times");
	since = moment_since(at, wall);
	if (since < 0 || (u64)since > end - start)
		return problem_set(p, -EINVAL, "%s: is %.3f s long, and the time is not within it", f->file,
				   (double)(end - start) / NSEC_PER_SEC);
	f->mark = (struct mark){ .mono_ns = start + since, .wall_ns = wall + since };
	if (r->origin.n_marks >= RECORDING_MARKS_MAX)
		return problem_set(p, -ENOSPC, "%s: already has %d marks, the most that a recording can have",
				   f->file, RECORDING_MARKS_MAX);
	return 0;
}

/* Reads the recording as any reader does, so that any fault in it is reported before anything is written. */
static int examine(struct finished *f, const struct moment *at, struct problem *p)
{
	struct recording_reader r = { .file = f->file };
	int err = reader_open_database(&r, &(struct capture_config){ 0 }, p) ?: reader_read_facts(&r, p) ?: read_mark(f, &r, at, p);

	sqlite_reader_close(&r.sqlite);
	reader_forget_facts(&r);
	return err;
}

static int add(const struct finished *f, int to, const char *text)
{
	struct sqlite_fds fds = { .fd = to, .log = -1 };
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	int rc = sqlite_fds_open(&fds, true, &db), err;

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO " SQL_INTO(mark), -1, &s, NULL);
	rc = rc
		     ?: sqlite_put_row(s, VALUES([MARK_mono_ns] = NUMBER(f->mark.mono_ns),
						 [MARK_wall_ns] = NUMBER(f->mark.wall_ns), [MARK_text] = TEXT(text)));
	err = sqlite_errno(db, rc);
	sqlite3_finalize(s);
	sqlite_fds_close(&fds, db);
	return err;
}

/* The copy gets the owner and the permissions of the file. */
static int make_alike(const struct finished *f, int to, struct problem *p)
{
	struct stat st;

	if (fstat(to, &st))
		return failed(f, -errno, p);
	if ((st.st_uid != f->st.st_uid || st.st_gid != f->st.st_gid) && fchown(to, f->st.st_uid, f->st.st_gid))
		return problem_set(p, -errno, "%s: can't be marked: it belongs to another user", f->file);
	return fchmod(to, f->st.st_mode & 07777) || fsync(to) ? failed(f, -errno, p) : 0;
}

/* Whether the name still leads to the file that was read: somebody may have replaced it, perhaps to add a mark. */
static bool is_there(const struct finished *f)
{
	struct stat now;

	return !fstatat(f->folder, f->name, &now, AT_SYMLINK_NOFOLLOW) && now.st_ino == f->st.st_ino &&
	       now.st_dev == f->st.st_dev;
}

static int fill(struct finished *f, int to, const char *text, struct problem *p)
{
	int err = copy_file(f->fd, to) ?: add(f, to, text);

	err = err ? failed(f, err, p) : make_alike(f, to, p);
	if (err)
		return err;
	if (!is_there(f))
		return problem_set(p, -EAGAIN, "%s: was replaced in the meantime: try again", f->file);
	return renameat(f->folder, f->copy, f->folder, f->name) ? failed(f, -errno, p) : 0;
}

static int replace(struct finished *f, const char *text, struct problem *p)
{
	int to CLEANUP(cleanup_close) = -1, err;

	/* We have locked the file, so this name is ours alone. Remove what a mark that was killed has left under it. */
	snprintf(f->copy, sizeof(f->copy), ".blklat-mark-%llu", (unsigned long long)f->st.st_ino);
	if (unlinkat(f->folder, f->copy, 0) && errno != ENOENT)
		return problem_set(p, -errno, "%s: can't be marked: %s next to it can't be removed: %s", f->file,
				   f->copy, strerror(errno));
	to = openat(f->folder, f->copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (to < 0)
		return failed(f, -errno, p);
	err = fill(f, to, text, p);
	if (err)
		unlinkat(f->folder, f->copy, 0);
	else
		fsync(f->folder);
	return err;
}

int recording_mark_at(const char *file, const struct moment *at, const char *text, struct problem *p)
{
	struct finished f CLEANUP(finished_uninit) = { .file = file, .folder = -1, .fd = -1 };

	return open_file(&f, p) ?: examine(&f, at, p) ?: replace(&f, text, p);
}
