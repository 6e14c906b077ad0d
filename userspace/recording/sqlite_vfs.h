/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SQLite on open descriptors: a database, and pages of a log that take the place of its own. SQLite learns no name, so
 * there is none beside which it could look for a journal, a log or an index, whoever put them there; and it has no
 * way to write, to lock or to map anything.
 */
#ifndef RECORDING_SQLITE_VFS_H
#define RECORDING_SQLITE_VFS_H

#include <sqlite3.h>

#include "recording/sqlite_wal.h"

struct sqlite_fds {
	int fd;			/* of the database; regular */
	struct sqlite_wal wal;
	sqlite3_vfs vfs;	/* private from here on */
	char name[32];
};

/*
 * Opens @f for reading. @f stays where it is until sqlite_fds_close(), which takes one that was not opened and closes
 * no descriptor. Returns what SQLite does; @ret_db may be there after a failure, as with sqlite3_open_v2().
 */
int sqlite_fds_open(struct sqlite_fds *f, sqlite3 **ret_db);
void sqlite_fds_close(struct sqlite_fds *f, sqlite3 *db);

#endif
