// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the intervals of a recording. A query for each table runs, side by side, in the order of intervals. Rows must
 * come in strictly ascending order. This also guarantees that reading a damaged file ends, even if its pages form a
 * cycle.
 */
#include "recording/reader.h"

#include <errno.h>

#include "recording/schema.h"
#include "recording/sqlite.h"

static const struct {
	const char *name, *sql;
	u32 n_keys;
	int (*take)(struct recording_reader *r, sqlite3_stmt *s, struct problem *p);
	enum recording_part part;	/* 0: always there */
} tables[READER_TABLES] = {
#define ROWS(table, order) #table, "SELECT " SQL_NAMES(table) " FROM " #table order
	[READER_INTERVAL] = { ROWS(interval, " ORDER BY id"), 1, NULL },
	[READER_STATE] = { ROWS(state, " ORDER BY interval, watch"), 2, reader_take_state },
	[READER_SERIES] = { ROWS(series, " INDEXED BY sqlite_autoindex_series_1 ORDER BY interval, watch, op"), 3,
			    reader_take_series },
	[READER_BUSY] = { ROWS(busy, " ORDER BY interval, watch"), 2, reader_take_busy, RECORDING_BUSY },
	[READER_HALT] = { ROWS(halt, " ORDER BY interval, watch, from_ns"), 3, reader_take_halt, RECORDING_HALTS },
	[READER_SLOW] = { "slow", "SELECT " SQL_NAMES(slow) ", pages, file_device, inode, file "
				  "FROM slow LEFT JOIN slow_file USING(n) ORDER BY interval, n", 2, reader_take_slow, RECORDING_SLOW },
	[READER_SLOW_FOUND] = { ROWS(slow_found, " ORDER BY interval, watch"), 2, reader_take_slow_found,
				RECORDING_SLOW },
};

static const char slow_without_files[] =
	"SELECT " SQL_NAMES(slow) ", NULL, NULL, NULL, NULL FROM slow ORDER BY interval, n";

/* Steps to the next row; @rows->left tells whether there is one. Returns 0, or a negative errno and a sentence. */
static int next_row(struct recording_reader *r, enum reader_table table, struct problem *p)
{
	struct reader_rows *rows = &r->rows[table];
	int rc = sqlite3_step(rows->s), order = 0;

	rows->left = rc == SQLITE_ROW;
	if (!rows->left)
		return rc == SQLITE_DONE ? 0 : reader_failed(r, rc, p);
	for (u32 i = 0; i < tables[table].n_keys; i++) {
		u64 n;

		if (!column_u64(rows->s, i, RECORDING_TOTAL_MAX, &n))
			return reader_damaged(r, p, "a row of its table %s has an invalid key", tables[table].name);
		order = order ?: ((s64)n > rows->key[i]) - ((s64)n < rows->key[i]);
		rows->key[i] = n;
	}
	return order > 0 ? 0 : reader_damaged(r, p, "the rows of its table %s are out of order", tables[table].name);
}

/* Takes the rows of interval r->id. If a row of an earlier interval is left, it belongs to no interval in the file. */
static int take_rows(struct recording_reader *r, enum reader_table table, struct problem *p)
{
	struct reader_rows *rows = &r->rows[table];
	int err = 0;

	while (!err && rows->left && rows->key[0] == r->id) {
		err = tables[table].take(r, rows->s, p);
		if (err > 0)
			return reader_damaged(r, p, "interval %lld has an invalid row in table %s", r->id,
					      tables[table].name);
		err = err ?: next_row(r, table, p);
	}
	if (!err && rows->left && rows->key[0] < r->id)
		err = reader_damaged(r, p, "its table %s has rows before interval %lld that belong to no interval",
				     tables[table].name, r->id);
	return err;
}

static void begin_op(struct op_counts *o)
{
	o->ios_before = op_counts_ios(o);
	o->sum_ns = o->bytes = o->errors = o->after_idle_sum_ns = 0;
	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	hist_clear(&o->hist);
	hist_clear(&o->after_idle);
}

/*
 * Clears what covers one interval only, and counts the wholes whose device is still there. Each must have a state at
 * the end of the interval; a part has one only if something is in flight then.
 */
static u32 begin_interval(struct recording_reader *r)
{
	u32 n = 0;

	r->state.replayed = true;
	r->n_states = 0;
	if (r->slow_most)
		slow_ios_clear(&r->slow);
	r->slow_bytes = 0;
	for (u32 i = 0; i < r->n_watches; i++) {
		struct watch_counts *w = &r->state.w[i];

		for (u32 op = 0; op < BLKLAT_OPS; op++)
			begin_op(&w->ops[op]);
		w->n_halts = 0;
		if (w->gone)
			continue;
		n += !r->watches[i].part;
		if (r->watches[i].part)
			w->in_flight = w->oldest_ns = w->waited_ns = 0;
	}
	return n;
}

