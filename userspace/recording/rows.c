// SPDX-License-Identifier: GPL-2.0-only
#include "recording/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recording/bins_codec.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/utf8.h"

/* Only rows of the rest come several times, see struct recording_rows. */
#define ADDED(column) #column " = " #column " + excluded." #column
#define OF_BOTH(function, column) \
	#column " = (SELECT " #function "(v) FROM (SELECT series." #column " AS v UNION ALL SELECT excluded." #column "))"
#define ADD_TO_STATE \
	" ON CONFLICT(interval, watch) DO UPDATE SET " ADDED(in_flight) ", " ADDED(waited_ns) ", " \
	"oldest_ns = max(oldest_ns, excluded.oldest_ns)"
#define ADD_TO_SERIES \
	" ON CONFLICT(interval, watch, op) DO UPDATE SET " ADDED(ios) ", " ADDED(bytes) ", " ADDED(errors) ", " \
	ADDED(sum_ns) ", " OF_BOTH(min, min_ns) ", " OF_BOTH(max, max_ns) ", " OF_BOTH(bins_sum, bins) ", " \
	ADDED(idle_ios) ", " ADDED(idle_sum_ns) ", " OF_BOTH(bins_sum, idle_bins)

int recording_rows_init(struct recording_rows *r, sqlite3 *db, const struct run_info *run, struct recorded_ids *known)
{
	const struct { sqlite3_stmt **s; const char *sql; } all[] = {
		{ &r->interval, "INSERT INTO " SQL_INTO(interval) },
		{ &r->state, "INSERT INTO " SQL_INTO(state) ADD_TO_STATE },
		{ &r->series, "INSERT INTO " SQL_INTO(series) ADD_TO_SERIES },
		{ &r->part, "INSERT OR IGNORE INTO watch(id, device, stage, part_of, part_by, part) "
			    "SELECT ?1, device, stage, id, ?3, ?4 FROM watch WHERE id = ?2" },
		{ &r->busy, "INSERT INTO " SQL_INTO(busy) },
		{ run->glanced ? &r->halt : NULL, "INSERT INTO " SQL_INTO(halt) },
		{ run->slow_most ? &r->slow : NULL, "INSERT INTO " SQL_INTO(slow) },
		{ run->slow_most ? &r->slow_file : NULL, "INSERT INTO " SQL_INTO(slow_file) },
		{ run->slow_most ? &r->slow_found : NULL, "INSERT INTO " SQL_INTO(slow_found) },
	};
	u32 most = run_most_watches(run) + 1;
	int rc = bins_sum_register(db);

	*r = (struct recording_rows){
		.known = known, .n = most,
		.ids = sparse_calloc(most, sizeof(*r->ids)), .first = sparse_calloc(most, sizeof(*r->first)),
	};
	if (!r->ids || !r->first)
		return SQLITE_NOMEM;
	for (u32 i = 0; !rc && i < ARRAY_SIZE(all); i++)
		rc = !all[i].s ? SQLITE_OK
			       : sqlite3_prepare_v3(db, all[i].sql, -1, SQLITE_PREPARE_PERSISTENT, all[i].s, NULL);
	return rc;
}

void recording_rows_uninit(struct recording_rows *r)
{
	sqlite3_finalize(r->interval);
	sqlite3_finalize(r->state);
	sqlite3_finalize(r->series);
	sqlite3_finalize(r->part);
	sqlite3_finalize(r->busy);
	sqlite3_finalize(r->halt);
	sqlite3_finalize(r->slow);
	sqlite3_finalize(r->slow_file);
	sqlite3_finalize(r->slow_found);
	for (u32 i = 0; r->first && i < r->n; i++)
		part_keep(&r->first[i], NULL);
	for (u32 i = 0; i < r->n_later; i++)
		part_keep(&r->later[i].part, NULL);
	free(r->ids);
	free(r->first);
	free(r->later);
	*r = (struct recording_rows){ 0 };
}

