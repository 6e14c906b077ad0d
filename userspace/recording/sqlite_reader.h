/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens a database that somebody else may have made, in a directory where others may put what they like. Nothing is
 * written there, nothing is played back, nothing is waited for.
 *
 * Files beside the database are examined here, not by SQLite. A write-ahead log is read if it can be the database's own:
 * the database says that it has one, and the log is a regular file with only one name and the same owner. A rollback
 * journal of the same owner that would have to be played back is an error; journals of others are not even read. While
 * somebody holds the database by flock(), as a recorder does, a private copy is read instead, of a moment at which
 * database and log fit together.
 */
#ifndef RECORDING_SQLITE_READER_H
#define RECORDING_SQLITE_READER_H

#include <sqlite3.h>

#include "util/problem.h"
#include "util/types.h"

struct sqlite_reader;

/*
 * Returns 0, or a negative errno and a sentence that names the file. -EBADMSG: it is no SQLite database, is incomplete,
 * or a file beside it can't be its own. -EAGAIN: it was being written to each time it was copied.
 */
int sqlite_reader_open(const char *file, struct sqlite_reader **ret, struct problem *p);

/* The connection, which belongs to the reader. */
sqlite3 *sqlite_reader_db(const struct sqlite_reader *r);

/* The size of the file; 0: the log decides how large the database is. */
u64 sqlite_reader_bytes(const struct sqlite_reader *r);

/* Takes NULL. */
void sqlite_reader_close(struct sqlite_reader *r);

#endif
