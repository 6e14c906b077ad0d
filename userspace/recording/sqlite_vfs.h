/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs SQLite on open descriptors. It learns no file name, so it can't look for a journal, a log or an index that
 * somebody may have put next to the database; and it locks and maps nothing. It runs no code that is stored in the
 * database, and gets 64 MiB of memory at most.
 */
#ifndef RECORDING_SQLITE_VFS_H
#define RECORDING_SQLITE_VFS_H

#include <sqlite3.h>

#include "util/types.h"

struct sqlite_fds {
	int fd;			/* of the database, a regular file */
	int log;		/* of its write-ahead log; -1: it has none */
	sqlite3_vfs vfs;	/* private from here on */
	char name[32];
};

/*
 * Opens @f as a database. If it is @writable, its journal is in memory. @f must not move until sqlite_fds_close(),
 * which takes an @f that was never opened, too, and closes none of its descriptors. Returns an SQLite result; as with
 * sqlite3_open_v2(), @ret_db may be set even after a failure.
 */
int sqlite_fds_open(struct sqlite_fds *f, bool writable, sqlite3 **ret_db);
void sqlite_fds_close(struct sqlite_fds *f, sqlite3 *db);

#endif
