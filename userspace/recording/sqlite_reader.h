/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opens a database that somebody else may have made, in a directory where others may put anything. It writes nothing
 * there, plays no journal back, and never blocks.
 *
 * Files next to the database are examined here, and SQLite gets descriptors. A write-ahead log is read only if it can
 * be the database's own: the database says that it has one, and the log is a regular file with only one name and the
 * same owner. A rollback journal of the same owner that would have to be played back is an error; journals of others
 * are not even read. While another process holds a flock() on the database, as a recorder does, a private copy is
 * read instead, taken at a moment when database and log fit together.
 */
#ifndef RECORDING_SQLITE_READER_H
#define RECORDING_SQLITE_READER_H

#include "recording/sqlite_vfs.h"
#include "util/problem.h"

struct sqlite_reader {
	const char *file;
	char *name;		/* the same with links resolved: side files are named after it */
	struct sqlite_fds fds;
	sqlite3 *db;
};

/*
 * Opens @file, whose name and @r stay where they are until sqlite_reader_close(), which has to be called either way.
 * Returns 0, or a negative errno and a sentence that names the file. -EBADMSG: it is not an SQLite database or
 * incomplete, or a side file is not its own. -ENODATA: it is empty. -EAGAIN: it was written to each time it was copied.
 */
int sqlite_reader_open(struct sqlite_reader *r, const char *file, struct problem *p);

/* The same of a database that is given as bytes, which are borrowed; @file is its name in messages. */
int sqlite_reader_open_bytes(struct sqlite_reader *r, const char *file, const void *bytes, u64 len, struct problem *p);

/* The size of the file; 0: the log determines the size of the database. */
u64 sqlite_reader_bytes(const struct sqlite_reader *r);

/* Returns 1 if the header of the database in @fd says that it has a write-ahead log, else 0, or a negative errno. */
int sqlite_has_log(int fd);

/* Takes an @r that is all 0, too. */
void sqlite_reader_close(struct sqlite_reader *r);

/* Copies the regular file @from into @to, as a private copy is made. Returns 0 or a negative errno. */
int copy_file(int from, int to);

#endif
