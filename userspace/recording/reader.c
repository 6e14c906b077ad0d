// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the intervals of a recording. Three queries run side by side, each in the order of intervals: the intervals,
 * the state of the watches at their ends, and the series, which hold what happened in them. Rows must come in strictly
 * ascending order. This also guarantees that reading a damaged file ends, even if its pages form a cycle.
 */
#include "recording/reader.h"

#include <assert.h>
#include <errno.h>

#include "recording/bins_codec.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/cleanup.h"

/* Whether @n may be added to a sum, which is bounded so that nothing computed from it can overflow. */
static bool add(struct recording_reader *r, u64 n)
{
	if (n > RECORDING_TOTAL_MAX - r->total)
		return false;
	r->total += n;
	return true;
}

/*
 * Steps to the next row. Its first columns are its key; @bits has the width of each (ended by 0). Keys
 * must ascend. Returns 1 if there is a row, 0 at the end, or a negative errno and a sentence.
 */
static int next_ordered(struct recording_reader *r, sqlite3_stmt *s, const u32 *bits, s64 *last, struct problem *p)
{
	int rc = sqlite3_step(s);
	u64 key = 0, n;

	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return reader_failed(r, rc, p);
	for (u32 i = 0; bits[i]; i++) {
		if (!column_u64(s, i, (1ULL << bits[i]) - 1, &n))
			return reader_damaged(r, p, "a row has no number");
		key = key << bits[i] | n;
	}
	if ((s64)key <= *last)
		return reader_damaged(r, p, "its rows are out of order");
	*last = key;
	return 1;
}

/* The bits of each key: interval, watch, op. */
static const u32 interval_bits[] = { 44, 0 }, state_bits[] = { 44, 16, 0 }, series_bits[] = { 44, 16, 3, 0 };
static_assert(BLKLAT_MAX_WATCHES <= 1 << 16 && BLKLAT_OPS <= 1 << 3, "they fit their bits");
static_assert(INTERVAL_id == 0 && STATE_interval == 0 && STATE_watch == 1 && SERIES_interval == 0 &&
	      SERIES_watch == 1 && SERIES_op == 2, "the key comes first");

static int next_state(struct recording_reader *r, struct problem *p)
{
	int more = next_ordered(r, r->states, state_bits, &r->state_key, p);

	r->state_left = more > 0;
	return more < 0 ? more : 0;
}

static int next_series(struct recording_reader *r, struct problem *p)
{
	int more = next_ordered(r, r->series, series_bits, &r->series_key, p);

	r->series_left = more > 0;
	return more < 0 ? more : 0;
}

static bool take_whole_state(struct recording_reader *r, struct watch_counts *w)
{
	sqlite3_stmt *s = r->states;

	if (!column_u64(s, STATE_started, RECORDING_COUNT_MAX, &w->started) ||
	    !column_u64(s, STATE_started_after, RECORDING_COUNT_MAX, &w->started_after) ||
	    !column_u64(s, STATE_in_flight, RECORDING_COUNT_MAX, &w->in_flight) ||
	    !column_u64(s, STATE_in_flight_after, RECORDING_COUNT_MAX, &w->in_flight_after) ||
	    !column_u64(s, STATE_oldest_ns, RECORDING_TOTAL_MAX, &w->oldest_ns) ||
	    !column_bool(s, STATE_gone, &w->gone) || !column_bool(s, STATE_replaced, &w->replaced) ||
	    !column_bool(s, STATE_unsettled, &w->unsettled) || !column_u64(s, STATE_waited_ns, RECORDING_TOTAL_MAX, &w->waited_ns))
		return false;
	for (u32 i = 0; i < BLKLAT_ACCOUNTS; i++)
		if (!column_u64(s, recording_account_columns[i], RECORDING_COUNT_MAX, &w->accounts[i]))
			return false;
	w->kernel_ios = 0;
	w->kernel_in_flight = 0;
	w->kernel_known = sqlite3_column_type(s, STATE_kernel_ios) != SQLITE_NULL;
	return !w->kernel_known ||
	       (column_u64(s, STATE_kernel_ios, RECORDING_COUNT_MAX, &w->kernel_ios) &&
		column_u64(s, STATE_kernel_in_flight, RECORDING_COUNT_MAX, &w->kernel_in_flight));
}

/* Takes the columns that a part has of its own. */
static bool take_part_state(struct recording_reader *r, struct watch_counts *w)
{
	return column_u64(r->states, STATE_in_flight, RECORDING_COUNT_MAX, &w->in_flight) &&
	       column_u64(r->states, STATE_oldest_ns, RECORDING_TOTAL_MAX, &w->oldest_ns) &&
	       column_u64(r->states, STATE_waited_ns, RECORDING_TOTAL_MAX, &w->waited_ns);
}

