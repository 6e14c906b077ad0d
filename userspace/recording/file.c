// SPDX-License-Identifier: GPL-2.0-only
#include "recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "recording/marks.h"
#include "recording/recorder.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "recording/sqlite_reader.h"
#include "util/cleanup.h"

/*
 * The WAL is moved into the file every few dozen intervals. Consecutive intervals share pages, and each writes them to
 * the WAL again, so SQLite's default of 1000 pages would take many times the space of the data and fill a small disk.
 */
#define WAL_PAGES 64
#define WAL_PAGES_A_WATCH 16
#define WAL_PAGES_MOST 1000

const struct recording_file recording_file_none = { .lock = -1 };

/* The files that we or SQLite keep next to the recording, now or in older versions. */
static const char *const side_files[] = { "-wal", "-shm", "-journal", RECORDING_MARK_END };

int recording_delete(const char *name)
{
	if (unlink(name))
		return -errno;
	for (u32 i = 0; i < ARRAY_SIZE(side_files); i++) {
		char *path CLEANUP(cleanup_free) = joined(name, side_files[i]);

		if (path)
			unlink(path);
	}
	return 0;
}

/*
 * Makes sure that no files exist yet under the names of side files: SQLite would open whatever somebody
 * put there and keep the recording in it. Only files of the owner of @replaced are accepted; NULL: no files at all.
 */
static int check_side_files(const char *name, const struct stat *replaced, struct problem *p)
{
	for (u32 i = 0; i < ARRAY_SIZE(side_files); i++) {
		char *path CLEANUP(cleanup_free) = joined(name, side_files[i]);
		struct stat st;

		if (!path)
			return problem_set(p, -ENOMEM, "%s: out of memory", name);
		if (lstat(path, &st) ||
		    (replaced && st.st_uid == replaced->st_uid && (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))))
			continue;
		return problem_set(p, -EEXIST, "%s: already exists, and %s needs that name for a file of its own: delete it "
				   "or choose another name", path, name);
	}
	return 0;
}

/* An empty database counts as a recording: a recorder that was killed right at its start leaves one behind. */
static bool is_recording(const char *name)
{
	CLEANUP(sqlite_reader_close) struct sqlite_reader r;
	struct problem p;
	int rc;

	return !sqlite_reader_open(&r, name, &p) &&
	       (sqlite_number(r.db, "PRAGMA application_id", &rc) == RECORDING_APPLICATION_ID ||
		sqlite_number(r.db, "SELECT count(*) FROM sqlite_master", &rc) == 0);
}

/*
 * Deletes the existing file if it is a recording that nobody is writing. Any other file is safe from a mistyped name.
 */
static int remove_old(const char *name, struct problem *p)
{
	int fd CLEANUP(cleanup_close) = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : problem_set(p, -errno, "%s: can't be replaced: %s", name, strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return problem_set(p, -EINVAL, "%s: is not a regular file, as a recording has to be", name);
	if (flock(fd, LOCK_EX | LOCK_NB))
		return problem_set(p, -EBUSY, "%s: is being recorded: choose another name", name);
	/*
	 * The lock is no longer needed, as recording never resumes; and is_recording() would take us for its recorder.
	 */
	flock(fd, LOCK_UN);
	err = check_side_files(name, &st, p);
	if (err)
		return err;
	if (st.st_size && !is_recording(name))
		return problem_set(p, -EEXIST, "%s: is not a recording, and nothing else is overwritten: choose another name or "
				   "delete it", name);
	err = recording_delete(name);
	return err ? problem_set(p, err, "%s: can't be replaced: %s", name, strerror(-err)) : 0;
}

/*
 * SQLite needs POSIX locks, flock() is ours. Some network and FUSE file systems lack one or both. SQLite can't tell
 * ENOLCK from a lock that another program holds (sqliteErrorFromPosixError()), so we try its locks before SQLite does.
 */
static int lock_file(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (flock(fd, LOCK_EX | LOCK_NB) || fcntl(fd, F_SETLK, &all))
		return -errno;
	all.l_type = F_UNLCK;
	return fcntl(fd, F_SETLK, &all) ? -errno : 0;
}

static bool has_no_locks(int err)
{
	return err == -ENOLCK || err == -EINVAL || err == -ENOSYS || err == -EOPNOTSUPP;
}

/* Only we may open the file until it is locked: whoever can open it could lock it first. */
static int make_file(const char *name, struct problem *p)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err;

	if (fd < 0 && errno == EEXIST)
		return problem_set(p, -EEXIST, "%s: already exists: choose another name or add --overwrite", name);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be created: %s", name, strerror(errno));
	err = lock_file(fd);
	if (!err)
		return fd;
	close(fd);
	unlink(name);
	if (has_no_locks(err))
		return problem_set(p, err, "%s: can't be locked: its file system has no locks (%s): record to another one", name,
				   strerror(-err));
	return problem_set(p, err, "%s: can't be locked: %s", name, strerror(-err));
}

