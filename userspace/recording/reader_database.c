// SPDX-License-Identifier: GPL-2.0-only
/* Opens a recording's file, in whatever state it was left and whoever made it. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/cleanup.h"
#include "util/utf8.h"

#define VALUE_MAX_BYTES (4 << 20)	/* limit of a value; the longest is a command line */

int reader_damaged(const struct recording_reader *r, struct problem *p, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return problem_set(p, -EBADMSG, "%s: is damaged: %s", r->file, what);
}

int reader_failed(const struct recording_reader *r, int rc, struct problem *p)
{
	int err = sqlite_errno(r->db, rc);

	if (err == -EBADMSG)
		return reader_damaged(r, p, "%s", sqlite3_errmsg(r->db));
	return problem_set(p, err, "%s: can't be read: %s", r->file, strerror(-err));
}

bool column_u64(sqlite3_stmt *s, int i, u64 max, u64 *ret)
{
	s64 n = sqlite3_column_int64(s, i);

	if (sqlite3_column_type(s, i) != SQLITE_INTEGER || n < 0 || (u64)n > max)
		return false;
	*ret = n;
	return true;
}

bool column_bool(sqlite3_stmt *s, int i, bool *ret)
{
	u64 n;

	if (!column_u64(s, i, 1, &n))
		return false;
	*ret = n;
	return true;
}

bool column_wall_ns(sqlite3_stmt *s, int i, s64 *ret)
{
	s64 n = sqlite3_column_int64(s, i), most = RECORDING_TOTAL_MAX;

	if (sqlite3_column_type(s, i) != SQLITE_INTEGER || n < -most || n > most)
		return false;
	*ret = n;
	return true;
}

bool column_text(sqlite3_stmt *s, int i, char *ret, size_t room)
{
	const char *text = sqlite3_column_type(s, i) == SQLITE_TEXT ? (const char *)sqlite3_column_text(s, i) : NULL;

	if (!text || strlen(text) >= room)
		return false;
	strcpy(ret, text);
	text_clean(ret);
	return true;
}

/* All queries run in one transaction and see the same state: nobody writes to what the sqlite_reader reads. */
static int open_database(struct recording_reader *r, const struct capture_config *cfg, struct problem *p)
{
	int err = cfg->replay_bytes
			  ? sqlite_reader_open_bytes(&r->sqlite, r->file, cfg->replay_bytes, cfg->replay_len, p)
			  : sqlite_reader_open(&r->sqlite, r->file, p),
	    rc;

	if (err)
		return err;
	r->db = r->sqlite.db;
	sqlite3_limit(r->db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	rc = sqlite_run(r->db, "BEGIN");
	if (!rc)
		sqlite_number(r->db, "SELECT count(*) FROM sqlite_schema", &rc);
	return rc ? reader_failed(r, rc, p) : 0;
}

/* SQLite does not notice missing pages that it does not need, but a truncated copy has to be detected. */
static int check_size(const struct recording_reader *r, struct problem *p)
{
	int rc, rc2;
	s64 bytes = sqlite_number(r->db, "PRAGMA page_count", &rc) * sqlite_number(r->db, "PRAGMA page_size", &rc2);
	u64 there = sqlite_reader_bytes(&r->sqlite);

	if (rc || rc2)
		return reader_failed(r, rc ?: rc2, p);
	if (there && there < (u64)bytes)
		return reader_damaged(r, p, "only %llu of its %lld bytes are there", there, bytes);
	return 0;
}

/* A table has to be the same to the letter, and only those that are always there may not be missing. */
static int check_table(struct recording_reader *r, const struct recording_table *t, struct problem *p)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	const char *sql;
	int rc = sqlite3_prepare_v2(r->db, "SELECT sql FROM sqlite_schema WHERE name = ? AND type = 'table'", -1,
				    &s, NULL);

	if (rc)
		return reader_failed(r, rc, p);
	sqlite3_bind_text(s, 1, t->name, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return reader_failed(r, rc, p);
	if (rc == SQLITE_DONE && t->part != RECORDING_ALWAYS)
		return 0;
	sql = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (!sql || strcmp(sql, t->sql))
		return reader_damaged(r, p, "table %s is missing or altered", t->name);
	r->parts |= t->part;
	return 0;
}

static int check_schema(struct recording_reader *r, struct problem *p)
{
	int rc, err = 0;
	s64 id = sqlite_number(r->db, "PRAGMA application_id", &rc), version;

	if (rc)
		return reader_failed(r, rc, p);
	if (!id && !sqlite_number(r->db, "SELECT count(*) FROM sqlite_schema", &rc))
		return problem_set(p, -ENODATA, "%s: is an SQLite database with nothing in it", r->file);
	if (id != RECORDING_APPLICATION_ID)
		return problem_set(p, -EBADMSG, "%s: is an SQLite database, but not a recording", r->file);
	version = sqlite_number(r->db, "PRAGMA user_version", &rc);
	if (rc)
		return reader_failed(r, rc, p);
	if (version < 1)
		return reader_damaged(r, p, "version %lld does not exist", version);
	if (version != RECORDING_VERSION)
		return problem_set(p, -EBADMSG, "%s: is a recording of version %lld, and this blklat reads version %d: %s", r->file,
				   version, RECORDING_VERSION, version < RECORDING_VERSION ? "record again" : "use the one that recorded it");
	for (const struct recording_table *t = recording_tables; !err && t->sql; t++)
		err = t->name ? check_table(r, t, p) : 0;
	return err;
}

int reader_open_database(struct recording_reader *r, const struct capture_config *cfg, struct problem *p)
{
	return open_database(r, cfg, p) ?: check_schema(r, p) ?: check_size(r, p);
}