bool column_watch(const struct recording_reader *r, sqlite3_stmt *s, int i, u32 *ret)
{
	u64 id;

	if (!column_u64(s, i, r->n_ids - 1, &id))
		return false;
	*ret = r->watch_of_id[id];
	return *ret < r->n_watches;
}

/* @due: set to whether the row is that of a whole that was there before. A device that went away does not come back. */
static bool take_state(struct recording_reader *r, bool *due)
{
	u32 i;

	if (!column_watch(r, r->states, STATE_watch, &i))
		return false;
	*due = !r->watches[i].part && !r->state.w[i].gone;
	if (r->watches[i].part)
		return take_part_state(r, &r->state.w[i]);
	if (!*due && !r->state.w[i].awaited)
		return false;
	r->state.w[i].awaited = false;
	return take_whole_state(r, &r->state.w[i]);
}

/* Reads the bins in column @i, which must hold as many IOs as column @ios says. */
static bool take_bins(struct recording_reader *r, int i, int ios, struct hist *to)
{
	const void *bytes = sqlite3_column_blob(r->series, i);
	u64 n = 0, said;

	hist_clear(to);
	return sqlite3_column_type(r->series, i) == SQLITE_BLOB &&
	       !bins_decode(bytes, sqlite3_column_bytes(r->series, i), to, &n) &&
	       column_u64(r->series, ios, RECORDING_COUNT_MAX, &said) && n == said && add(r, n);
}

static bool take_sum(struct recording_reader *r, int i, u64 *to)
{
	return column_u64(r->series, i, RECORDING_TOTAL_MAX, to) && add(r, *to);
}

/* Extremes must lie in the first and the last bin with IOs. For IOs from before the run they are unknown. */
static bool take_extremes(struct recording_reader *r, struct op_counts *o)
{
	u32 first, last;

	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	if (!hist_range(&o->hist, &first, &last) || !r->begun)
		return true;
	return column_u64(r->series, SERIES_min_ns, RECORDING_TOTAL_MAX, &o->min_ns) &&
	       column_u64(r->series, SERIES_max_ns, RECORDING_TOTAL_MAX, &o->max_ns) && o->min_ns <= o->max_ns &&
	       blklat_cell(o->min_ns, r->scale) == first && blklat_cell(o->max_ns, r->scale) == last;
}

static bool take_row(struct recording_reader *r, struct op_counts *o)
{
	return take_sum(r, SERIES_bytes, &o->bytes) && take_sum(r, SERIES_errors, &o->errors) &&
	       take_sum(r, SERIES_sum_ns, &o->sum_ns) &&
	       take_bins(r, SERIES_bins, SERIES_ios, &o->hist) && take_extremes(r, o) &&
	       take_sum(r, SERIES_idle_sum_ns, &o->after_idle_sum_ns) &&
	       take_bins(r, SERIES_idle_bins, SERIES_idle_ios, &o->after_idle);
}

/* The counts of a part are added to its whole, too, which has no rows of its own. */
static bool take_series(struct recording_reader *r)
{
	u64 op;
	u32 i;

	if (!column_watch(r, r->series, SERIES_watch, &i) || watch_parts(r->watches, r->n_watches, i) ||
	    !column_u64(r->series, SERIES_op, BLKLAT_OPS - 1, &op) || !take_row(r, &r->row))
		return false;
	op_counts_add(&r->state.w[i].ops[op], &r->row);
	while (r->watches[i].part)
		i--;
	if (watch_parts(r->watches, r->n_watches, i))
		op_counts_add(&r->state.w[i].ops[op], &r->row);
	return true;
}

/*
 * Counts the wholes whose device is still there. Each must have a state at the end of the next
 * interval; a part has one only if something is in flight then.
 */
static u32 expect_states(struct recording_reader *r)
{
	u32 n = 0;

	for (u32 i = 0; i < r->n_watches; i++) {
		struct watch_counts *w = &r->state.w[i];

		if (w->gone)
			continue;
		n += !r->watches[i].part;
		if (r->watches[i].part)
			w->in_flight = w->oldest_ns = w->waited_ns = 0;
	}
	return n;
}

/* Copies to the parts what became of the device, which only the whole's row says. */
static void tell_parts(struct recording_reader *r)
{
	for (u32 i = 1; i < r->n_watches; i++) {
		if (!r->watches[i].part)
			continue;
		r->state.w[i].gone = r->state.w[i - 1].gone;
		r->state.w[i].awaited = r->state.w[i - 1].awaited;
		r->state.w[i].replaced = r->state.w[i - 1].replaced;
	}
}

