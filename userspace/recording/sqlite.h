/* SPDX-License-Identifier: GPL-2.0-only */
/* What every user of SQLite needs. */
#ifndef RECORDING_SQLITE_H
#define RECORDING_SQLITE_H

#include <sqlite3.h>

#include "util/types.h"

/*
 * @file as sqlite3_open_v2() takes it for a file whatever it is called: names like ":memory:" and
 * "file:a?b" mean something else to it. To be freed; NULL when there is no memory.
 */
char *sqlite_path(const char *file);

/* The errno that a failure means, negative. -EBADMSG: what the file holds is damaged or no database. */
int sqlite_errno(sqlite3 *db, int rc);

/* Runs a statement that is done at once. Returns what sqlite3_step() and its preparation do, or SQLITE_OK. */
int sqlite_run(sqlite3 *db, const char *sql);

/*
 * The number in the first column of a query's first row, with @ret_rc SQLITE_OK. -1: there is none, with @ret_rc
 * what failed, or SQLITE_DONE where there is no row.
 */
s64 sqlite_number(sqlite3 *db, const char *sql, int *ret_rc);

/* Ends a statement's run for the next one; for statements that give no row. Returns SQLITE_OK or what failed. */
int sqlite_step_done(sqlite3_stmt *s);

/* The parameter for column @column in an INSERT that has one for each: columns are numbered from 0, parameters from 1. */
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
