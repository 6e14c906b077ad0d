/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VFS that runs SQLite on open descriptors: a database, and a log whose pages replace the database's.
 * SQLite learns no file name, so it can't look for a journal, a log or an index that somebody may have
 * put beside the database; and it can't write, lock or map anything.
 */
#ifndef RECORDING_SQLITE_VFS_H
#define RECORDING_SQLITE_VFS_H

#include <sqlite3.h>

#include "recording/sqlite_wal.h"

struct sqlite_fds {
	int fd;			/* of the database, a regular file */
	struct sqlite_wal wal;
	sqlite3_vfs vfs;	/* private from here on */
	char name[32];
};

/*
 * Opens @f for reading. @f must not move until sqlite_fds_close(), which takes an @f that was never
 * opened, too, and closes no descriptors. Returns an SQLite result; as with sqlite3_open_v2(), @ret_db
 * may be set even after a failure.
 */
int sqlite_fds_open(struct sqlite_fds *f, sqlite3 **ret_db);
void sqlite_fds_close(struct sqlite_fds *f, sqlite3 *db);

#endif