static int take_states(struct recording_reader *r, struct problem *p)
{
	u32 due = expect_states(r), n = 0;
	int err = 0;

	while (!err && r->state_left && sqlite3_column_int64(r->states, STATE_interval) == r->id) {
		bool was_due;

		if (!take_state(r, &was_due))
			return reader_damaged(r, p, "the state at interval %lld is invalid", r->id);
		n += was_due;
		err = next_state(r, p);
	}
	tell_parts(r);
	if (!err && r->begun && n != due)
		err = reader_damaged(r, p, "interval %lld has %u states, not %u", r->id, n, due);
	return err;
}

/* Takes the rows of interval r->id. If a row of an earlier interval is left, it belongs to no interval in the file. */
static int take_rows(struct recording_reader *r, struct problem *p)
{
	int err = take_states(r, p);

	while (!err && r->series_left && sqlite3_column_int64(r->series, SERIES_interval) == r->id)
		err = take_series(r) ? next_series(r, p) :
		      reader_damaged(r, p, "the series of interval %lld are invalid", r->id);
	if (!err && ((r->state_left && sqlite3_column_int64(r->states, STATE_interval) < r->id) ||
		     (r->series_left && sqlite3_column_int64(r->series, SERIES_interval) < r->id)))
		err = reader_damaged(r, p, "it has rows before interval %lld that belong to no interval", r->id);
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

/* Clears the counts of all ops: these cover one interval only. */
static void begin_interval(struct snapshot *s)
{
	s->replayed = true;
	for (u32 i = 0; i < s->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			begin_op(&s->w[i].ops[op]);
}

static int take_interval(struct recording_reader *r, struct problem *p)
{
	sqlite3_stmt *s = r->intervals;
	struct snapshot *state = &r->state;
	u64 before_ns = state->mono_ns, merged;

	if (!column_u64(s, INTERVAL_mono_ns, RECORDING_TOTAL_MAX, &state->mono_ns) || state->mono_ns < before_ns ||
	    !column_wall_ns(s, INTERVAL_wall_ns, &state->wall_ns) ||
	    !column_u64(s, INTERVAL_skipped, RECORDING_COUNT_MAX, &state->skipped) ||
	    !column_u64(s, INTERVAL_merged, RECORDING_COUNT_MAX, &merged) || !merged != !r->begun)
		return reader_damaged(r, p, "interval %lld is invalid", r->id);
	begin_interval(state);
	return take_rows(r, p) ?: reader_take_halts(r, p) ?: reader_take_slow(r, p);
}

static int at_end(struct recording_reader *r, struct problem *p)
{
	int err;

	if (r->state_left || r->series_left || r->halt_left)
		return reader_damaged(r, p, "it has rows after interval %lld that belong to no interval", r->id);
	err = reader_end_slow(r, p);
	if (err)
		return err;
	return problem_set(p, -ENODATA, "the replay is at its end");
}

int reader_next(struct recording_reader *r, struct problem *p)
{
	int more = next_ordered(r, r->intervals, interval_bits, &r->id, p);

	if (more < 0)
		return more;
	return more ? take_interval(r, p) : at_end(r, p);
}

/* Makes sure that there is something to show: at least one interval besides the start. */
static int check_intervals(struct recording_reader *r, struct problem *p)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	int rc = sqlite3_prepare_v2(r->db, "SELECT 1 FROM interval LIMIT 1 OFFSET 1", -1, &s, NULL) ?: sqlite3_step(s);

	if (rc == SQLITE_DONE)
		return problem_set(p, -EBADMSG, "%s: holds no interval: it was ended before the first one", r->file);
	return rc == SQLITE_ROW ? 0 : reader_failed(r, rc, p);
}

int reader_begin(struct recording_reader *r, struct problem *p)
{
	const struct { sqlite3_stmt **s; const char *sql; } all[] = {
		{ &r->intervals, "SELECT " SQL_NAMES(interval) " FROM interval ORDER BY id" },
		{ &r->states, "SELECT " SQL_NAMES(state) " FROM state ORDER BY interval, watch" },
		{ &r->series, "SELECT " SQL_NAMES(series) " FROM series INDEXED BY sqlite_autoindex_series_1 "
			      "ORDER BY interval, watch, op" },
	};
	int err = check_intervals(r, p), rc;

	for (u32 i = 0; !err && i < ARRAY_SIZE(all); i++) {
		rc = sqlite3_prepare_v2(r->db, all[i].sql, -1, all[i].s, NULL);
		err = rc ? reader_failed(r, rc, p) : 0;
	}
	r->id = r->state_key = r->series_key = -1;
	err = err ?: reader_begin_slow(r, p) ?: reader_begin_halts(r, p) ?: next_state(r, p) ?: next_series(r, p) ?: reader_next(r, p);
	if (err)
		return err;
	r->origin.start_mono_ns = r->state.mono_ns;
	r->origin.start_wall_ns = r->state.wall_ns;
	return 0;
}
