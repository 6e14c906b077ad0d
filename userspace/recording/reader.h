/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a recording, docs/recording.md. A file may hold anything: nothing is used before it was found to be
 * in its range, and memory is bounded by what the file says that it watches, at most BLKLAT_MAX_WATCHES.
 */
#ifndef RECORDING_READER_H
#define RECORDING_READER_H

#include <sqlite3.h>

#include "recording/replay.h"
#include "recording/sqlite_reader.h"

struct recording_reader {
	struct replay replay;
	const char *file;		/* for sentences; origin's */
	struct sqlite_reader *sqlite;
	sqlite3 *db;			/* the reader's */
	char engine[32];
	struct origin origin;
	struct device_table devices;
	struct watch *watches;
	u32 n_watches;
	u32 scale;			/* that was captured at */
	u32 cpus;
	u64 memory_bytes;

	sqlite3_stmt *intervals, *states, *series;
	bool state_left, series_left;	/* whether the statement stands on a row that was not used yet */
	struct hist hist, idle;		/* of a row, at the captured scale */
	struct snapshot state;		/* what was read last */
	u64 total;			/* of all that was ever added up, whatever its unit */
	s64 id, state_key, series_key;	/* of the last rows */
	bool begun;
};

/* "FILE: is damaged: what". Returns -EBADMSG. */
__attribute__((format(printf, 3, 4)))
int reader_damaged(const struct recording_reader *r, struct problem *p, const char *format, ...);

/*
 * Opens @r->file for reading, within a read transaction, and makes sure that it is a recording of this version.
 * Returns 0, or a negative errno and a sentence, -EBADMSG when it is none.
 */
int reader_open_database(struct recording_reader *r, struct problem *p);

/* Sets the sentence for the failure @rc of SQLite; returns its errno. */
int reader_failed(const struct recording_reader *r, int rc, struct problem *p);

/* Reads what is true for the whole run. Returns 0 or a negative errno and a sentence. */
int reader_read_facts(struct recording_reader *r, struct problem *p);

/* Column @i as an integer from 0 to @max, a wall clock, a clean text of less than @room bytes; false: it is none. */
bool column_u64(sqlite3_stmt *s, int i, u64 max, u64 *ret);
bool column_wall_ns(sqlite3_stmt *s, int i, s64 *ret);
bool column_text(sqlite3_stmt *s, int i, char *ret, size_t room);

#endif
