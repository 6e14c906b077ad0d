// SPDX-License-Identifier: GPL-2.0-only
#include "recording/ring.h"

#include <stdio.h>

#include "recording/rows.h"
#include "recording/sqlite.h"
#include "util/cleanup.h"

#define PAGE_BYTES 4096		/* SQLite's default */
#define WAL_SHARE 8		/* the WAL gets one in this many bytes of the limit */
/* one in this many of the database's pages is free before an interval is written */
#define RESERVE_SHARE 16
#define STEPS 4			/* at most this many merges for an interval */
#define SLOW_BYTES 256		/* a slow IO's row takes less, unless its path is long */
#define STEPS_MORE 1024		/* at most this many drops */
#define MARKS_SHARE 8		/* one in this many of the database's bytes is for marks */

/*
 * Half of the WAL's share has to hold an interval and STEPS merges of two rows each. A row has about 1 KiB, a quarter
 * of a page, and a device has several rows.
 */
u64 ring_least_bytes(u32 n_watches)
{
	return (2 << 20) + n_watches * (512ULL << 10);
}

u64 ring_slow_bytes(u64 n)
{
	return 2 * WAL_SHARE * SLOW_BYTES * n;
}

__attribute__((format(printf, 2, 3)))
static int run(sqlite3 *db, const char *format, ...)
{
	char *sql CLEANUP(cleanup_free) = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&sql, format, args);
	va_end(args);
	return len < 0 ? SQLITE_NOMEM : sqlite_run(db, sql);
}

/* The number that a query gives; -1 if there is none. */
__attribute__((format(printf, 2, 3)))
static s64 number(sqlite3 *db, const char *format, ...)
{
	char sql[128];
	va_list args;
	int rc;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	return sqlite_number(db, sql, &rc);
}

int ring_init(struct recording_ring *r, sqlite3 *db, u64 max_bytes, const struct run_info *of)
{
	u64 pages = max_bytes / PAGE_BYTES, wal = min_u64(pages / WAL_SHARE, 4000);

	*r = (struct recording_ring){
		.db = db, .slow = of->slow_most, .halts = of->glanced,
		/* Each page in the WAL has a header of 24 bytes, the WAL itself one of 32. */
		.most = pages - wal - wal * 24 / PAGE_BYTES - 2,
	};
	r->reserve = r->most / RESERVE_SHARE;
	/*
	 * The WAL exceeds the checkpoint's threshold by at most one transaction, and is then reused from its beginning.
	 * Table merged is empty between two steps.
	 */
	return bins_sum_register(db) ?:
	       run(db, "PRAGMA wal_autocheckpoint = %llu; PRAGMA max_page_count = %llu; PRAGMA temp_store = MEMORY;"
		   "CREATE TEMP TABLE merged AS SELECT * FROM series LIMIT 0", wal / 2, r->most);
}

static u64 pages_left(struct recording_ring *r)
{
	u64 used = number(r->db, "PRAGMA page_count") - number(r->db, "PRAGMA freelist_count");

	return used < r->most ? r->most - used : 0;
}

static s64 next_after(struct recording_ring *r, s64 id)
{
	return number(r->db, "SELECT id FROM interval WHERE id > %lld ORDER BY id LIMIT 1", id);
}

/*
 * Moves the rows of interval @a that are @such to @b, and adds them to those of the same watch and op there. The old
 * rows are deleted first, so that no extra room is needed.
 */
static int move_series(struct recording_ring *r, s64 a, s64 b, const char *such)
{
	return run(r->db,
		   "INSERT INTO merged SELECT %lld, watch, op, sum(ios), sum(bytes), sum(errors), sum(sum_ns), min(min_ns), "
		   "max(max_ns), bins_sum(bins), sum(idle_ios), sum(idle_sum_ns), bins_sum(idle_bins) FROM series "
		   "WHERE interval IN (%lld, %lld) AND (interval = %lld OR %s) GROUP BY watch, op HAVING min(interval) = %lld;"
		   "DELETE FROM series WHERE interval IN (%lld, %lld) AND (watch, op) IN (SELECT watch, op FROM merged);"
		   "INSERT INTO series SELECT * FROM merged; DELETE FROM merged",
		   b, a, b, b, such, a, a, b);
}

