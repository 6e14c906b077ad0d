// SPDX-License-Identifier: GPL-2.0-only
/* Writes the facts about a recording's whole run: the machine, its devices, what the numbers mean. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "recording/file.h"
#include "recording/rows.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/array.h"
#include "util/cleanup.h"

struct facts {
	sqlite3 *db;
	const struct run_info *run;
	sqlite3_stmt *row;	/* the INSERT that is being filled in */
	int rc;			/* of the first call that failed; nothing is done after that */
	struct recorded_ids *ids;
};

/* Begins a row; columns that get no value are NULL. */
static void row_begin(struct facts *f, const char *sql)
{
	if (!f->rc)
		f->rc = sqlite3_prepare_v2(f->db, sql, -1, &f->row, NULL);
}

static void row_number(struct facts *f, int column, s64 n)
{
	if (!f->rc)
		f->rc = sqlite3_bind_int64(f->row, sqlite_parameter(column), n);
}

static void row_text(struct facts *f, int column, const char *text)
{
	if (!f->rc)
		f->rc = sqlite3_bind_text(f->row, sqlite_parameter(column), text, -1, SQLITE_TRANSIENT);
}

static void row_end(struct facts *f)
{
	if (!f->rc)
		f->rc = sqlite_step_done(f->row);
	sqlite3_finalize(f->row);
	f->row = NULL;
}

static void put_meta_text(struct facts *f, const char *key, const char *text)
{
	row_begin(f, "INSERT INTO " SQL_INTO(meta));
	row_text(f, META_key, key);
	row_text(f, META_value, text);
	row_end(f);
}

static void put_meta(struct facts *f, const char *key, u64 n)
{
	row_begin(f, "INSERT INTO " SQL_INTO(meta));
	row_text(f, META_key, key);
	row_number(f, META_value, n);
	row_end(f);
}

static void put_meta_real(struct facts *f, const char *key, double n)
{
	row_begin(f, "INSERT INTO " SQL_INTO(meta));
	row_text(f, META_key, key);
	if (!f->rc)
		f->rc = sqlite3_bind_double(f->row, sqlite_parameter(META_value), n);
	row_end(f);
}

static void put_percentiles(struct facts *f)
{
	const struct percentiles *ps = &f->run->percentiles;
	char text[PERCENTILES_MAX * 17 + 1] = "", *at = text;

	for (u32 i = 0; i < ps->n; i++)
		at += sprintf(at, "%s%s", i ? "," : "", ps->p[i].name);
	put_meta_text(f, "percentiles", text);
}

static void put_run(struct facts *f)
{
	const struct run_info *run = f->run;
	const struct origin *o = run->origin;

	put_meta_text(f, "version", o->version);
	put_meta_text(f, "engine", run->engine);
	put_meta_text(f, "host", o->host);
	put_meta_text(f, "kernel", o->kernel);
	put_meta_text(f, "command", o->command);
	put_meta_text(f, "label", o->label);
	put_meta(f, "scale", run->scale);
	put_meta(f, "cpus", run->cpus);
	put_meta(f, "memory_bytes", run->memory_bytes);
	put_meta_real(f, "interval_s", run->interval_s);
	put_percentiles(f);
	put_meta(f, "idle_gap_ns", o->idle_gap_ns);
	put_meta(f, "dropped", o->dropped);
	if (run->slow_most)
		put_meta(f, "slow_most", run->slow_most);
	put_meta(f, "finished", 0);
}

/* Writes the marks of the source, which may be a recording itself. */
static void put_marks(struct facts *f)
{
	const struct origin *o = f->run->origin;

	for (u32 i = 0; i < o->n_marks; i++) {
		row_begin(f, "INSERT INTO " SQL_INTO(mark));
		row_number(f, MARK_mono_ns, o->marks[i].mono_ns);
		row_number(f, MARK_wall_ns, o->marks[i].wall_ns);
		row_text(f, MARK_text, o->marks[i].text);
		row_end(f);
	}
}

static s64 device_id(const struct facts *f, u32 i)
{
	return (s64)f->ids->devices[i] - 1;
}

static void put_device(struct facts *f, u32 i)
{
	const struct device *d = &f->run->devices->d[i];

	row_begin(f, "INSERT INTO " SQL_INTO(device));
	row_number(f, DEVICE_id, device_id(f, i));
	row_text(f, DEVICE_name, d->name);
	row_text(f, DEVICE_mapper, d->mapper);
	row_text(f, DEVICE_kind, d->kind);
	row_text(f, DEVICE_model, d->model);
	row_text(f, DEVICE_scheduler, d->scheduler);
	row_number(f, DEVICE_major, d->major);
	row_number(f, DEVICE_minor, d->minor);
	row_number(f, DEVICE_size_bytes, d->size_bytes);
	row_number(f, DEVICE_hw_queues, d->hw_queues);
	row_number(f, DEVICE_tags, d->tags);
	row_number(f, DEVICE_nr_requests, d->nr_requests);
	if (d->parent != i)
		row_number(f, DEVICE_parent, device_id(f, d->parent));
	row_number(f, DEVICE_iostats, d->iostats);
	row_number(f, DEVICE_hidden, d->hidden);
	row_end(f);
}