static int put_interval(struct recording_rows *r, s64 id, u64 mono_ns, s64 wall_ns, u64 skipped)
{
	return sqlite_put_row(r->interval, VALUES(
		[INTERVAL_id] = NUMBER(id), [INTERVAL_mono_ns] = NUMBER(mono_ns), [INTERVAL_wall_ns] = NUMBER(wall_ns),
		[INTERVAL_skipped] = NUMBER(skipped), [INTERVAL_merged] = NUMBER(id ? 1 : 0)));
}

static int put_state(struct recording_rows *r, s64 id, u32 watch, const struct watch_counts *w)
{
	struct sqlite_value *values = VALUES(
		[STATE_interval] = NUMBER(id), [STATE_watch] = NUMBER(watch), [STATE_started] = NUMBER(w->started),
		[STATE_started_after] = NUMBER(w->started_after), [STATE_in_flight] = NUMBER(w->in_flight),
		[STATE_in_flight_after] = NUMBER(w->in_flight_after), [STATE_oldest_ns] = NUMBER(w->oldest_ns),
		[STATE_kernel_ios] = KNOWN(w->kernel_known, w->kernel_ios),
		[STATE_kernel_in_flight] = KNOWN(w->kernel_known, w->kernel_in_flight), [STATE_gone] = NUMBER(w->gone),
		[STATE_replaced] = NUMBER(w->replaced), [STATE_unsettled] = NUMBER(w->unsettled), [STATE_waited_ns] = NUMBER(w->waited_ns));

	for (u32 i = 0; i < BLKLAT_BUSY; i++)
		values[recording_account_columns[i]] = NUMBER(w->accounts[i]);
	return sqlite_put_row(r->state, values);
}

static int put_halts(struct recording_rows *r, s64 id, u32 watch, const struct watch_counts *w)
{
	int rc = SQLITE_OK;

	for (u32 i = 0; !rc && r->halt && i < w->n_halts; i++)
		rc = sqlite_put_row(r->halt, VALUES([HALT_interval] = NUMBER(id), [HALT_watch] = NUMBER(watch),
						    [HALT_from_ns] = NUMBER(w->halts[i].from_ns), [HALT_to_ns] = NUMBER(w->halts[i].to_ns)));
	return rc;
}

static int put_busy(struct recording_rows *r, s64 id, u32 watch, u64 busy_ns)
{
	return !busy_ns ? SQLITE_OK : sqlite_put_row(r->busy, VALUES(
		[BUSY_interval] = NUMBER(id), [BUSY_watch] = NUMBER(watch), [BUSY_busy_ns] = NUMBER(busy_ns)));
}

/* Everything else about a part is in the whole's row, and NULL here. Writes no row if nothing is in flight. */
static int put_part_state(struct recording_rows *r, s64 id, u32 watch, const struct watch_counts *w)
{
	if (!w->in_flight && !w->oldest_ns && !w->waited_ns)
		return SQLITE_OK;
	return sqlite_put_row(r->state, VALUES(
		[STATE_interval] = NUMBER(id), [STATE_watch] = NUMBER(watch), [STATE_in_flight] = NUMBER(w->in_flight),
		[STATE_oldest_ns] = NUMBER(w->oldest_ns), [STATE_waited_ns] = NUMBER(w->waited_ns)));
}

/* --- ids -------------------------------------------------------------------------------------- */

static u32 whole_of(const struct run_info *run, u32 watch)
{
	while (run->watches[watch].part)
		watch--;
	return watch;
}

/* Owners of parts are unknown when the run begins, so their watches are written just before their first rows. */
static int put_part(struct recording_rows *r, u32 id, u32 whole, const struct part *part)
{
	sqlite3_bind_int64(r->part, 1, id);
	sqlite3_bind_int64(r->part, 2, whole);
	return sqlite3_bind_text(r->part, 3, part->by, -1, SQLITE_STATIC) ?:
	       sqlite3_bind_text(r->part, 4, part->label, -1, SQLITE_STATIC) ?: sqlite_step_done(r->part);
}

static bool has_owner(const struct run_info *run, u32 watch)
{
	const struct part *part = run->watches[watch].part;

	return part_has_owners(part) && part->number >= BLKLAT_CGROUP_FIRST;
}

/*
 * A part that comes again gets the id that it had, wherever that was. (Files from elsewhere may have
 * two parts of the same label side by side.)
 */