/* Moves the slow IOs of @a to @b, or drops them: the start is no interval, so it has none. */
static int merge_slow(struct recording_ring *r, s64 a, s64 b, bool start)
{
	if (!r->slow)
		return SQLITE_OK;
	if (start)
		return run(r->db,
			   "DELETE FROM slow_file WHERE n IN (SELECT n FROM slow WHERE interval IN (%lld, %lld));"
			   "DELETE FROM slow WHERE interval IN (%lld, %lld); DELETE FROM slow_found WHERE interval IN (%lld, %lld)",
			   a, b, a, b, a, b);
	return run(r->db,
		   "UPDATE slow SET interval = %lld WHERE interval = %lld;"
		   "INSERT INTO slow_found SELECT %lld, watch, found FROM slow_found WHERE interval = %lld "
		   "ON CONFLICT(interval, watch) DO UPDATE SET found = found + excluded.found;"
		   "DELETE FROM slow_found WHERE interval = %lld", b, a, b, a, a);
}

/* Adds the busy times of @a to those of @b, or drops them. */
static int merge_busy(struct recording_ring *r, s64 a, s64 b, bool start)
{
	if (start)
		return run(r->db, "DELETE FROM busy WHERE interval IN (%lld, %lld)", a, b);
	return run(r->db,
		   "INSERT INTO busy SELECT %lld, watch, busy_ns FROM busy WHERE interval = %lld "
		   "ON CONFLICT(interval, watch) DO UPDATE SET busy_ns = busy_ns + excluded.busy_ns;"
		   "DELETE FROM busy WHERE interval = %lld", b, a, a);
}

/*
 * Moves the halts of @a to @b, or drops them. So that there are at most HALTS_MOST, only those are kept that take a
 * share of @b.
 */
static int merge_halts(struct recording_ring *r, s64 a, s64 b, bool start)
{
	if (!r->halts)
		return SQLITE_OK;
	if (start)
		return run(r->db, "DELETE FROM halt WHERE interval IN (%lld, %lld)", a, b);
	return run(r->db,
		   "UPDATE halt SET interval = %lld WHERE interval = %lld;"
		   "DELETE FROM halt WHERE interval = %lld AND (to_ns - from_ns) * %d < (SELECT mono_ns FROM interval WHERE id = %lld) - "
		   "ifnull((SELECT mono_ns FROM interval WHERE id < %lld ORDER BY id DESC LIMIT 1), 0)", b, a, b, HALTS_MOST, b, a);
}

/*
 * Merges interval @a into its successor @b. @merged: how many original intervals the result has; 0: @b
 * becomes the start. First @b's rows without IOs, which are parts of IOs that end later, move on to the
 * next interval. Merged with IOs of @a they would count as belonging to these.
 */
static int merge(struct recording_ring *r, s64 a, s64 b, u64 merged)
{
	s64 behind = next_after(r, b);
	int rc = (behind < 0 ? SQLITE_OK : move_series(r, b, behind, "ios = 0")) ?: move_series(r, a, b, "true") ?:
		 merge_slow(r, a, b, !merged) ?: merge_halts(r, a, b, !merged) ?: merge_busy(r, a, b, !merged);

	if (rc)
		return rc;
	/*
	 * A device that went away in @a has no state in @b, so its state is kept, with those of its parts. If the
	 * device has a state in @b but a part of it has none, that part has nothing in flight any more.
	 */
	return run(r->db,
		   "DELETE FROM state WHERE interval = %lld AND EXISTS (SELECT 1 FROM watch w JOIN state t ON t.watch = w.part_of "
		   "WHERE w.id = state.watch AND t.interval = %lld);"
		   "UPDATE OR IGNORE state SET interval = %lld WHERE interval = %lld;"
		   "DELETE FROM state WHERE interval = %lld;"
		   "DELETE FROM interval WHERE id = %lld;"
		   "UPDATE interval SET merged = %llu WHERE id = %lld",
		   a, b, b, a, a, a, merged, b);
}

