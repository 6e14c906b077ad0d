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
	int rc;			/* of the first call that failed; nothing is done after that */
	struct recorded_ids *ids;
};

static void put_row(struct facts *f, const char *sql, const struct sqlite_value *values)
{
	sqlite3_stmt *row CLEANUP(cleanup_statement) = NULL;

	if (!f->rc)
		f->rc = sqlite3_prepare_v2(f->db, sql, -1, &row, NULL);
	f->rc = f->rc ?: sqlite_put_row(row, values);
}

static void put_meta(struct facts *f, const char *key, struct sqlite_value value)
{
	put_row(f, "INSERT INTO " SQL_INTO(meta), VALUES([META_key] = TEXT(key), [META_value] = value));
}

static void put_percentiles(struct facts *f)
{
	const struct percentiles *ps = &f->run->percentiles;
	char text[PERCENTILES_MAX * 17 + 1] = "", *at = text;

	for (u32 i = 0; i < ps->n; i++)
		at += sprintf(at, "%s%s", i ? "," : "", ps->p[i].name);
	put_meta(f, "percentiles", TEXT(text));
}

static void put_run(struct facts *f)
{
	const struct run_info *run = f->run;
	const struct origin *o = run->origin;

	put_meta(f, "version", TEXT(o->version));
	put_meta(f, "engine", TEXT(run->engine));
	put_meta(f, "host", TEXT(o->host));
	put_meta(f, "kernel", TEXT(o->kernel));
	put_meta(f, "command", TEXT(o->command));
	put_meta(f, "label", TEXT(o->label));
	put_meta(f, "scale", NUMBER(run->scale));
	put_meta(f, "cpus", NUMBER(run->cpus));
	put_meta(f, "memory_bytes", NUMBER(run->memory_bytes));
	put_meta(f, "interval_s", REAL(run->interval_s));
	put_percentiles(f);
	put_meta(f, "idle_gap_ns", NUMBER(o->idle_gap_ns));
	put_meta(f, "dropped", NUMBER(o->dropped));
	if (run->slow_most)
		put_meta(f, "slow_most", NUMBER(run->slow_most));
	put_meta(f, "finished", NUMBER(0));
}

static s64 device_id(const struct facts *f, u32 i)
{
	return (s64)f->ids->devices[i] - 1;
}

static void put_device(struct facts *f, u32 i)
{
	const struct device *d = &f->run->devices->d[i];

	put_row(f, "INSERT INTO " SQL_INTO(device), VALUES(
		[DEVICE_id] = NUMBER(device_id(f, i)), [DEVICE_name] = TEXT(d->name), [DEVICE_mapper] = TEXT(d->mapper),
		[DEVICE_kind] = TEXT(d->kind), [DEVICE_model] = TEXT(d->model), [DEVICE_scheduler] = TEXT(d->scheduler),
		[DEVICE_major] = NUMBER(d->major), [DEVICE_minor] = NUMBER(d->minor), [DEVICE_size_bytes] = NUMBER(d->size_bytes),
		[DEVICE_hw_queues] = NUMBER(d->hw_queues), [DEVICE_tags] = NUMBER(d->tags), [DEVICE_nr_requests] = NUMBER(d->nr_requests),
		[DEVICE_parent] = d->parent != i ? NUMBER(device_id(f, d->parent)) : NONE,
		[DEVICE_iostats] = NUMBER(d->iostats), [DEVICE_hidden] = NUMBER(d->hidden)));
#define IS_KNOWN(what) d->what[0]
#define VALUE(what) [IDENTITY_##what] = TEXT(d->what)
#define COMMA ,
	if (DEVICE_IDENTITY(IS_KNOWN, ||))
		put_row(f, "INSERT INTO " SQL_INTO(identity),
			VALUES([IDENTITY_device] = NUMBER(device_id(f, i)), DEVICE_IDENTITY(VALUE, COMMA)));
}

static void put_lower(struct facts *f, u32 i)
{
	const struct device *d = &f->run->devices->d[i];

	for (u32 k = 0; k < d->n_lower; k++)
		put_row(f, "INSERT OR IGNORE INTO " SQL_INTO(lower),
			VALUES([LOWER_device] = NUMBER(device_id(f, i)), [LOWER_lower] =
										 NUMBER(device_id(f, d->lower[k]))));
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
		put_row(f, "INSERT INTO " SQL_INTO(watch), VALUES(
			[WATCH_id] = NUMBER(ids->watches[ids->n]), [WATCH_device] = NUMBER(device_id(f, w->device - f->run->devices->d)),
			[WATCH_stage] = TEXT(stage_names[w->stage]), [WATCH_part_of] = w->part ? NUMBER(whole) : NONE,
			[WATCH_part_by] = w->part ? TEXT(w->part->by) : NONE, [WATCH_part] = w->part ? TEXT(w->part->label) : NONE));
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
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		put_row(f, "INSERT INTO " SQL_INTO(op), VALUES([OP_id] = NUMBER(op), [OP_name] = TEXT(op_names[op])));
}

/* Writes the bounds of the bins, which plain SQL could not compute exactly. */
static void put_cells(struct facts *f, u32 scale)
{
	for (u32 cell = 0; cell < BLKLAT_CELLS(scale); cell++) {
		u64 upper_ns = hist_upper_ns(scale, cell);

		put_row(f, "INSERT INTO " SQL_INTO(cell), VALUES(
			[CELL_scale] = NUMBER(scale), [CELL_id] = NUMBER(cell), [CELL_lower_ns] = NUMBER(hist_lower_ns(scale, cell)),
			[CELL_upper_ns] = upper_ns != UINT64_MAX ? NUMBER(upper_ns) : NONE));
	}
}

int recorder_write_facts(sqlite3 *db, const struct run_info *run, struct recorded_ids *ids)
{
	struct facts f = { .db = db, .run = run };

	put_run(&f);
	put_ops(&f);
	put_cells(&f, run->scale);
	if (idle_scale(run->scale) != run->scale)
		put_cells(&f, idle_scale(run->scale));
	return f.rc ?: recorder_write_watches(db, run, ids);
}
