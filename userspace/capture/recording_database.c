// SPDX-License-Identifier: GPL-2.0-only
/* Opens the file of a recording, whatever state it was left in. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/recording.h"
#include "model/recording_schema.h"
#include "util/cleanup.h"
#include "util/sqlite.h"
#include "util/sysfs.h"

#define BUSY_MS 5000
#define VALUE_MAX_BYTES (4 << 20)	/* of one value; a command line is the longest */
#define WAL_VERSION_BYTE 18		/* of the file's head: 2 while it has a WAL */

int recording_damaged(const struct recording *r, struct problem *p, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return problem_set(p, -EBADMSG, "%s: is damaged: %s", r->file, what);
}

int recording_failed(const struct recording *r, int rc, struct problem *p)
{
	int err = sqlite_errno(r->db, rc);

	if (err == -EBADMSG)
		return recording_damaged(r, p, "%s", sqlite3_errmsg(r->db));
	return problem_set(p, err, "%s: can't be read: %s", r->file, strerror(-err));
}

bool recording_column(sqlite3_stmt *s, int i, u64 max, u64 *ret)
{
	s64 n = sqlite3_column_int64(s, i);

	if (sqlite3_column_type(s, i) != SQLITE_INTEGER || n < 0 || (u64)n > max)
		return false;
	*ret = n;
	return true;
}

bool recording_wall(sqlite3_stmt *s, int i, s64 *ret)
{
	s64 n = sqlite3_column_int64(s, i), most = RECORDING_TOTAL_MAX;

	if (sqlite3_column_type(s, i) != SQLITE_INTEGER || n < -most || n > most)
		return false;
	*ret = n;
	return true;
}

bool recording_text(sqlite3_stmt *s, int i, char *ret, size_t room)
{
	const char *text = sqlite3_column_type(s, i) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, i) : NULL;

	if (!text || strlen(text) >= room)
		return false;
	strcpy(ret, text);
	text_clean(ret);
	return true;
}

static bool has_wal(const char *file)
{
	char *wal CLEANUP(cleanup_free) = NULL;
	struct stat st;

	return asprintf(&wal, "%s-wal", file) < 0 || !stat(wal, &st) || errno != ENOENT;
}

/*
 * A file that was copied without its WAL may be whole by itself; but SQLite would make a WAL beside it, or fail
 * where it can't. Such a file is opened as one that nobody writes.
 */
static bool stands_alone(const char *file)
{
	int fd CLEANUP(cleanup_close) = open(file, O_RDONLY | O_CLOEXEC);
	u8 version;

	return fd >= 0 && pread(fd, &version, 1, WAL_VERSION_BYTE) == 1 && version == 2 && !has_wal(file);
}

static void limit(sqlite3 *db)
{
	sqlite3_busy_timeout(db, BUSY_MS);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite_run(db, "PRAGMA cell_size_check = ON; PRAGMA query_only = ON");
}

/* What cut it off may have left something to undo or a WAL without its index: both take writing. */
static int open_and_begin(struct recording *r, const char *name, int flags)
{
	int rc = sqlite3_open_v2(name, &r->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);

	if (rc)
		return rc;
	limit(r->db);
	rc = sqlite_run(r->db, "BEGIN");
	if (!rc)
		sqlite_number(r->db, "SELECT count(*) FROM sqlite_schema", &rc);
	return rc;
}

static int open_database(struct recording *r)
{
	bool alone = stands_alone(r->file);
	char *name CLEANUP(cleanup_free) = alone ? sqlite_uri(r->file, "immutable=1") : sqlite_path(r->file);
	int rc;

	if (!name)
		return SQLITE_NOMEM;
	rc = open_and_begin(r, name, SQLITE_OPEN_READONLY);
	if ((rc & 0xff) != SQLITE_READONLY && (rc & 0xff) != SQLITE_CANTOPEN)
		return rc;
	sqlite3_close(r->db);
	r->db = NULL;
	return open_and_begin(r, name, SQLITE_OPEN_READWRITE);
}

/* SQLite does not miss what it has no need for; but a copy that was cut off is to be known as one. */
static int check_size(const struct recording *r, struct problem *p)
{
	int rc, rc2;
	s64 bytes = sqlite_number(r->db, "PRAGMA page_count", &rc) * sqlite_number(r->db, "PRAGMA page_size", &rc2);
	struct stat st;

	if (rc || rc2)
		return recording_failed(r, rc ?: rc2, p);
	if (!has_wal(r->file) && !stat(r->file, &st) && st.st_size < bytes)
		return recording_damaged(r, p, "it has %llu of its %lld bytes", (u64)st.st_size, bytes);
	return 0;
}

static int check_table(const struct recording *r, const struct recording_table *t, struct problem *p)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	const char *sql;
	int rc = sqlite3_prepare_v2(r->db, "SELECT sql FROM sqlite_schema WHERE name = ? AND type = 'table'", -1,
				    &s, NULL);

	if (rc)
		return recording_failed(r, rc, p);
	sqlite3_bind_text(s, 1, t->name, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return recording_failed(r, rc, p);
	sql = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (!sql || strcmp(sql, t->sql))
		return recording_damaged(r, p, "table %s is missing or another", t->name);
	return 0;
}

static int check_schema(const struct recording *r, struct problem *p)
{
	int rc, err = 0;
	s64 id = sqlite_number(r->db, "PRAGMA application_id", &rc), version;

	if (rc)
		return recording_failed(r, rc, p);
	if (id != RECORDING_APPLICATION_ID)
		return problem_set(p, -EBADMSG, "%s: is an SQLite database, but no recording", r->file);
	version = sqlite_number(r->db, "PRAGMA user_version", &rc);
	if (rc)
		return recording_failed(r, rc, p);
	if (version > RECORDING_VERSION)
		return problem_set(p, -EBADMSG, "%s: is a recording of version %lld, made by a newer blklat; this one "
				   "reads version %d", r->file, version, RECORDING_VERSION);
	if (version < RECORDING_VERSION)
		return recording_damaged(r, p, "version %lld never was", version);
	for (u32 i = 0; !err && recording_tables[i].name; i++)
		err = check_table(r, &recording_tables[i], p);
	return err;
}

int recording_database_open(struct recording *r, struct problem *p)
{
	int rc = open_database(r);

	if ((rc & 0xff) == SQLITE_CANTOPEN)
		return problem_set(p, sqlite_errno(r->db, rc), "%s: was cut off, and what is left in %s-wal can't be "
				   "read where nothing can be written: copy both to where it can", r->file, r->file);
	return rc ? recording_failed(r, rc, p) : check_schema(r, p) ?: check_size(r, p);
}
