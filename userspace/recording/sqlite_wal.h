/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A write-ahead log of SQLite, read without SQLite: which of its frames has the last committed version of a page.
 * Nothing is written, and nothing that the log says is believed before its checksum was found right. The format
 * is at https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */
#ifndef RECORDING_SQLITE_WAL_H
#define RECORDING_SQLITE_WAL_H

#include "util/types.h"

#define SQLITE_WAL_HEAD_BYTES 32

struct sqlite_wal_page {
	u32 page, frame;
};

struct sqlite_wal {
	int fd;				/* borrowed */
	u32 page_bytes;
	u32 db_pages;			/* that the database has with it; 0: nothing was committed */
	u32 n;
	struct sqlite_wal_page *pages;	/* ascending, each once */
};

/*
 * Reads the log in @fd, which stays open for as long as @w is used. One that is empty or begins with no proper head
 * has no pages, as SQLite sees it. Returns 0, -ENOMEM, -EFBIG (it has more frames than a recorder ever leaves),
 * or what reading failed with.
 */
int sqlite_wal_read(struct sqlite_wal *w, int fd);

/* Where in the file page @page begins (from 1), -1 when the log does not have it. */
s64 sqlite_wal_find(const struct sqlite_wal *w, u32 page);

/* Takes one that is all 0. */
void sqlite_wal_uninit(struct sqlite_wal *w);

#endif