/* Copies to the parts what happened to the device: only the row of the whole has it. */
static void copy_to_parts(struct recording_reader *r)
{
	for (u32 i = 1; i < r->n_watches; i++) {
		if (!r->watches[i].part)
			continue;
		r->state.w[i].gone = r->state.w[i - 1].gone;
		r->state.w[i].awaited = r->state.w[i - 1].awaited;
		r->state.w[i].replaced = r->state.w[i - 1].replaced;
	}
}

static int take_interval(struct recording_reader *r, struct problem *p)
{
	sqlite3_stmt *s = r->rows[READER_INTERVAL].s;
	struct snapshot *state = &r->state;
	u64 before_ns = state->mono_ns, merged;
	u32 due;
	int err = 0;

	if (!column_u64(s, INTERVAL_mono_ns, RECORDING_TOTAL_MAX, &state->mono_ns) || state->mono_ns < before_ns ||
	    !column_wall_ns(s, INTERVAL_wall_ns, &state->wall_ns) ||
	    !column_u64(s, INTERVAL_skipped, RECORDING_COUNT_MAX, &state->skipped) ||
	    !column_u64(s, INTERVAL_merged, RECORDING_COUNT_MAX, &merged) || !merged != !r->begun)
		return reader_damaged(r, p, "interval %lld is invalid", r->id);
	due = begin_interval(r);
	for (u32 i = READER_STATE; !err && i < READER_TABLES; i++)
		err = take_rows(r, i, p);
	if (!err && r->begun && r->n_states != due)
		err = reader_damaged(r, p, "interval %lld has %u states, not %u", r->id, r->n_states, due);
	copy_to_parts(r);
	slow_ios_sort(&r->slow);
	return err;
}

int reader_next(struct recording_reader *r, struct problem *p)
{
	int err = next_row(r, READER_INTERVAL, p);

	if (err)
		return err;
	if (r->rows[READER_INTERVAL].left) {
		r->id = r->rows[READER_INTERVAL].key[0];
		return take_interval(r, p);
	}
	for (u32 i = 0; i < READER_TABLES; i++)
		if (r->rows[i].left)
			return reader_damaged(r, p, "its table %s has rows after interval %lld that belong to no interval",
					      tables[i].name, r->id);
	return problem_set(p, -ENODATA, "the replay is at its end");
}

/* Makes sure that there is something to show: at least one interval besides the start. */
static int check_intervals(struct recording_reader *r, struct problem *p)
{
	int rc;

	sqlite_number(r->db, "SELECT 1 FROM interval LIMIT 1 OFFSET 1", &rc);
	if (rc == SQLITE_DONE)
		return problem_set(p, -ENODATA, "%s: has no intervals: it ended before the first one was complete", r->file);
	return rc ? reader_failed(r, rc, p) : 0;
}

/* What was looked for is known by the tables that are there; only of slow IOs table meta says it. */
static int find_parts(struct recording_reader *r, struct problem *p)
{
	r->capture.glanced = r->parts & RECORDING_HALTS;
	if (!r->slow_most)
		r->parts &= ~RECORDING_SLOW;
	else if (!(r->parts & RECORDING_SLOW))
		return reader_damaged(r, p, "table slow is missing or altered");
	else if (slow_ios_init(&r->slow, r->n_watches, r->slow_most))
		return problem_set(p, -ENOMEM, "%s: out of memory", r->file);
	return 0;
}

static int begin_rows(struct recording_reader *r, enum reader_table table, struct problem *p)
{
	struct reader_rows *rows = &r->rows[table];
	bool no_files = table == READER_SLOW && !(r->parts & RECORDING_FILES);
	int rc = sqlite3_prepare_v2(r->db, no_files ? slow_without_files : tables[table].sql, -1, &rows->s, NULL);

	rows->key[0] = -1;
	if (rc)
		return reader_failed(r, rc, p);
	return table == READER_INTERVAL ? 0 : next_row(r, table, p);
}

int reader_begin(struct recording_reader *r, struct problem *p)
{
	int err = check_intervals(r, p) ?: find_parts(r, p);

	for (u32 i = 0; !err && i < READER_TABLES; i++)
		if (!tables[i].part || tables[i].part & r->parts)
			err = begin_rows(r, i, p);
	r->id = -1;
	err = err ?: reader_next(r, p);
	if (err)
		return err;
	r->origin.start_mono_ns = r->state.mono_ns;
	r->origin.start_wall_ns = r->state.wall_ns;
	return 0;
}

void reader_end(struct recording_reader *r)
{
	for (u32 i = 0; i < READER_TABLES; i++)
		sqlite3_finalize(r->rows[i].s);
	slow_ios_uninit(&r->slow);
}