static bool find_again(const struct recording_rows *r, const struct run_info *run, u32 watch, u32 *ret)
{
	const struct part *part = run->watches[watch].part;
	u32 whole = whole_of(run, watch);

	for (u32 i = whole + 1; i < run->n_watches && run->watches[i].part; i++) {
		*ret = r->known->watches[i];
		if (r->first[i] == part && run->watches[i].part != part)
			return true;
	}
	for (u32 i = 0; i < r->n_later; i++) {
		*ret = r->later[i].id;
		if (r->later[i].whole == whole && r->later[i].part == part)
			return true;
	}
	return false;
}

/* Sets the id of the part that holds what has no part of its own. Returns an SQLite result; likewise: */
static int find_rest(const struct recording_rows *r, const struct run_info *run, u32 whole, u32 *ret)
{
	for (u32 i = whole + 1; i < run->n_watches && run->watches[i].part; i++) {
		*ret = r->known->watches[i];
		if (run->watches[i].part->number == BLKLAT_CGROUP_REST)
			return SQLITE_OK;
	}
	return SQLITE_TOOBIG;
}

static int add_later(struct recording_rows *r, const struct run_info *run, u32 watch, u32 *ret)
{
	u32 later = r->known->next_watch - r->known->n, whole = whole_of(run, watch);

	/* Enough are kept for all devices that may come. Processes have no end; a reader needs memory for each. */
	if (later + run_most_watches(run) >= BLKLAT_MAX_WATCHES ||
	    (later >= RECORDING_PROCESSES_MAX && part_is_by(run->watches[watch].part, BLKLAT_BY_PROCESS)))
		return find_rest(r, run, whole, ret);
	if (array_more(&r->later, sizeof(*r->later), r->n_later, &r->room))
		return SQLITE_NOMEM;
	*ret = r->known->next_watch++;
	r->later[r->n_later] = (struct recorded_part){ whole, *ret, NULL };
	part_keep(&r->later[r->n_later++].part, run->watches[watch].part);
	return SQLITE_OK;
}

static int find_id(struct recording_rows *r, const struct run_info *run, u32 watch)
{
	const struct part *part = run->watches[watch].part;
	int rc = SQLITE_OK;

	if (r->first[watch] != part && !find_again(r, run, watch, &r->ids[watch])) {
		r->ids[watch] = r->known->watches[watch];
		if (r->first[watch])
			rc = add_later(r, run, watch, &r->ids[watch]);
		else
			part_keep(&r->first[watch], part);
	}
	return rc ?: put_part(r, r->ids[watch], r->known->watches[whole_of(run, watch)], part);
}

