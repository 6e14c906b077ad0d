// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds a mark to a recording that has ended. SQLite must not write where others may put files, so it
 * changes a copy, in a folder that only we may enter. The copy then replaces the recording in one step,
 * so at any time the file is either the old or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/marks.h"
#include "recording/private_copy.h"
#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/cleanup.h"
#include "util/parse.h"

struct finished {
	const char *file;	/* as the user called it */
	char *name;		/* in its folder */
	int folder, fd;		/* fd: locked, so that of two processes that mark, one is refused */
	struct stat st;
	char *copy;		/* NULL: not made */
	struct mark mark;	/* without its text */
};

static int failed(const struct finished *f, int err, struct problem *p)
{
	return problem_set(p, err, "%s: can't be marked: %s", f->file, strerror(-err));
}

static void finished_uninit(struct finished *f)
{
	if (f->copy) {
		unlink(f->copy);
		*strrchr(f->copy, '/') = '\0';
		rmdir(f->copy);
	}
	free(f->copy);
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
	f->fd = f->folder < 0 ? -1 : openat(f->folder, f->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &f->st))
		return problem_set(p, -errno, "%s: can't be opened: %s", f->file, strerror(errno));
	if (!S_ISREG(f->st.st_mode))
		return problem_set(p, -EINVAL, "%s: is not a regular file", f->file);
	if (flock(f->fd, LOCK_EX | LOCK_NB))
		return problem_set(p, -EBUSY, "%s: is being recorded or marked: leave out --at, and the mark is of now", f->file);
	return 0;
}

/* Refuses if there are files beside the recording: their contents would be lost. */
static int check_beside(const struct finished *f, struct problem *p)
{
	static const char *const ends[] = { "-wal", "-journal" };

	for (u32 i = 0; i < ARRAY_SIZE(ends); i++) {
		char *name CLEANUP(cleanup_free) = joined(f->name, ends[i]);

		if (!name)
			return failed(f, -ENOMEM, p);
		if (!faccessat(f->folder, name, F_OK, AT_SYMLINK_NOFOLLOW))
			return problem_set(p, -EEXIST, "%s: was cut off, and %s%s is beside it: make a complete copy "
					   "with 'blklat record --replay %s -o NEW', and mark that", f->file, f->file, ends[i], f->file);
	}
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
		return problem_set(p, -EINVAL, "%s: is %.3f s long, and the time is outside of it", f->file,
				   (double)(end - start) / NSEC_PER_SEC);
	f->mark = (struct mark){ .mono_ns = start + since, .wall_ns = wall + since };
	if (r->origin.n_marks >= RECORDING_MARKS_MAX)
		return problem_set(p, -ENOSPC, "%s: has %d marks, which is the most that it can have", f->file, RECORDING_MARKS_MAX);
	return 0;
}

/* Reads the recording as any reader does, so that any fault in it is reported before anything is written. */
static int examine(struct finished *f, const struct moment *at, struct problem *p)
{
	struct recording_reader r = { .file = f->file };
	int err = reader_open_database(&r, p) ?: reader_read_facts(&r, p) ?: read_mark(f, &r, at, p);

	sqlite_reader_close(r.sqlite);
	reader_forget_facts(&r);
	return err;
}

static int open_copy(const struct finished *f, sqlite3 **db)
{
	int rc = sqlite3_open_v2(f->copy, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc)
		return rc;
	sqlite_distrust(*db);
	return sqlite_run(*db, "PRAGMA cell_size_check = ON; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
}

static int add(const struct finished *f, const char *text, struct problem *p)
{
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	int rc = open_copy(f, &db), err;

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO " SQL_INTO(mark), -1, &s, NULL);
	rc = rc ?: sqlite_put_row(s, VALUES([MARK_mono_ns] = NUMBER(f->mark.mono_ns), [MARK_wall_ns] = NUMBER(f->mark.wall_ns),
					    [MARK_text] = TEXT(text)));
	err = sqlite_errno(db, rc);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return err ? failed(f, err, p) : 0;
}

/* Fills the new file, and keeps owner and permissions. */
static int fill(const struct finished *f, int to, struct problem *p)
{
	int from CLEANUP(cleanup_close) = open(f->copy, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int err = from < 0 || fstat(to, &st) ? failed(f, -errno, p) : private_copy_to(from, to, f->file, p);

	if (err)
		return err;
	if ((st.st_uid != f->st.st_uid || st.st_gid != f->st.st_gid) && fchown(to, f->st.st_uid, f->st.st_gid))
		return problem_set(p, -errno, "%s: can't be marked: it belongs to another user", f->file);
	return fchmod(to, f->st.st_mode & 07777) || fsync(to) ? failed(f, -errno, p) : 0;
}

/*
 * Whether the name still leads to the file that was read. Somebody may have replaced it, perhaps to add
 * a mark of their own.
 */
static bool is_there(const struct finished *f)
{
	struct stat now;

	return !fstatat(f->folder, f->name, &now, AT_SYMLINK_NOFOLLOW) && now.st_ino == f->st.st_ino && now.st_dev == f->st.st_dev;
}

/*
 * Opens the new file. If the file system supports files without a name, it gets none until it is
 * complete, so hardly anything is left behind if we are killed. Otherwise it is called @name.
 */
static int open_new(const struct finished *f, const char *name, bool *ret_named)
{
	int fd = openat(f->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	*ret_named = fd < 0;
	return fd < 0 ? openat(f->folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600) : fd;
}

/* As open(2) describes it: linking by the descriptor alone would need a capability. */
static int give_name(const struct finished *f, int fd, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(fd, "", f->folder, name, AT_EMPTY_PATH) ? linkat(AT_FDCWD, path, f->folder, name, AT_SYMLINK_FOLLOW) : 0;
}

static int replace(const struct finished *f, struct problem *p)
{
	int to CLEANUP(cleanup_close) = -1, err;
	char name[64];
	bool named;

	/*
	 * The name is of the file that we have locked, so it is ours alone, and what one that was killed has
	 * left under it is removed by the next.
	 */
	snprintf(name, sizeof(name), ".blklat-mark-%llu", (unsigned long long)f->st.st_ino);
	if (unlinkat(f->folder, name, 0) && errno != ENOENT)
		return problem_set(p, -errno, "%s: can't be marked: %s beside it can't be removed: %s", f->file, name, strerror(errno));
	to = open_new(f, name, &named);
	if (to < 0)
		return failed(f, -errno, p);
	err = fill(f, to, p);
	if (!err && !is_there(f))
		err = problem_set(p, -EAGAIN, "%s: was replaced meanwhile, try again", f->file);
	if (!err && !named) {
		err = give_name(f, to, name) ? failed(f, -errno, p) : 0;
		named = !err;
	}
	if (!err && renameat(f->folder, name, f->folder, f->name))
		err = failed(f, -errno, p);
	if (err && named)
		unlinkat(f->folder, name, 0);
	if (!err)
		fsync(f->folder);
	return err;
}

int recording_mark_at(const char *file, const struct moment *at, const char *text, struct problem *p)
{
	struct finished f CLEANUP(finished_uninit) = { .file = file, .folder = -1, .fd = -1 };

	return open_file(&f, p) ?: check_beside(&f, p) ?: examine(&f, at, p) ?:
	       private_copy_named(f.fd, file, &f.copy, p) ?: add(&f, text, p) ?: replace(&f, p);
}
