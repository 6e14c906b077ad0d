// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes the rows of an interval: the state of the watches at its end, the series of what happened in it, halts, slow
 * IOs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "recording/bins_codec.h"
#include "recording/reader.h"
#include "recording/schema.h"

/* Whether @n may be added to a sum, which is bounded so that nothing computed from it can overflow. */
static bool add(struct recording_reader *r, u64 n)
{
	if (n > RECORDING_TOTAL_MAX - r->total)
		return false;
	r->total += n;
	return true;
}

static bool take_whole_state(sqlite3_stmt *s, struct watch_counts *w)
{
	if (!column_u64(s, STATE_started, RECORDING_COUNT_MAX, &w->started) ||
	    !column_u64(s, STATE_started_after, RECORDING_COUNT_MAX, &w->started_after) ||
	    !column_u64(s, STATE_in_flight, RECORDING_COUNT_MAX, &w->in_flight) ||
	    !column_u64(s, STATE_in_flight_after, RECORDING_COUNT_MAX, &w->in_flight_after) ||
	    !column_u64(s, STATE_oldest_ns, RECORDING_TOTAL_MAX, &w->oldest_ns) ||
	    !column_bool(s, STATE_gone, &w->gone) || !column_bool(s, STATE_replaced, &w->replaced) ||
	    !column_bool(s, STATE_unsettled, &w->unsettled) ||
	    !column_u64(s, STATE_waited_ns, RECORDING_TOTAL_MAX, &w->waited_ns))
		return false;
	for (u32 i = 0; i < BLKLAT_BUSY; i++)
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
static bool take_part_state(sqlite3_stmt *s, struct watch_counts *w)
{
	return column_u64(s, STATE_in_flight, RECORDING_COUNT_MAX, &w->in_flight) &&
	       column_u64(s, STATE_oldest_ns, RECORDING_TOTAL_MAX, &w->oldest_ns) &&
	       column_u64(s, STATE_waited_ns, RECORDING_TOTAL_MAX, &w->waited_ns);
}

/* Reads column @i, a watch's id. */
static bool column_watch(const struct recording_reader *r, sqlite3_stmt *s, int i, u32 *ret)
{
	u64 id;

	if (!column_u64(s, i, r->n_ids - 1, &id))
		return false;
	*ret = r->watch_of_id[id];
	return *ret < r->n_watches;
}

/* A device that went away does not come back. */
int reader_take_state(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	struct watch_counts *w;
	u32 i;

	(void)p;
	if (!column_watch(r, s, STATE_watch, &i))
		return 1;
	w = &r->state.w[i];
	if (r->watches[i].part)
		return !take_part_state(s, w);
	if (w->gone && !w->awaited)
		return 1;
	r->n_states += !w->gone;
	w->awaited = false;
	return !take_whole_state(s, w);
}

/* Reads the bins in column @i, which must hold as many IOs as column @ios says. */
static bool take_bins(struct recording_reader *r, sqlite3_stmt *s, int i, int ios, struct hist *to)
{
	const void *bytes = sqlite3_column_blob(s, i);
	u64 n = 0, said;

	hist_clear(to);
	return sqlite3_column_type(s, i) == SQLITE_BLOB && !bins_decode(bytes, sqlite3_column_bytes(s, i), to, &n) &&
	       column_u64(s, ios, RECORDING_COUNT_MAX, &said) && n == said && add(r, n);
}

static bool take_sum(struct recording_reader *r, sqlite3_stmt *s, int i, u64 *to)
{
	return column_u64(s, i, RECORDING_TOTAL_MAX, to) && add(r, *to);
}

/* Extremes must lie in the first and the last bin with IOs. For IOs from before the run they are unknown. */
static bool take_extremes(struct recording_reader *r, sqlite3_stmt *s, struct op_counts *o)
{
	u32 first, last;

	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	if (!hist_range(&o->hist, &first, &last) || !r->begun)
		return true;
	return column_u64(s, SERIES_min_ns, RECORDING_TOTAL_MAX, &o->min_ns) &&
	       column_u64(s, SERIES_max_ns, RECORDING_TOTAL_MAX, &o->max_ns) && o->min_ns <= o->max_ns &&
	       blklat_cell(o->min_ns, r->scale) == first && blklat_cell(o->max_ns, r->scale) == last;
}

static bool take_row(struct recording_reader *r, sqlite3_stmt *s, struct op_counts *o)
{
	return take_sum(r, s, SERIES_bytes, &o->bytes) && take_sum(r, s, SERIES_errors, &o->errors) &&
	       take_sum(r, s, SERIES_sum_ns, &o->sum_ns) &&
	       take_bins(r, s, SERIES_bins, SERIES_ios, &o->hist) && take_extremes(r, s, o) &&
	       take_sum(r, s, SERIES_idle_sum_ns, &o->after_idle_sum_ns) &&
	       take_bins(r, s, SERIES_idle_bins, SERIES_idle_ios, &o->after_idle);
}

/* Adds the row to the op's counts, whose histograms take memory from their first IO on. */
static int add_row(struct recording_reader *r, struct op_counts *to, struct problem *p)
{
	u64 bytes = to->ios_before || to->hist.octaves || !r->row.hist.octaves ? 0 : replay_op_bytes(r->state.scale);

	if (budget_take(r->budget, bytes))
		return problem_set(p, -E2BIG, "%s: what its %u watches count does not fit in the memory limit: raise --max-memory",
				   r->file, r->n_watches);
	r->taken += bytes;
	op_counts_add(to, &r->row);
	return 0;
}

/* The counts of a part are added to its whole, too, which has no rows of its own. */
int reader_take_series(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	u64 op;
	u32 i;
	int err;

	if (!column_watch(r, s, SERIES_watch, &i) || watch_parts(r->watches, r->n_watches, i) ||
	    !column_u64(s, SERIES_op, BLKLAT_OPS - 1, &op) || !take_row(r, s, &r->row))
		return 1;
	err = add_row(r, &r->state.w[i].ops[op], p);
	while (r->watches[i].part)
		i--;
	return err || !watch_parts(r->watches, r->n_watches, i) ? err : add_row(r, &r->state.w[i].ops[op], p);
}

int reader_take_busy(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	u64 ns;
	u32 i;

	(void)p;
	if (!column_watch(r, s, BUSY_watch, &i) || r->watches[i].part || !take_sum(r, s, BUSY_busy_ns, &ns))
		return 1;
	r->state.w[i].accounts[BLKLAT_BUSY] += ns;
	return 0;
}

int reader_take_halt(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	struct watch_counts *w;
	struct halt h;
	u32 i;

	(void)p;
	if (!column_watch(r, s, HALT_watch, &i) || r->watches[i].part)
		return 1;
	w = &r->state.w[i];
	if (w->n_halts == HALTS_MOST || !column_u64(s, HALT_from_ns, RECORDING_TOTAL_MAX, &h.from_ns) ||
	    !column_u64(s, HALT_to_ns, r->state.mono_ns, &h.to_ns) || h.from_ns >= h.to_ns)
		return 1;
	w->halts[w->n_halts++] = h;
	return 0;
}

/* --- slow IOs --------------------------------------------------------------------------------- */

#define LABEL_BYTES 32		/* of an error, a part, pages or a device */

/* Sets a field that is known. Returns false if it can't have this value. */
static bool set_field(struct blklat_slow *t, const struct slow_field *f, u64 n, const char *text)
{
	const struct part *part;
	u32 major, minor;
	int end = 0;

	t->known |= f->known;
	switch (f->kind) {
	case SLOW_KIND_BOOL:
		t->known |= n ? f->of : 0;
		return true;
	case SLOW_KIND_CGROUP:
		return true;
	case SLOW_KIND_DEVICE:
		if (sscanf(text, "%u:%u%n", &major, &minor, &end) != 2 || text[end] || major > 0xfff || minor > 0xfffff)
			return false;
		n = major << 20 | minor;
		break;
	case SLOW_KIND_PAGES:
		while (++n < BLKLAT_PAGES_KINDS && strcmp(text, slow_pages_name(n)))
			;
		if (n == BLKLAT_PAGES_KINDS)
			return false;
		break;
	case SLOW_KIND_ERROR:
		n = slow_error_named(text);
		break;
	case SLOW_KIND_PART:
		part = part_find(by_names[f->of], text);
		n = part ? part->number : 0;
		break;
	default:
		break;
	}
	memcpy((char *)t + f->offset, f->kind == SLOW_KIND_TEXT ? text : (const char *)&n, f->size);
	return n || (f->kind != SLOW_KIND_NOT_0 && f->kind != SLOW_KIND_PART && f->kind != SLOW_KIND_DEVICE);
}

/* @text has room for a cgroup's path. @unknown: the bits of blklat_slow.known whose fields are NULL. */
static bool take_field(sqlite3_stmt *s, u32 i, struct blklat_slow *t, char *text, u8 *unknown)
{
	const struct slow_field *f = &slow_io_fields[i];
	size_t room = f->kind == SLOW_KIND_CGROUP ? RECORDING_CGROUP_BYTES :
		      f->kind == SLOW_KIND_TEXT ? f->size : LABEL_BYTES;
	int column = SLOW_latency_ns + i;
	u64 n = 0;

	if (sqlite3_column_type(s, column) == SQLITE_NULL) {
		*unknown |= f->known;
		return f->known || (f->kind != SLOW_KIND_NUMBER && f->kind != SLOW_KIND_OP);
	}
	if (f->kind <= SLOW_KIND_BOOL ? !column_u64(s, column, f->most, &n) : !column_text(s, column, text, room))
		return false;
	return set_field(t, f, n, text);
}

/* Takes an IO, except for its cgroup, which the caller gets in @ret_cgroup if there is one, else "". */
static bool take_io(struct recording_reader *r, sqlite3_stmt *s, struct slow_io *io,
		    char ret_cgroup[RECORDING_CGROUP_BYTES])
{
	char text[RECORDING_CGROUP_BYTES] = "";
	u8 unknown = 0;

	*io = (struct slow_io){ 0 };
	*ret_cgroup = '\0';
	if (!column_watch(r, s, SLOW_watch, &io->watch) || !column_wall_ns(s, SLOW_end_wall_ns, &io->end_ns))
		return false;
	for (u32 i = 0; i < SLOW_FIELDS; i++) {
		bool cgroup = slow_io_fields[i].kind == SLOW_KIND_CGROUP;

		if (!take_field(s, i, &io->told, cgroup ? ret_cgroup : text, &unknown))
			return false;
	}
	io->part = r->watches[io->watch].part;
	while (r->watches[io->watch].part)
		io->watch--;
	return !(io->told.known & unknown);
}

int reader_take_slow(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	char cgroup[RECORDING_CGROUP_BYTES];
	struct slow_io io;
	int err;

	if (!take_io(r, s, &io, cgroup))
		return 1;
	r->slow_bytes += sizeof(io) + strlen(cgroup);
	if (r->slow_bytes > r->slow_bytes_most)
		return problem_set(p, -E2BIG, "%s: the slow IOs of interval %lld exceed their share of the memory limit: raise --max-memory",
				   r->file, r->id);
	io.cgroup = *cgroup ? cgroup : NULL;
	err = slow_ios_add(&r->slow, &io);
	return err ? problem_set(p, err, "%s: out of memory", r->file) : 0;
}

int reader_take_slow_found(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	u64 found;
	u32 watch;

	(void)p;
	if (!column_watch(r, s, SLOW_FOUND_watch, &watch) || r->watches[watch].part ||
	    !column_u64(s, SLOW_FOUND_found, RECORDING_COUNT_MAX, &found) || found < r->slow.of[watch].found)
		return 1;
	r->slow.of[watch].found = found;
	return 0;
}
