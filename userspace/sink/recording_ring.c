// SPDX-License-Identifier: GPL-2.0-only
#include "sink/recording_ring.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/cleanup.h"
#include "util/sqlite.h"

#define PAGE_BYTES 4096		/* SQLite's, by default */
#define SHM_PAGES 8		/* the index that SQLite keeps of the WAL, of up to 4000 pages of it */
#define WAL_SHARE 8		/* what of the limit is the WAL's */
#define RESERVE_SHARE 32
#define STEPS 4			/* at one interval, unless it found no room */
#define STEPS_MORE 1024		/* then */

/*
 * The WAL has to hold an interval and STEPS steps of two rows each before half of its share is used up; a
 * row of 1 KiB is a quarter of a page, and a device has some.
 */
u64 ring_least_bytes(u32 n_watches)
{
	return (2 << 20) + n_watches * (512ULL << 10);
}

static int prepare(struct recording_ring *r)
{
	const struct { sqlite3_stmt **s; const char *sql; } all[] = {
		{ &r->next, "SELECT id FROM interval WHERE id > ? ORDER BY id LIMIT 1" },
		{ &r->series, "SELECT watch, op, ios, bytes, errors, sum_ns, min_ns, max_ns, bins, idle_ios, "
			      "idle_sum_ns, idle_bins FROM series WHERE interval = ?" },
		{ &r->twin, "SELECT watch, op, ios, bytes, errors, sum_ns, min_ns, max_ns, bins, idle_ios, "
			    "idle_sum_ns, idle_bins FROM series WHERE interval = ? AND watch = ? AND op = ?" },
		{ &r->update, "UPDATE series SET ios = ?4, bytes = ?5, errors = ?6, sum_ns = ?7, min_ns = ?8, "
			      "max_ns = ?9, bins = ?10, idle_ios = ?11, idle_sum_ns = ?12, idle_bins = ?13 "
			      "WHERE interval = ?1 AND watch = ?2 AND op = ?3" },
		{ &r->pages, "PRAGMA page_count" },
		{ &r->free_pages, "PRAGMA freelist_count" },
	};
	int rc = SQLITE_OK;

	for (u32 i = 0; !rc && i < ARRAY_SIZE(all); i++)
		rc = sqlite3_prepare_v3(r->db, all[i].sql, -1, SQLITE_PREPARE_PERSISTENT, all[i].s, NULL);
	return rc;
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

int ring_init(struct recording_ring *r, sqlite3 *db, u64 max_bytes, u32 scale)
{
	u64 pages = max_bytes / PAGE_BYTES - SHM_PAGES, wal = pages / WAL_SHARE;
	int rc;

	if (wal > 4000)
		wal = 4000;
	/* A page in the WAL has a head of 24 bytes, the WAL one of 32. */
	*r = (struct recording_ring){ .db = db, .most = pages - wal - wal * 24 / PAGE_BYTES - 2 };
	r->reserve = r->most / RESERVE_SHARE;
	if (series_row_init(&r->a, scale) || series_row_init(&r->b, scale))
		return SQLITE_NOMEM;
	/* It grows beyond what begins a checkpoint by one transaction, then is used again from its begin. */
	rc = run(db, "PRAGMA wal_autocheckpoint = %llu; PRAGMA max_page_count = %llu", wal / 2, r->most);
	return rc ?: prepare(r);
}

void ring_uninit(struct recording_ring *r)
{
	sqlite3_finalize(r->next);
	sqlite3_finalize(r->series);
	sqlite3_finalize(r->twin);
	sqlite3_finalize(r->update);
	sqlite3_finalize(r->pages);
	sqlite3_finalize(r->free_pages);
	series_row_uninit(&r->a);
	series_row_uninit(&r->b);
	*r = (struct recording_ring){ 0 };
}

static s64 number_of(sqlite3_stmt *s)
{
	s64 n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : -1;

	sqlite3_reset(s);
	return n;
}

static u64 pages_used(struct recording_ring *r)
{
	return number_of(r->pages) - number_of(r->free_pages);
}

static s64 next_after(struct recording_ring *r, s64 id)
{
	sqlite3_bind_int64(r->next, 1, id);
	return number_of(r->next);
}

/* Reads a row of statements series and twin. What is there we wrote ourselves, this run. */
static int read_row(sqlite3_stmt *s, struct series_row *row)
{
	int err;

	row->ios = 0;
	row->idle_ios = 0;
	hist_clear(&row->hist);
	hist_clear(&row->idle);
	row->bytes = sqlite3_column_int64(s, 3);
	row->errors = sqlite3_column_int64(s, 4);
	row->sum_ns = sqlite3_column_int64(s, 5);
	row->min_ns = sqlite3_column_int64(s, 6);
	row->max_ns = sqlite3_column_int64(s, 7);
	row->idle_sum_ns = sqlite3_column_int64(s, 10);
	err = bins_decode(sqlite3_column_blob(s, 8), sqlite3_column_bytes(s, 8), &row->hist, &row->ios) ?:
	      bins_decode(sqlite3_column_blob(s, 11), sqlite3_column_bytes(s, 11), &row->idle, &row->idle_ios);
	return err ? SQLITE_CORRUPT : SQLITE_OK;
}

static void add_row(struct series_row *to, const struct series_row *from)
{
	if (!to->ios || (from->ios && from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (!to->ios || (from->ios && from->max_ns > to->max_ns))
		to->max_ns = from->max_ns;
	to->ios += from->ios;
	to->bytes += from->bytes;
	to->errors += from->errors;
	to->sum_ns += from->sum_ns;
	hist_add(&to->hist, &from->hist);
	to->idle_ios += from->idle_ios;
	to->idle_sum_ns += from->idle_sum_ns;
	hist_add(&to->idle, &from->idle);
}

/* Adds the row that statement series stands on to the one of interval @b of the same watch and op, if there is one. */
static int merge_row(struct recording_ring *r, s64 b)
{
	s64 watch = sqlite3_column_int64(r->series, 0), op = sqlite3_column_int64(r->series, 1);
	int rc;

	sqlite3_bind_int64(r->twin, 1, b);
	sqlite3_bind_int64(r->twin, 2, watch);
	sqlite3_bind_int64(r->twin, 3, op);
	rc = sqlite3_step(r->twin);
	if (rc == SQLITE_ROW)
		rc = read_row(r->twin, &r->b) ?: read_row(r->series, &r->a) ?: SQLITE_ROW;
	sqlite3_reset(r->twin);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? SQLITE_OK : rc;
	add_row(&r->b, &r->a);
	sqlite3_bind_int64(r->update, 1, b);
	sqlite3_bind_int64(r->update, 2, watch);
	sqlite3_bind_int64(r->update, 3, op);
	series_row_bind(r->update, 4, &r->b);
	return sqlite_step_done(r->update);
}

/* Interval @b takes over what @a has, and @a goes. @merged: original intervals in it, 0 for the start. */
static int merge(struct recording_ring *r, s64 a, s64 b, u64 merged)
{
	int rc;

	sqlite3_bind_int64(r->series, 1, a);
	while ((rc = sqlite3_step(r->series)) == SQLITE_ROW) {
		rc = merge_row(r, b);
		if (rc)
			break;
	}
	sqlite3_reset(r->series);
	if (rc != SQLITE_DONE && rc != SQLITE_OK)
		return rc;
	/* What only @a has moves: series of an op that @b has not, the state of a device that went away. */
	return run(r->db,
		   "UPDATE OR IGNORE series SET interval = %lld WHERE interval = %lld;"
		   "DELETE FROM series WHERE interval = %lld;"
		   "UPDATE OR IGNORE state SET interval = %lld WHERE interval = %lld;"
		   "DELETE FROM state WHERE interval = %lld;"
		   "DELETE FROM interval WHERE id = %lld;"
		   "UPDATE interval SET merged = %llu WHERE id = %lld",
		   b, a, a, b, a, a, a, merged, b);
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

/* The oldest interval becomes the start, and with it what was the start. Marks from before it go too. */
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

/* The level that has most beyond its share, RING_LEVELS when none can give. */
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

/* SQLITE_DONE when nothing is left. */
static int step(struct recording_ring *r)
{
	const struct ring_levels *l = &r->levels;
	u32 level = choose_level(l);

	if (level < RING_LEVELS - 1)
		return merge_oldest(r, level);
	/* Nothing to merge: the oldest goes, unless it is the last. */
	for (level = RING_LEVELS - 1; level && !l->n[level]; level--)
		;
	return level || l->n[0] > 1 ? drop_oldest(r, level) : SQLITE_DONE;
}

int ring_make_room(struct recording_ring *r, u32 tries)
{
	u64 want = r->reserve << tries;
	int rc = SQLITE_OK;

	if (!r->db)
		return SQLITE_OK;
	for (u32 i = 0; !rc && i < (tries ? STEPS_MORE : STEPS) && pages_used(r) + want > r->most; i++)
		rc = step(r);
	if (rc == SQLITE_DONE)
		return tries ? SQLITE_FULL : SQLITE_OK;
	return rc;
}

void ring_add(struct recording_ring *r, s64 id)
{
	if (!r->levels.n[0]++)
		r->levels.first[0] = id;
}
