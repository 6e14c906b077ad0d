// SPDX-License-Identifier: GPL-2.0-only
#include "sink/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "model/recording_schema.h"
#include "util/cleanup.h"
#include "util/ending.h"
#include "util/sqlite.h"

#define BUSY_MS 10000	/* that another program may hold the file for: a mark, somebody's sqlite3 */
#define END_BUSY_MS 1000
#define HURRY_MS 500
#define BUSY_STEP_MS 10

/*
 * The WAL is moved into the file after some dozen intervals: an interval writes the pages that it shares with the one
 * before again, so that SQLite's own 1000 pages take many times what they hold, and fill a small disk with it.
 */
#define WAL_PAGES 64
#define WAL_PAGES_A_WATCH 16
#define WAL_PAGES_MOST 1000

/* What SQLite keeps beside the file. */
static const char *const besides[] = { "-wal", "-shm", "-journal" };

static int remove_files(const char *name)
{
	if (unlink(name))
		return -errno;
	for (u32 i = 0; i < ARRAY_SIZE(besides); i++) {
		char *path CLEANUP(cleanup_free) = NULL;

		if (asprintf(&path, "%s%s", name, besides[i]) >= 0)
			unlink(path);
	}
	return 0;
}

/* A file without a table is what may be left of one that was killed as it began. */
static bool is_recording(const char *name)
{
	char *path CLEANUP(cleanup_free) = sqlite_path(name);
	sqlite3 *db = NULL;
	bool is = false;
	int rc;

	if (path && !sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL))
		is = sqlite_number(db, "PRAGMA application_id", &rc) == RECORDING_APPLICATION_ID ||
		     sqlite_number(db, "SELECT count(*) FROM sqlite_master", &rc) == 0;
	sqlite3_close(db);
	return is;
}

/* Deletes what stands there, if it is a recording that nobody records to: a slip of the keys costs no other file. */
static int remove_old(const char *name, struct problem *p)
{
	int fd CLEANUP(cleanup_close) = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : problem_set(p, -errno, "%s: can't be replaced: %s", name,
							 strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return problem_set(p, -EINVAL, "%s: is no regular file, a recording has to be one", name);
	if (flock(fd, LOCK_EX | LOCK_NB))
		return problem_set(p, -EBUSY, "%s: is being recorded, choose another name", name);
	if (!is_recording(name))
		return problem_set(p, -EEXIST, "%s: is no recording, only one is replaced: choose another name or "
				   "delete it", name);
	err = remove_files(name);
	return err ? problem_set(p, err, "%s: can't be replaced: %s", name, strerror(-err)) : 0;
}

static int make_file(const char *name, struct problem *p)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 && errno == EEXIST)
		return problem_set(p, -EEXIST, "%s: is there already, choose another name or say --overwrite",
				   name);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be made: %s", name, strerror(errno));
	/* Only 'blklat mark' may have it, for a moment. */
	if (flock(fd, LOCK_EX)) {
		int err = -errno;

		close(fd);
		unlink(name);
		return problem_set(p, err, "%s: can't be locked: %s", name, strerror(-err));
	}
	return fd;
}

int recording_file_failed(const struct recording_file *f, int rc, struct problem *p)
{
	int err = sqlite_errno(f->db, rc);

	if (err == -EBUSY)
		return problem_set(p, err, "%s: another program keeps it locked: let none but 'blklat mark' write to a "
				   "recording", f->name);
	if (err == -EBADMSG)
		return problem_set(p, err, "%s: can't be written: %s", f->name, sqlite3_errmsg(f->db));
	return problem_set(p, err, "%s: can't be written: %s", f->name, strerror(-err));
}

/* SQLite's own would let nobody end the command meanwhile. */
static int wait_for_others(void *file, int steps)
{
	struct recording_file *f = file;
	bool hurry = ending_asked();

	if (hurry ? !f->hurry_ms : (u32)steps >= f->busy_ms / BUSY_STEP_MS)
		return 0;
	if (hurry)
		f->hurry_ms -= BUSY_STEP_MS;
	usleep(BUSY_STEP_MS * 1000);
	return 1;
}

