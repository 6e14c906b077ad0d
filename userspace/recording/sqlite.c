// SPDX-License-Identifier: GPL-2.0-only
#include "recording/sqlite.h"

#include <errno.h>

#include "util/cleanup.h"

int sqlite_errno(sqlite3 *db, int rc)
{
	int system = db ? sqlite3_system_errno(db) : 0;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return system ? -system : -EIO;
	default:
		return -EBADMSG;
	}
}

int sqlite_step_done(sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	sqlite3_reset(s);
	return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int bind(sqlite3_stmt *s, int at, const struct sqlite_value *v)
{
	switch (v->type) {
	case VALUE_NUMBER:
		return sqlite3_bind_int64(s, at, v->number);
	case VALUE_REAL:
		return sqlite3_bind_double(s, at, v->real);
	case VALUE_TEXT:
		return sqlite3_bind_text(s, at, v->text, -1, SQLITE_STATIC);
	case VALUE_BLOB:
		return sqlite3_bind_blob(s, at, v->text, v->number, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(s, at);
	}
}

int sqlite_put_row(sqlite3_stmt *s, const struct sqlite_value *values)
{
	int n = sqlite3_bind_parameter_count(s), rc = SQLITE_OK;

	/* Parameters are numbered from 1, columns from 0. */
	for (int i = 0; !rc && i < n; i++)
		rc = bind(s, i + 1, &values[i]);
	return rc ?: sqlite_step_done(s);
}

int sqlite_run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

s64 sqlite_number(sqlite3 *db, const char *sql, int *ret_rc)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;

	*ret_rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	if (!*ret_rc)
		*ret_rc = sqlite3_step(s);
	if (*ret_rc != SQLITE_ROW)
		return -1;
	*ret_rc = SQLITE_OK;
	return sqlite3_column_int64(s, 0);
}
