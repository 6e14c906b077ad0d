/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes intervals as rows, within the caller's transaction. Functions return an SQLite result. */
#ifndef RECORDING_ROWS_H
#define RECORDING_ROWS_H

#include <sqlite3.h>

#include "core/sink.h"

/* Makes the aggregate function bins_sum(bins) of SQL: the bins of all rows in a group. Returns an SQLite result. */
int bins_sum_register(sqlite3 *db);

/* --- the devices and watches that are in the file (recorder_facts.c) --- */

struct recorded_ids {
	u32 *watches;			/* [watch of the run]; n are in the file */
	u32 *devices;			/* [device of the run] its id + 1; 0: it is not in the file */
	u32 n, next_watch, next_device;
};

/* Returns 0 or -ENOMEM. The other one also works if all is 0. */
int recorded_ids_init(struct recorded_ids *ids, const struct run_info *run);
void recorded_ids_uninit(struct recorded_ids *ids);

/* Writes the watches that have come to @run, and their devices with those that they lie on. */
int recorder_write_watches(sqlite3 *db, const struct run_info *run, struct recorded_ids *ids);

/* What was written since @before is not in the file after all. */
void recorded_ids_forget(struct recorded_ids *ids, const struct recorded_ids *before, const struct run_info *run);

/* --- the rows of intervals --- */

/* A part by cgroup that has an id in the file. */
struct recorded_part {
	u32 whole, id;
	const struct part *part;	/* kept */
};

struct recording_rows {
	sqlite3_stmt *interval, *state, *series, *part;
	sqlite3_stmt *busy;
	sqlite3_stmt *halt;		/* NULL if halts were not looked for */
	sqlite3_stmt *slow, *slow_file, *slow_found;	/* NULL if slow IOs are not recorded */
	s64 n_slow;				/* so far */
	/*
	 * A watch has an id, which by cgroup is that of the first cgroup that owns the part. Cgroups that get
	 * the part after the first one has ended have other ids. When these run out, the rows of further cgroups
	 * are added to those of the rest.
	 */
	struct recorded_ids *known;	/* borrowed */
	u32 *ids;			/* [watch], for this interval */
	u32 n;				/* watches that there may be */
	const struct part **first;	/* [watch], kept; NULL: no cgroup yet */
	struct recorded_part *later;
	u32 n_later, room;
};

int recording_rows_init(struct recording_rows *r, sqlite3 *db, const struct run_info *run, struct recorded_ids *known);
void recording_rows_uninit(struct recording_rows *r);

/* Writes the start, row 0: when the first interval, @is, began, and what was counted before it. */
int recording_rows_start(struct recording_rows *r, const struct run_info *run, const struct frames *is);

/* Writes interval @id, from 1. */
int recording_rows_interval(struct recording_rows *r, s64 id, const struct run_info *run, const struct frames *is);

#endif