static void put_lower(struct facts *f, u32 i)
{
	const struct device *d = &f->run->devices->d[i];

	for (u32 k = 0; k < d->n_lower; k++) {
		row_begin(f, "INSERT OR IGNORE INTO " SQL_INTO(lower));
		row_number(f, LOWER_device, device_id(f, i));
		row_number(f, LOWER_lower, device_id(f, d->lower[k]));
		row_end(f);
	}
}

/* Writes the devices of the watches from @first on, unless they are in the file already. */
static void put_devices(struct facts *f, u32 first)
{
	const struct device_table *t = f->run->devices;
	bool *chosen CLEANUP(cleanup_free) = calloc(t->n + 1, sizeof(*chosen));
	u32 before = f->ids->next_device;

	if (!chosen) {
		f->rc = SQLITE_NOMEM;
		return;
	}
	for (u32 i = first; i < f->run->n_watches; i++)
		device_mark_below(t, f->run->watches[i].device - t->d, chosen);
	for (u32 i = 0; i < t->n; i++)
		if (chosen[i] && !f->ids->devices[i])
			f->ids->devices[i] = ++f->ids->next_device;
	for (u32 i = 0; i < t->n; i++) {
		if (f->ids->devices[i] <= before)
			continue;
		put_device(f, i);
		put_lower(f, i);
	}
}

static void put_watches(struct facts *f)
{
	struct recorded_ids *ids = f->ids;
	u32 whole = 0;

	for (; ids->n < f->run->n_watches; ids->n++) {
		const struct watch *w = &f->run->watches[ids->n];

		if (ids->next_watch == BLKLAT_MAX_WATCHES)
			f->rc = SQLITE_TOOBIG;
		if (f->rc)
			return;
		ids->watches[ids->n] = ids->next_watch++;
		if (!w->part)
			whole = ids->watches[ids->n];
		if (w->part && part_is_vacant(w->part))
			continue;	/* and it has no rows */
		row_begin(f, "INSERT INTO " SQL_INTO(watch));
		row_number(f, WATCH_id, ids->watches[ids->n]);
		row_number(f, WATCH_device, device_id(f, w->device - f->run->devices->d));
		row_text(f, WATCH_stage, stage_names[w->stage]);
		if (w->part) {
			row_number(f, WATCH_part_of, whole);
			row_text(f, WATCH_part_by, w->part->by);
			row_text(f, WATCH_part, w->part->label);
		}
		row_end(f);
	}
}

int recorded_ids_init(struct recorded_ids *ids, const struct run_info *run)
{
	bool more = run->most_watches > run->n_watches;

	*ids = (struct recorded_ids){
		.watches = sparse_calloc(run_most_watches(run) + 1, sizeof(*ids->watches)),
		.devices = sparse_calloc(more ? DEVICES_MAX : run->devices->n + 1, sizeof(*ids->devices)),
	};
	return ids->watches && ids->devices ? 0 : -ENOMEM;
}

void recorded_ids_uninit(struct recorded_ids *ids)
{
	free(ids->watches);
	free(ids->devices);
	*ids = (struct recorded_ids){ 0 };
}

void recorded_ids_forget(struct recorded_ids *ids, const struct recorded_ids *before, const struct run_info *run)
{
	for (u32 i = 0; i < run->devices->n && ids->next_device > before->next_device; i++)
		if (ids->devices[i] > before->next_device)
			ids->devices[i] = 0;
	ids->n = before->n;
	ids->next_device = before->next_device;
}

int recorder_write_watches(sqlite3 *db, const struct run_info *run, struct recorded_ids *ids)
{
	struct facts f = { .db = db, .run = run, .ids = ids };

	if (ids->n == run->n_watches)
		return SQLITE_OK;
	put_devices(&f, ids->n);
	put_watches(&f);
	return f.rc;
}

static void put_ops(struct facts *f)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		row_begin(f, "INSERT INTO " SQL_INTO(op));
		row_number(f, OP_id, op);
		row_text(f, OP_name, op_names[op]);
		row_end(f);
	}
}

/* Writes the bounds of the bins, which plain SQL could not compute exactly. */
static void put_cells(struct facts *f, u32 scale)
{
	for (u32 cell = 0; cell < BLKLAT_CELLS(scale); cell++) {
		u64 upper_ns = hist_upper_ns(scale, cell);

		row_begin(f, "INSERT INTO " SQL_INTO(cell));
		row_number(f, CELL_scale, scale);
		row_number(f, CELL_id, cell);
		row_number(f, CELL_lower_ns, hist_lower_ns(scale, cell));
		if (upper_ns != UINT64_MAX)
			row_number(f, CELL_upper_ns, upper_ns);
		row_end(f);
	}
}

int recorder_write_facts(sqlite3 *db, const struct run_info *run, struct recorded_ids *ids)
{
	struct facts f = { .db = db, .run = run };

	put_run(&f);
	put_marks(&f);
	put_ops(&f);
	put_cells(&f, run->scale);
	if (idle_scale(run->scale) != run->scale)
		put_cells(&f, idle_scale(run->scale));
	return f.rc ?: recorder_write_watches(db, run, ids);
}