static int open_database(struct recording_file *f)
{
	char *path CLEANUP(cleanup_free) = sqlite_path(f->name);
	int rc;

	if (!path)
		return SQLITE_NOMEM;
	rc = sqlite3_open_v2(path, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc)
		return rc;
	sqlite3_busy_handler(f->db, wait_for_others, f);
	/* Pages given back by a ring are used again: no need to wipe them. */
	return sqlite_run(f->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF");
}

int recording_file_make(struct recording_file *f, const char *name, bool overwrite, struct problem *p)
{
	int err = overwrite ? remove_old(name, p) : 0, rc;

	*f = (struct recording_file){ .lock = -1, .busy_ms = BUSY_MS, .hurry_ms = HURRY_MS };
	if (err)
		return err;
	f->name = strdup(name);
	if (!f->name)
		return problem_set(p, -ENOMEM, "%s: no memory", name);
	f->lock = make_file(name, p);
	if (f->lock < 0)
		return f->lock;
	rc = open_database(f);
	return rc ? recording_file_failed(f, rc, p) : 0;
}

static int make_tables(sqlite3 *db)
{
	char *head CLEANUP(cleanup_free) = NULL;
	int rc;

	if (asprintf(&head, "PRAGMA application_id = %d; PRAGMA user_version = %d", RECORDING_APPLICATION_ID,
		     RECORDING_VERSION) < 0)
		return SQLITE_NOMEM;
	rc = sqlite_run(db, head);
	for (u32 i = 0; !rc && recording_tables[i].name; i++)
		rc = sqlite_run(db, recording_tables[i].sql);
	for (u32 i = 0; !rc && recording_views[i]; i++)
		rc = sqlite_run(db, recording_views[i]);
	return rc;
}

static int limit_wal(sqlite3 *db, u32 n_watches)
{
	u64 pages = WAL_PAGES + (u64)n_watches * WAL_PAGES_A_WATCH;

	return sqlite3_wal_autocheckpoint(db, pages < WAL_PAGES_MOST ? pages : WAL_PAGES_MOST);
}

int recording_file_begin(struct recording_file *f, const struct run_info *run, struct problem *p)
{
	int rc = limit_wal(f->db, run->n_watches);

	if (!rc)
		rc = sqlite_run(f->db, "BEGIN IMMEDIATE");
	if (!rc)
		rc = make_tables(f->db);
	if (!rc)
		rc = recording_facts_write(f->db, run);
	if (!rc)
		rc = sqlite_run(f->db, "COMMIT");
	return rc ? recording_file_failed(f, rc, p) : 0;
}

int recording_file_check(const struct recording_file *f, struct problem *p)
{
	struct stat st;

	/* Writing would go on, to a file that nobody can open. */
	if (!fstat(f->lock, &st) && !st.st_nlink)
		return problem_set(p, -ENOENT, "%s: was deleted while it was being recorded", f->name);
	return 0;
}

void recording_file_close(struct recording_file *f, bool finished)
{
	if (f->db && finished) {
		sqlite_run(f->db, "UPDATE meta SET value = 1 WHERE key = 'finished'");
		/* Somebody who reads it now keeps it from becoming one file; it can be read all the same. */
		f->busy_ms = END_BUSY_MS;
		sqlite_run(f->db, "PRAGMA journal_mode = DELETE");
	}
	sqlite3_close(f->db);
	/* Last, since closing any descriptor of a file drops the locks that SQLite has on it. */
	cleanup_close(&f->lock);
	free(f->name);
	*f = (struct recording_file){ .lock = -1 };
}

void recording_file_remove(struct recording_file *f)
{
	bool made = f->lock >= 0;
	char *name CLEANUP(cleanup_free) = TAKE(f->name);

	recording_file_close(f, false);
	if (made)
		remove_files(name);
}