static int merge_oldest(struct recording_ring *r, u32 level)
{
	struct ring_levels *l = &r->levels;
	s64 a = l->first[level], b = next_after(r, a);
	int rc = merge(r, a, b, 2ULL << level);

	if (rc)
		return rc;
	if (!l->n[level + 1]++)
		l->first[level + 1] = b;
	l->n[level] -= 2;
	l->first[level] = next_after(r, b);
	return SQLITE_OK;
}

/* Merges the start into the oldest interval, which becomes the start. Marks before its end are deleted. */
static int drop_oldest(struct recording_ring *r, u32 level)
{
	struct ring_levels *l = &r->levels;
	s64 start = next_after(r, -1), oldest = l->first[level];
	int rc = merge(r, start, oldest, 0);

	if (rc)
		return rc;
	l->n[level]--;
	l->first[level] = next_after(r, oldest);
	l->dropped += 1ULL << level;
	return run(r->db, "UPDATE meta SET value = %llu WHERE key = 'dropped';"
		   "DELETE FROM mark WHERE mono_ns <= (SELECT mono_ns FROM interval WHERE id = %lld)",
		   l->dropped, oldest);
}

/* The level that exceeds its share most; RING_LEVELS if no level can be merged. */
static u32 choose_level(const struct ring_levels *l)
{
	u32 chosen = RING_LEVELS;
	u64 most = 0;

	for (u32 i = 0; i < RING_LEVELS; i++) {
		u64 weight = i ? l->n[i] * (RING_LEVELS - 1) : l->n[i];

		if (weight > most && l->n[i] >= (i == RING_LEVELS - 1 ? 1 : 2)) {
			chosen = i;
			most = weight;
		}
	}
	return chosen;
}

/*
 * Makes room by merging two intervals or, with @drop or if none can be merged, by dropping one.
 * SQLITE_DONE: none is left to drop.
 */
static int step(struct recording_ring *r, bool drop)
{
	const struct ring_levels *l = &r->levels;
	u32 level = choose_level(l);

	if (!drop && level < RING_LEVELS - 1)
		return merge_oldest(r, level);
	for (level = RING_LEVELS - 1; level && !l->n[level]; level--)
		;
	/* The last interval is kept. */
	return level || l->n[0] > 1 ? drop_oldest(r, level) : SQLITE_DONE;
}

int ring_make_room(struct recording_ring *r, u32 tries)
{
	u64 want = r->reserve << tries;
	int rc = SQLITE_OK;

	if (!r->db)
		return SQLITE_OK;
	for (u32 i = 0; !rc && !tries && i < STEPS && pages_left(r) < want; i++)
		rc = step(r, false);
	/* Merging frees little if the intervals have few bins in common, so now drop some. */
	for (u32 i = 0; !rc && i < STEPS_MORE && pages_left(r) < want / 2; i++)
		rc = step(r, true);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int ring_limit_marks(struct recording_ring *r)
{
	/* A mark's text lies among some 40 bytes. */
	return !r->db ? SQLITE_OK :
	       run(r->db, "DELETE FROM mark WHERE rowid <= (SELECT max(rowid) FROM (SELECT rowid, "
		   "sum(length(CAST(text AS BLOB)) + 40) OVER (ORDER BY rowid DESC) AS bytes FROM mark) WHERE bytes > %llu)",
		   r->most * PAGE_BYTES / MARKS_SHARE);
}

int ring_check_room(struct recording_ring *r)
{
	return r->db && pages_left(r) < r->reserve / 4 ? SQLITE_FULL : SQLITE_OK;
}

void ring_add(struct recording_ring *r, s64 id)
{
	if (!r->levels.n[0]++)
		r->levels.first[0] = id;
}
