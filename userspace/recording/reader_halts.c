// SPDX-License-Identifier: GPL-2.0-only
/* Reads halts, which a recording has if they were looked for. */
#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"

/* Steps to the next row. Rows must ascend, so that reading a damaged file ends. */
static int next_halt(struct recording_reader *r, struct problem *p)
{
	s64 interval = r->halt_interval, from_ns = r->halt_from_ns;
	u32 watch = r->halt_watch;
	int rc = sqlite3_step(r->halts);

	r->halt_left = rc == SQLITE_ROW;
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return reader_failed(r, rc, p);
	r->halt_interval = sqlite3_column_int64(r->halts, HALT_interval);
	r->halt_from_ns = sqlite3_column_int64(r->halts, HALT_from_ns);
	if (!column_watch(r, r->halts, HALT_watch, &r->halt_watch) || r->watches[r->halt_watch].part)
		return reader_damaged(r, p, "a halt is of no watch");
	if (r->halt_interval > interval || (r->halt_interval == interval && r->halt_watch >= watch &&
					    (r->halt_watch > watch || r->halt_from_ns > from_ns)))
		return 0;
	return reader_damaged(r, p, "its halts are out of order");
}

int reader_begin_halts(struct recording_reader *r, struct problem *p)
{
	int rc;
	s64 there = sqlite_number(r->db, "SELECT count(*) FROM sqlite_schema WHERE name = 'halt'", &rc);

	if (rc)
		return reader_failed(r, rc, p);
	if (!there)
		return 0;
	rc = reader_check_table(r, &recording_halt_tables[0], p);
	if (rc)
		return rc;
	rc = sqlite3_prepare_v2(r->db, "SELECT " SQL_NAMES(halt) " FROM halt ORDER BY interval, watch, from_ns", -1, &r->halts, NULL);
	r->halt_interval = -1;
	r->capture.glanced = true;
	return rc ? reader_failed(r, rc, p) : next_halt(r, p);
}

static bool take_halt(struct recording_reader *r)
{
	struct watch_counts *w = &r->state.w[r->halt_watch];
	struct halt h;

	if (w->n_halts == HALTS_MOST || !column_u64(r->halts, HALT_from_ns, RECORDING_TOTAL_MAX, &h.from_ns) ||
	    !column_u64(r->halts, HALT_to_ns, r->state.mono_ns, &h.to_ns) || h.from_ns >= h.to_ns)
		return false;
	w->halts[w->n_halts++] = h;
	return true;
}

int reader_take_halts(struct recording_reader *r, struct problem *p)
{
	int err = 0;

	for (u32 i = 0; i < r->n_watches; i++)
		r->state.w[i].n_halts = 0;
	while (!err && r->halt_left && r->halt_interval <= r->id)
		err = r->halt_interval == r->id && take_halt(r) ? next_halt(r, p) :
		      reader_damaged(r, p, "the halts of interval %lld are invalid", r->id);
	return err;
}
