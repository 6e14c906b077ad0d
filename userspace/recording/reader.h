/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a recording (docs/recording.md) for the replay engine. A file may hold anything: no value is used before its
 * range is checked, and memory is bounded by the number of watches, at most BLKLAT_MAX_WATCHES.
 */
#ifndef RECORDING_READER_H
#define RECORDING_READER_H

#include <sqlite3.h>

#include "core/capture.h"
#include "recording/sqlite_reader.h"

#define READER_KEYS 3

/* The tables that are read row by row, side by side, in this order within an interval. */
enum reader_table {
	READER_INTERVAL,
	READER_STATE,
	READER_SERIES,
	READER_BUSY,		/* not of older programs */
	READER_HALT,		/* only if halts were looked for */
	READER_SLOW,		/* only if slow IOs were recorded; likewise: */
	READER_SLOW_FOUND,
	READER_TABLES
};

struct recording_reader {
	struct capture capture;
	const char *file;		/* its name, for messages; belongs to origin */
	struct sqlite_reader sqlite;
	sqlite3 *db;			/* belongs to sqlite */
	u32 parts;			/* bit set of enum recording_part: whose tables are there */
	char *engine;
	struct origin origin;
	u32 marks_room;			/* in its marks */
	struct device_table devices;
	struct watch *watches;
	u32 n_watches;
	u32 *watch_of_id;		/* [id]; n_watches: no watch has this id */
	u32 n_ids;
	u32 scale;			/* at which the run was captured */
	u32 cpus;
	u64 memory_bytes;

	u64 slow_most;			/* most slow IOs of an interval and watch; 0: none are recorded */
	struct slow_ios slow;		/* of the last interval read */
	struct budget own, *budget;	/* where the memory of watches and of their ops is taken from */
	u64 taken;			/* bytes */
	u64 slow_bytes, slow_bytes_most;	/* memory of its rows, including those dropped again */
	struct reader_rows {
		sqlite3_stmt *s;	/* NULL: the file has no such table */
		s64 key[READER_KEYS];	/* of the current row, which are its first columns; [0] is its interval */
		bool left;		/* the current row has not been taken yet */
	} rows[READER_TABLES];
	struct op_counts row;		/* of table series, at the captured scale */
	struct snapshot state;		/* at the end of the last interval read */
	u32 n_states;			/* states of that interval so far, of wholes that were there before */
	u64 total;			/* of everything ever added up, in any unit */
	s64 id;				/* of that interval */
	bool begun;
};

/* "FILE: is damaged: what". Returns -EBADMSG. */
__attribute__((format(printf, 3, 4)))
int reader_damaged(const struct recording_reader *r, struct problem *p, const char *format, ...);

/*
 * Opens @r->file, or the bytes that @cfg has of it, for reading, within a read transaction, and makes sure that it is
 * a recording of this version. Returns 0, or a negative errno and a sentence; -EBADMSG: it is not such a recording,
 * -ENODATA: there is nothing in it.
 */
int reader_open_database(struct recording_reader *r, const struct capture_config *cfg, struct problem *p);

/*
 * Begins the queries, and reads the start into r->state; takes the next interval into it and r->slow (-ENODATA: that
 * was the last). Each returns 0, or a negative errno and a sentence. reader_end() after either, even if it failed.
 */
int reader_begin(struct recording_reader *r, struct problem *p);
int reader_next(struct recording_reader *r, struct problem *p);

/* Sets the sentence for the failure @rc of SQLite; returns its errno. */
int reader_failed(const struct recording_reader *r, int rc, struct problem *p);

void reader_end(struct recording_reader *r);

/*
 * Each takes the current row of its table. Returns 0, 1 if the row is invalid, or a negative errno and a sentence.
 */
int reader_take_state(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);
int reader_take_series(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);
int reader_take_busy(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);
int reader_take_halt(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);
int reader_take_slow(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);
int reader_take_slow_found(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);

/*
 * Reads the facts about the whole run. Returns 0 or a negative errno and a sentence. Call
 * reader_forget_facts() either way.
 */
int reader_read_facts(struct recording_reader *r, struct problem *p);
void reader_forget_facts(struct recording_reader *r);

/*
 * Each reads column @i: an integer from 0 to @max; 0 or 1; a wall clock time; a text of less than @room
 * bytes, which is made printable. They return false if the column holds no such value.
 */
bool column_u64(sqlite3_stmt *s, int i, u64 max, u64 *ret);
bool column_bool(sqlite3_stmt *s, int i, bool *ret);
bool column_wall_ns(sqlite3_stmt *s, int i, s64 *ret);
bool column_text(sqlite3_stmt *s, int i, char *ret, size_t room);

#endif
