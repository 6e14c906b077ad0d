/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VFS that runs SQLite on open descriptors: a database, and a log whose pages replace the database's.
 * SQLite learns no file name, so it can't look for a journal, a log or an index that somebody may have
 * put beside the database; and it can't write, lock or map anything.
 */
#ifndef RECORDING_SQLITE_VFS_H
#define RECORDING_SQLITE_VFS_H

#include <sqlite3.h>

#include "util/types.h"

/* --- sqlite_wal.c --- */

/*
 * Reads a write-ahead log of SQLite without SQLite: finds the frame with the last committed version of
 * a page. Nothing is written, and nothing in the log is used before its checksum is verified. The
 * format is described at https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */
#define SQLITE_WAL_HEAD_BYTES 32

struct sqlite_wal_page {
	u32 page, frame;
};

struct sqlite_wal {
	int fd;				/* borrowed */
	u32 page_bytes;
	u32 db_pages;			/* size of the database with this log; 0: nothing was committed */
	u32 n;
	struct sqlite_wal_page *pages;	/* ascending, each once */
};

/*
 * Reads the log in @fd, which has to stay open while @w is used. As in SQLite, a log that is empty or
 * has no valid header contributes no pages. Returns 0, -ENOMEM, -EFBIG (more frames than a recorder
 * ever leaves), or the errno of reading.
 */
int sqlite_wal_read(struct sqlite_wal *w, int fd);

/* The offset in the log at which page @page (from 1) begins; -1: it is not in the log. */
s64 sqlite_wal_find(const struct sqlite_wal *w, u32 page);

/* Takes a struct that is all 0. */
void sqlite_wal_uninit(struct sqlite_wal *w);

/* --- sqlite_vfs.c --- */

struct sqlite_fds {
	int fd;			/* of the database, a regular file */
	struct sqlite_wal wal;
	sqlite3_vfs vfs;	/* private from here on */
	char name[32];
};

/*
 * Opens @f for reading. @f must not move until sqlite_fds_close(), which takes an @f that was never opened, too, and
 * closes no descriptors. Returns an SQLite result; as with sqlite3_open_v2(), @ret_db may be set even after a failure.
 */
int sqlite_fds_open(struct sqlite_fds *f, sqlite3 **ret_db);
void sqlite_fds_close(struct sqlite_fds *f, sqlite3 *db);

#endif
