/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens a database that somebody else may have made, in a directory where others may put what they like. Nothing is
 * written there, nothing is played back, nothing is waited for.
 *
 * What lies beside the file is looked at here, not by SQLite. A write-ahead log is read with it where it can be the
 * file's own: the file says that it has one, it is a regular file with no other name, and its owner is the file's. A
 * rollback journal of the same owner that would have to be played back is told of, others are not even read. While
 * somebody holds the file with flock(), as a recorder does, a copy is read, which has no name and was taken of a moment
 * at which file and log fit together.
 */
#ifndef RECORDING_SQLITE_READER_H
#define RECORDING_SQLITE_READER_H

#include <sqlite3.h>

#include "util/problem.h"
#include "util/types.h"

struct sqlite_reader;

/*
 * Returns 0, or a negative errno and a sentence that names the file: -EBADMSG when it is no database of SQLite, is not
 * whole, or what lies beside it can't be its own; -EAGAIN: it was written to all the while.
 */
int sqlite_reader_open(const char *file, struct sqlite_reader **ret, struct problem *p);

/* The connection; the reader's. */
sqlite3 *sqlite_reader_db(const struct sqlite_reader *r);

/* Bytes that are there; 0: the log says how many there are. */
u64 sqlite_reader_bytes(const struct sqlite_reader *r);

/* Takes NULL. */
void sqlite_reader_close(struct sqlite_reader *r);

#endif
