/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps a recording below a size limit. When room is needed, the two oldest intervals of the same length become one of
 * twice that length. Bins and sums are added, extremes are those of both, and everything else is the later one's, so
 * nothing that was counted is lost. The newer half of the intervals keeps its original length; the older half is
 * divided evenly between intervals of 2, 4 ... 64 times that length. When these can't be merged any further, the oldest
 * interval is dropped: it becomes part of the start, which holds what was counted before the first interval.
 *
 * In the steady state a new interval costs at most one such step, whatever the size of the file.
 */
#ifndef RECORDING_RING_H
#define RECORDING_RING_H

#include <sqlite3.h>

#include "core/sink.h"

#define RING_LEVELS 7		/* lengths: 1, 2 ... 64 original intervals */
#define RING_TRIES 4		/* the last of them gives up half of the file */

struct recording_ring {
	sqlite3 *db;		/* NULL: no limit */
	u64 most;		/* limit of the database's pages */
	u64 reserve;		/* pages of these that must be free before an interval is written */
	bool slow, halts;	/* they are recorded */
	struct ring_levels {
		u64 n[RING_LEVELS];	/* intervals of each length; longer ones are older */
		s64 first[RING_LEVELS];	/* the oldest of them, if any */
		u64 dropped;		/* original intervals that were dropped so far */
	} levels;
};

/* The smallest max_bytes allowed for @n_watches: some hundred intervals fit. */
u64 ring_least_bytes(u32 n_watches);

/* How much more is needed for @n slow IOs an interval. */
u64 ring_slow_bytes(u64 n);

/* Limits @db, the recording of @of, and its WAL to @max_bytes. Returns an SQLite result. Nothing is to be released. */
int ring_init(struct recording_ring *r, sqlite3 *db, u64 max_bytes, const struct run_info *of);

/*
 * Makes room for an interval, within its transaction. @tries says how often that transaction has failed for lack of
 * room so far; with each failure more is dropped. If it is rolled back, the caller restores levels.
 */
int ring_make_room(struct recording_ring *r, u32 tries);

/* Deletes the oldest marks, as far as all take more than their share of the room. Returns an SQLite result. */
int ring_limit_marks(struct recording_ring *r);

/* Returns SQLITE_FULL if the interval took room that later merges need; its transaction must then be rolled back. */
int ring_check_room(struct recording_ring *r);

/* Tells that interval @id was written. */
void ring_add(struct recording_ring *r, s64 id);

#endif