int recording_file_failed(const struct recording_file *f, int rc, struct problem *p)
{
	int err = sqlite_errno(f->db, rc);

	/* By now the file is ours, so if SQLite can't open it, or a side file, the name is not to blame. */
	if (err == -ENOENT || err == -EROFS)
		err = -EIO;
	if (err == -EBUSY)
		return problem_set(p, err, "%s: can't be written: another program has it locked", f->name);
	if (err == -EBADMSG)
		return problem_set(p, -EIO, "%s: can't be written: %s", f->name, sqlite3_errmsg(f->db));
	return problem_set(p, err, "%s: can't be written: %s", f->name, strerror(-err));
}

/*
 * In exclusive mode SQLite keeps the log's index in memory. So no index exists that others could map, truncate or lock
 * to hold up the recorder. Entering and leaving this mode changes page 1. The journal for that change, of one sector,
 * is kept in memory, so a recorder never leaves a journal on the disk that would have to be played back.
 */
static int be_alone(sqlite3 *db)
{
	return sqlite_run(db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA journal_mode = WAL; "
			  /* The ring reuses the pages that it frees, so there is no need to wipe them. */
			  "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; BEGIN EXCLUSIVE; COMMIT");
}

static int open_database(struct recording_file *f)
{
	/* So that a file that is called ":memory:" or "file:a" is taken for one. */
	char *path CLEANUP(cleanup_free) = joined(*f->name == '/' ? "" : "./", f->name);
	int rc;

	if (!path)
		return SQLITE_NOMEM;
	rc = sqlite3_open_v2(path, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return rc;
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(f->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	return be_alone(f->db);
}

/* We make the log ourselves, since SQLite would use one that somebody has put there in the meantime. */
static int make_log(const char *name, struct problem *p)
{
	char *path CLEANUP(cleanup_free) = joined(name, "-wal");
	int fd;

	if (!path)
		return problem_set(p, -ENOMEM, "%s: out of memory", name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? problem_set(p, -errno, "%s: can't be created: %s", path, strerror(errno)) : fd;
}

/* Now that the file is locked, others may read it like any file that the user makes. */
static int open_to_readers(const struct recording_file *f, int log)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(f->lock, 0644 & ~mask) || fchmod(log, 0644 & ~mask) ? -errno : 0;
}

int recording_file_make(struct recording_file *f, const char *name, bool overwrite, struct problem *p)
{
	int log CLEANUP(cleanup_close) = -1;
	int err = overwrite ? remove_old(name, p) : 0, rc;

	*f = recording_file_none;
	if (err)
		return err;
	f->name = strdup(name);
	if (!f->name)
		return problem_set(p, -ENOMEM, "%s: out of memory", name);
	err = access(name, F_OK) ? check_side_files(name, NULL, p) : 0;
	if (err)
		return err;
	f->lock = make_file(name, p);
	if (f->lock < 0)
		return f->lock;
	log = make_log(name, p);
	if (log < 0)
		return log;
	rc = open_database(f);
	if (rc)
		return recording_file_failed(f, rc, p);
	err = open_to_readers(f, log);
	return err ? problem_set(p, err, "%s: can't be created: %s", name, strerror(-err)) : 0;
}

int recording_file_make_in_memory(struct recording_file *f, const char *name, struct problem *p)
{
	int rc;

	*f = recording_file_none;
	f->name = strdup(name);
	if (!f->name)
		return problem_set(p, -ENOMEM, "%s: out of memory", name);
	rc = sqlite3_open_v2(":memory:", &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	return rc ? recording_file_failed(f, rc, p) : 0;
}

static int set_finished(struct recording_file *f)
{
	return sqlite_run(f->db, "UPDATE meta SET value = 1 WHERE key = 'finished'");
}

int recording_file_bytes(struct recording_file *f, char **ret, size_t *ret_len, struct problem *p)
{
	sqlite3_int64 len;
	int rc = set_finished(f);
	unsigned char *bytes = rc ? NULL : sqlite3_serialize(f->db, "main", &len, 0);

	*ret = bytes ? malloc(len) : NULL;
	if (*ret)
		memcpy(*ret, bytes, len);
	sqlite3_free(bytes);
	if (!*ret)
		return recording_file_failed(f, rc ?: SQLITE_NOMEM, p);
	*ret_len = len;
	return 0;
}

static int make_tables(sqlite3 *db, const struct run_info *run)
{
	u32 parts = RECORDING_ALWAYS | RECORDING_IDENTITY | RECORDING_BUSY | (run->glanced ? RECORDING_HALTS : 0) |
		    (run->slow_most ? RECORDING_SLOW | RECORDING_FILES : 0);
	char *head CLEANUP(cleanup_free) = NULL;
	int rc;

	if (asprintf(&head, "PRAGMA application_id = %d; PRAGMA user_version = %d", RECORDING_APPLICATION_ID,
		     RECORDING_VERSION) < 0)
		return SQLITE_NOMEM;
	rc = sqlite_run(db, head);
	for (const struct recording_table *t = recording_tables; !rc && t->sql; t++)
		if (t->part & parts)
			rc = sqlite_run(db, t->sql);
	return rc;
}

int recording_file_begin(struct recording_file *f, const struct run_info *run, struct recorded_ids *ids,
			 struct problem *p)
{
	u64 pages = WAL_PAGES + (u64)run->n_watches * WAL_PAGES_A_WATCH;
	int rc = sqlite3_wal_autocheckpoint(f->db, pages < WAL_PAGES_MOST ? pages : WAL_PAGES_MOST) ?:
		 sqlite_run(f->db, "BEGIN IMMEDIATE") ?: make_tables(f->db, run) ?:
		 recorder_write_facts(f->db, run, ids) ?: sqlite_run(f->db, "COMMIT");

	return rc ? recording_file_failed(f, rc, p) : 0;
}

int recording_file_check(const struct recording_file *f, struct problem *p)
{
	struct stat st;

	/* Without this check we would go on writing to a deleted file. */
	if (!fstat(f->lock, &st) && !st.st_nlink)
		return problem_set(p, -ENOENT, "%s: was deleted while it was being recorded", f->name);
	return 0;
}

int recording_file_finish(struct recording_file *f, struct problem *p)
{
	int rc = set_finished(f) ?: sqlite_run(f->db, "PRAGMA journal_mode = MEMORY");
	int err = rc ? recording_file_failed(f, rc, p) : 0;

	return err ? problem_set(p, err, "%s: can't be made one file: %s; keep %s-wal beside it", f->name, strerror(-err), f->name) : 0;
}

void recording_file_close(struct recording_file *f)
{
	sqlite3_close(f->db);
	/* Last, since closing any descriptor of a file drops the locks that SQLite has on it. */
	cleanup_close(&f->lock);
	free(f->name);
	*f = recording_file_none;
}

void recording_file_remove(struct recording_file *f)
{
	bool made = f->lock >= 0;
	char *name CLEANUP(cleanup_free) = TAKE(f->name);

	recording_file_close(f);
	if (made)
		recording_delete(name);
}
