// SPDX-License-Identifier: GPL-2.0-only
#include "sink/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#include "model/recording_schema.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/sqlite.h"
#include "util/sysfs.h"

#define BUSY_MS 10000	/* the recorder has it for a moment each interval */

/* When it happened. Whatever the file makes us wait for comes later. */
struct moment {
	u64 mono_ns;
	u64 wall_ns;
};

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

static int check_schema(sqlite3 *db, const char *file, struct problem *p)
{
	int rc;		/* what can't be told is -1, and no such number */

	if (sqlite_number(db, "PRAGMA application_id", &rc) != RECORDING_APPLICATION_ID ||
	    sqlite_number(db, "PRAGMA user_version", &rc) != RECORDING_VERSION)
		return problem_set(p, -EBADMSG, "%s: is no recording of this version", file);
	if (sqlite_number(db, "SELECT count(*) FROM mark", &rc) >= RECORDING_MARKS_MAX)
		return problem_set(p, -ENOSPC, "%s: has %d marks, there can't be more", file, RECORDING_MARKS_MAX);
	return 0;
}

static int insert(sqlite3 *db, const struct moment *at, const char *text)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	int rc = sqlite_run(db, "PRAGMA synchronous = FULL");

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO mark VALUES(?, ?, ?)", -1, &s, NULL);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, at->mono_ns);
	sqlite3_bind_int64(s, 2, at->wall_ns);
	sqlite3_bind_text(s, 3, text, -1, SQLITE_STATIC);
	return sqlite_step_done(s);
}

static int mark(const char *file, const struct moment *at, const char *text, struct problem *p)
{
	char *path CLEANUP(cleanup_free) = sqlite_path(file);
	sqlite3 *db = NULL;
	int rc, err;

	if (!path)
		return problem_set(p, -ENOMEM, "%s: no memory", file);
	rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (!rc)
		rc = sqlite3_busy_timeout(db, BUSY_MS);
	err = rc ? 0 : check_schema(db, file, p);
	if (!rc && !err)
		rc = insert(db, at, text);
	if (rc) {
		err = sqlite_errno(db, rc);
		problem_set(p, err, "%s: the mark could not be written: %s", file, sqlite3_errmsg(db));
	}
	sqlite3_close(db);
	return err;
}

int recording_mark(const char *file, const char *text, struct problem *p)
{
	const struct moment now = { clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME) };
	char clean[RECORDING_MARK_BYTES + 1];
	/* Closed last: closing any descriptor of a file drops the locks that SQLite has on it. */
	int fd CLEANUP(cleanup_close) = -1;
	int err = take_text(text, clean, p);

	if (err)
		return err;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be opened: %s", file, strerror(errno));
	return check_recorded(fd, file, p) ?: mark(file, &now, clean, p);
}
