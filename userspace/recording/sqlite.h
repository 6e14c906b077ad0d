/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for all users of SQLite here. */
#ifndef RECORDING_SQLITE_H
#define RECORDING_SQLITE_H

#include <sqlite3.h>

#include "util/types.h"

/* The negative errno for the failure @rc. -EBADMSG: the file is damaged or not a database. */
int sqlite_errno(sqlite3 *db, int rc);

/* Runs statements whose results don't matter. Returns SQLITE_OK or the error. */
int sqlite_run(sqlite3 *db, const char *sql);

/*
 * The number in the first column of a query's first row, and SQLITE_OK in @ret_rc. Otherwise -1, and in
 * @ret_rc the error, or SQLITE_DONE if there is no row.
 */
s64 sqlite_number(sqlite3 *db, const char *sql, int *ret_rc);

/* What goes into a column; texts and blobs are borrowed. All 0: NULL. */
struct sqlite_value {
	enum { VALUE_NONE, VALUE_NUMBER, VALUE_REAL, VALUE_TEXT, VALUE_BLOB } type;
	s64 number;		/* of a blob: its bytes */
	double real;
	const void *text;
};

#define NONE (struct sqlite_value){ 0 }
#define NUMBER(n) (struct sqlite_value){ .type = VALUE_NUMBER, .number = (n) }
#define KNOWN(known, n) ((known) ? NUMBER(n) : NONE)
#define REAL(n) (struct sqlite_value){ .type = VALUE_REAL, .real = (n) }
#define TEXT(t) (struct sqlite_value){ .type = VALUE_TEXT, .text = (t) }
#define BLOB(data, size) (struct sqlite_value){ .type = VALUE_BLOB, .text = (data), .number = (size) }
#define VALUES(...) (struct sqlite_value[SQLITE_VALUES_MOST]){ __VA_ARGS__ }	/* [column]; those not named are NULL */
#define SQLITE_VALUES_MOST 24

/* Runs an INSERT that has a parameter for each column, and resets it. Returns SQLITE_OK or the error. */
int sqlite_put_row(sqlite3_stmt *s, const struct sqlite_value *values);

/* Runs a prepared statement whose rows don't matter, and resets it. Returns SQLITE_OK or the error. */
int sqlite_step_done(sqlite3_stmt *s);

/* For CLEANUP(). */
static inline void cleanup_statement(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

#endif
