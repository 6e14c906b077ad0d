/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes intervals as rows, within the caller's transaction. Functions return an SQLite result. */
#ifndef RECORDING_ROWS_H
#define RECORDING_ROWS_H

#include <sqlite3.h>

#include "core/hist.h"
#include "core/sink.h"

/* --- a row of table series, as it is written, read back and added to another (series_row.c) --- */

/* The values of a row, without its key. */
struct series_row {
	u64 ios, bytes, errors, sum_ns;
	u64 min_ns, max_ns;	/* meaningless without IOs */
	struct hist hist;
	u64 idle_ios, idle_sum_ns;
	struct hist idle;
};

/* Makes a row without IOs, with room for bins. Returns 0 or -ENOMEM. */
int series_row_init(struct series_row *row, u32 scale);
void series_row_uninit(struct series_row *row);

void series_row_add(struct series_row *to, const struct series_row *more);

/*
 * Binds @row to the parameters from @first on, in the order of COLUMNS_series_values. Returns SQLITE_OK
 * or SQLITE_NOMEM.
 */
int series_row_bind(sqlite3_stmt *s, int first, const struct series_row *row);

/* Reads a row's values unchecked: we wrote them ourselves in this run. Returns SQLITE_ROW or SQLITE_CORRUPT. */
int series_row_read(sqlite3_stmt *s, struct series_row *row);

/* --- the rows of intervals --- */

/* A part by cgroup that has an id in the file. */
struct recorded_part {
	u32 whole;
	const struct part *part;
};

struct recording_rows {
	sqlite3_stmt *interval, *state, *series, *part;
	sqlite3_stmt *slow, *slow_found;	/* NULL if slow IOs are not recorded */
	s64 n_slow;				/* so far */
	/*
	 * A watch's id is its number. By cgroup that holds for the first cgroup that owns a part.
	 * Cgroups that get the part after the first one has ended have ids behind those of all watches.
	 * When these run out, further cgroups are recorded together with the rest.
	 */
	u32 *ids;			/* [watch], for this interval */
	const struct part **first;	/* [watch]; NULL: no cgroup yet */
	struct recorded_part *later;	/* by id, from n_watches on */
	u32 n_later, room;
	u32 n_lost;			/* watches without an id in this interval */
	struct hist sum, idle_sum;	/* for the rest in that case; no cells until needed */
};

int recording_rows_init(struct recording_rows *r, sqlite3 *db, bool slow);
void recording_rows_uninit(struct recording_rows *r);

/* Writes the start, row 0: when the first interval, @is, began, and what was counted before it. */
int recording_rows_start(struct recording_rows *r, const struct run_info *run, const struct frames *is);

/* Writes interval @id, from 1. */
int recording_rows_interval(struct recording_rows *r, s64 id, const struct run_info *run, const struct frames *is);

/* Writes the slow IOs of interval @id. */
int recording_rows_slow(struct recording_rows *r, s64 id, const struct run_info *run, const struct slow_ios *slow);

/* The id of watch @watch in this interval, whose rows must be written already; the whole's id if it has none. */
int recording_rows_id(struct recording_rows *r, const struct run_info *run, u32 watch, u32 *ret);

#endif
