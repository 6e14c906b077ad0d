/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for all users of SQLite here. */
#ifndef RECORDING_SQLITE_H
#define RECORDING_SQLITE_H

#include <sqlite3.h>

#include "util/types.h"

/*
 * @file in a form that sqlite3_open_v2() always takes for a file name, even if it is ":memory:" or
 * "file:a?b". The caller frees it; NULL: no memory.
 */
char *sqlite_path(const char *file);

/* The negative errno for the failure @rc. -EBADMSG: the file is damaged or not a database. */
int sqlite_errno(sqlite3 *db, int rc);

/* Runs statements whose results don't matter. Returns SQLITE_OK or the error. */
int sqlite_run(sqlite3 *db, const char *sql);

/*
 * The number in the first column of a query's first row, and SQLITE_OK in @ret_rc. Otherwise -1, and in
 * @ret_rc the error, or SQLITE_DONE if there is no row.
 */
s64 sqlite_number(sqlite3 *db, const char *sql, int *ret_rc);

/* Bind @n to the parameter of @column in an INSERT that has one for each column; NULL unless it is @known. */
void sqlite_put(sqlite3_stmt *s, int column, s64 n);
void sqlite_put_known(sqlite3_stmt *s, int column, bool known, s64 n);

/* What goes into a column. All 0: NULL. */
struct sqlite_value {
	enum { VALUE_NONE, VALUE_NUMBER, VALUE_REAL, VALUE_TEXT } type;
	s64 number;
	double real;
	const char *text;
};

#define NONE (struct sqlite_value){ 0 }
#define NUMBER(n) (struct sqlite_value){ .type = VALUE_NUMBER, .number = (n) }
#define KNOWN(known, n) ((known) ? NUMBER(n) : NONE)
#define REAL(n) (struct sqlite_value){ .type = VALUE_REAL, .real = (n) }
#define TEXT(t) (struct sqlite_value){ .type = VALUE_TEXT, .text = (t) }
#define VALUES(...) (struct sqlite_value[SQLITE_VALUES_MOST]){ __VA_ARGS__ }	/* [column]; those not named are NULL */
#define SQLITE_VALUES_MOST 24

/* Runs an INSERT that has a parameter for each column, and resets it. Returns SQLITE_OK or the error. */
int sqlite_put_row(sqlite3_stmt *s, const struct sqlite_value *values);

/* Runs a prepared statement whose rows don't matter, and resets it. Returns SQLITE_OK or the error. */
int sqlite_step_done(sqlite3_stmt *s);

/*
 * The parameter of @column in an INSERT with a parameter for each column: parameters are numbered from
 * 1, columns from 0.
 */
static inline int sqlite_parameter(int column)
{
	return column + 1;
}

/* For CLEANUP(). */
static inline void cleanup_statement(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

#endif