/* Gives an id to every watch that has rows in the interval. */
static int find_ids(struct recording_rows *r, const struct run_info *run, const struct frames *is)
{
	int rc = SQLITE_OK;

	for (u32 i = 0; i < run->n_watches; i++)
		r->ids[i] = r->known->watches[i];
	for (u32 i = 0; !rc && i < is->n; i++) {
		u32 watch = is->f[i].watch - run->watches;

		if (has_owner(run, watch) && (frame_is_busy(&is->f[i]) || frame_has_sums(&is->f[i])))
			rc = find_id(r, run, watch);
	}
	return rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int put_state_of(struct recording_rows *r, s64 id, const struct run_info *run, u32 watch,
			const struct watch_counts *w)
{
	return run->watches[watch].part ? put_part_state(r, id, r->ids[watch], w) : put_state(r, id, r->ids[watch], w);
}

/* A whole that is divided has no series of its own: they are the sum of its parts'. */
static bool has_series(const struct run_info *run, u32 watch)
{
	return !watch_parts(run->watches, run->n_watches, watch);
}

/* A row of table series, without its key. Its bins are borrowed. */
struct series {
	u64 ios, bytes, errors, sum_ns;
	u64 min_ns, max_ns;	/* meaningless without IOs */
	const struct hist *hist;
	u64 idle_ios, idle_sum_ns;
	const struct hist *idle;
};

/* Writes no row if nothing happened. There may be bytes without an IO: parts of one that has not ended yet. */
static int put_series(struct recording_rows *r, s64 id, u32 watch, u32 op, const struct series *s)
{
	u8 bins[BINS_CODEC_MAX], idle[BINS_CODEC_MAX];

	if (!s->ios && !s->bytes && !s->errors && !s->sum_ns && !s->idle_sum_ns)
		return SQLITE_OK;
	return sqlite_put_row(r->series, VALUES(
		[SERIES_interval] = NUMBER(id), [SERIES_watch] = NUMBER(watch), [SERIES_op] = NUMBER(op),
		[SERIES_ios] = NUMBER(s->ios), [SERIES_bytes] = NUMBER(s->bytes), [SERIES_errors] = NUMBER(s->errors),
		[SERIES_sum_ns] = NUMBER(s->sum_ns), [SERIES_min_ns] = KNOWN(s->ios, s->min_ns),
		[SERIES_max_ns] = KNOWN(s->ios, s->max_ns), [SERIES_bins] = BLOB(bins, s->ios ? bins_encode(s->hist, bins) : 0),
		[SERIES_idle_ios] = NUMBER(s->idle_ios), [SERIES_idle_sum_ns] = NUMBER(s->idle_sum_ns),
		[SERIES_idle_bins] = BLOB(idle, s->idle_ios ? bins_encode(s->idle, idle) : 0)));
}

/* Writes what an op had counted before the first interval. */
static int put_op_before(struct recording_rows *r, u32 watch, u32 op, const struct op_counts *o)
{
	const struct series s = {
		.ios = hist_count(&o->hist), .bytes = o->bytes, .errors = o->errors, .sum_ns = o->sum_ns, .hist = &o->hist,
		.idle_ios = hist_count(&o->after_idle), .idle_sum_ns = o->after_idle_sum_ns, .idle = &o->after_idle,
	};

	return put_series(r, 0, watch, op, &s);
}

static int put_before(struct recording_rows *r, const struct run_info *run, u32 watch,
		      const struct watch_counts *before)
{
	int rc = SQLITE_OK;

	r->ids[watch] = r->known->watches[watch];
	/* Its device was already gone, so later intervals say nothing about it. */
	if (before->gone && !before->awaited)
		rc = put_state_of(r, 0, run, watch, before);
	for (u32 op = 0; !rc && has_series(run, watch) && op < BLKLAT_OPS; op++)
		rc = put_op_before(r, r->ids[watch], op, &before->ops[op]);
	return rc;
}

int recording_rows_start(struct recording_rows *r, const struct run_info *run, const struct frames *is)
{
	const struct snapshot *now = is->now;
	s64 length_ns = is->n ? llround(is->f[0].interval_s * NSEC_PER_SEC) : 0;
	u64 mono_ns = now->mono_ns - length_ns;
	s64 wall_ns = now->wall_ns - length_ns;
	int rc;

	/* The wall clock may have been changed since the start. */
	if (run->origin->start_mono_ns)
		wall_ns = run->origin->start_wall_ns + (s64)(mono_ns - run->origin->start_mono_ns);
	rc = put_interval(r, 0, mono_ns, wall_ns, 0);
	/* Devices that have come since began at 0, also those in the place of others. */
	for (u32 i = 0; !rc && i < run->n_watches && i < is->before->n; i++)
		rc = put_before(r, run, i, &is->before->w[i]);
	return rc;
}

/*
 * The sums are those counted in the interval. A replay assigns them to their IOs again, as the frames did, so nothing
 * that is still partial gets lost.
 */
static int put_op(struct recording_rows *r, s64 id, u32 watch, u32 op, const struct op_frame *o)
{
	const struct series s = {
		.ios = o->ios, .bytes = o->counted.bytes, .errors = o->counted.errors, .sum_ns = o->counted.sum_ns,
		.min_ns = o->min_ns, .max_ns = o->max_ns, .hist = &o->hist,
		.idle_ios = o->ios ? o->after_idle_ios : 0, .idle_sum_ns = o->ios ? o->after_idle_sum_ns : 0,
		.idle = &o->after_idle,
	};

	return put_series(r, id, watch, op, &s);
}

/* --- slow IOs --------------------------------------------------------------------------------- */

/* The watch whose part the IO is in, or the whole. */
static u32 watch_of(const struct run_info *run, u32 whole, const struct slow_io *io)
{
	for (u32 i = whole + 1; io->part && i < run->n_watches && run->watches[i].part; i++)
		if (run->watches[i].part == io->part)
			return i;
	return whole;
}

/* Fields from number @field on, as they have columns from @values on. */
static void fill_fields(struct sqlite_value *values, const struct slow_io *io, u32 field, u32 end)
{
	for (; field < end; field++) {
		const struct slow_value v = slow_value(io, &slow_io_fields[field]);
		bool text = v.text && slow_io_fields[field].kind != SLOW_KIND_OP;

		*values++ = !v.known ? NONE : text ? TEXT(v.text) : NUMBER(v.n);
	}
}

static int put_file(struct recording_rows *r, s64 n, const struct slow_io *io)
{
	struct sqlite_value *values = VALUES([SLOW_FILE_n] = NUMBER(n));

	if (!io->told.pages)
		return SQLITE_OK;
	fill_fields(values + SLOW_FILE_pages, io, SLOW_FIELDS_OF_SLOW, SLOW_FIELDS);
	return sqlite_put_row(r->slow_file, values);
}

static int put_slow(struct recording_rows *r, s64 id, const struct run_info *run, u32 whole, const struct slow_io *io)
{
	struct sqlite_value *values = VALUES([SLOW_interval] = NUMBER(id), [SLOW_n] = NUMBER(r->n_slow),
					     [SLOW_end_wall_ns] = NUMBER(io->end_ns));
	u32 watch = watch_of(run, whole, io);
	int rc = has_owner(run, watch) ? find_id(r, run, watch) : SQLITE_OK;

	if (rc)
		return rc;
	values[SLOW_watch] = NUMBER(r->ids[watch]);
	fill_fields(values + SLOW_latency_ns, io, 0, SLOW_FIELDS_OF_SLOW);
	/* The end of a path says most. */
	values[SLOW_cgroup] = io->cgroup ? TEXT(utf8_tail(io->cgroup, RECORDING_CGROUP_BYTES - 1)) : NONE;
	return put_file(r, r->n_slow++, io) ?: sqlite_put_row(r->slow, values);
}

static int put_found(struct recording_rows *r, s64 id, u32 watch, u64 found)
{
	return sqlite_put_row(r->slow_found,
			      VALUES([SLOW_FOUND_interval] = NUMBER(id), [SLOW_FOUND_watch] = NUMBER(watch),
				     [SLOW_FOUND_found] = NUMBER(found)));
}

static int put_slow_ios(struct recording_rows *r, s64 id, const struct run_info *run, const struct frames *is)
{
	int rc = SQLITE_OK;

	for (u32 i = 0; !rc && i < is->n; i++) {
		const struct slow_of *of = is->f[i].slow;
		u32 whole = is->f[i].watch - run->watches;

		for (u32 n = 0; !rc && of && n < of->n; n++)
			rc = put_slow(r, id, run, whole, &is->slow->io[of->first + n]);
		if (!rc && of && of->found)
			rc = put_found(r, id, r->known->watches[whole], of->found);
	}
	return rc;
}

int recording_rows_interval(struct recording_rows *r, s64 id, const struct run_info *run, const struct frames *is)
{
	int rc = put_interval(r, id, is->now->mono_ns, is->now->wall_ns, is->now->skipped) ?: find_ids(r, run, is);

	for (u32 i = 0; !rc && i < is->n; i++) {
		const struct frame *f = &is->f[i];
		u32 watch = f->watch - run->watches;

		rc = put_state_of(r, id, run, watch, f->counts) ?: put_busy(r, id, r->ids[watch], f->busy_ns) ?:
		     put_halts(r, id, r->ids[watch], f->counts);
		for (u32 op = 0; !rc && has_series(run, watch) && op < BLKLAT_OPS; op++)
			rc = put_op(r, id, r->ids[watch], op, &f->ops[op]);
	}
	return rc || !is->slow || !r->slow ? rc : put_slow_ios(r, id, run, is);
}
