/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps a recording below a size. When room is needed, the two oldest intervals of a length become one of
 * twice the length: bins and sums are added, extremes are those of both, all else is the later one's, so
 * nothing that was counted is lost. Half of the intervals keep the length they were recorded with, the
 * newest ones; the other half is shared evenly by those of 2, 4 ... 64 of these. Beyond that the oldest
 * is dropped: it becomes part of the start, what was counted before the first interval.
 *
 * In a steady state an interval costs one such step or less, whatever the file's size.
 */
#ifndef RECORDING_RING_H
#define RECORDING_RING_H

#include "recording/rows.h"

#define RING_LEVELS 7		/* 1, 2 ... 64 intervals in one */
#define RING_TRIES 4		/* the last of them gives up half of the file */

struct recording_ring {
	sqlite3 *db;		/* NULL: no limit */
	u64 most;		/* pages of the database */
	u64 reserve;		/* of these to have free before an interval is written */
	struct ring_levels {
		u64 n[RING_LEVELS];	/* intervals of each length; the longer are the older */
		s64 first[RING_LEVELS];	/* the oldest of them, when there is one */
		u64 dropped;		/* original intervals in those that were dropped */
	} levels;
	sqlite3_stmt *next, *any, *part, *that, *move, *delete, *update, *pages, *free_pages;
	struct series_row a, b;
};

/* The least limit for @n_watches, so that some hundred intervals fit. */
u64 ring_least_bytes(u32 n_watches);

/* Sets up @db's sizes. Returns what SQLite does. */
int ring_init(struct recording_ring *r, sqlite3 *db, u64 max_bytes, u32 scale);
void ring_uninit(struct recording_ring *r);

/*
 * Makes room for an interval, within its transaction. @tries is how often that failed for want of room: the more,
 * the more is dropped. If the transaction is rolled back, the caller puts levels back to what they were.
 */
int ring_make_room(struct recording_ring *r, u32 tries);

/* SQLITE_FULL when an interval took the room that the next steps need: its transaction must not stay. */
int ring_check_room(struct recording_ring *r);

/* Interval @id is among them. */
void ring_add(struct recording_ring *r, s64 id);

#endif
