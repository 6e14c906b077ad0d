// SPDX-License-Identifier: GPL-2.0-only
/* What is true for the whole run of a recording: the machine, its devices, the names of numbers. */
#include <stdio.h>
#include <stdlib.h>

#include "recording/file.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/cleanup.h"

struct facts {
	sqlite3 *db;
	const struct run_info *run;
	int rc;			/* of the first that failed; nothing is done after it */
	s64 *ids;		/* of each device in the table; -1: not recorded */
};

/* Runs @sql for values given as letters: t const char *, u u64, n s64 or NULL (INT64_MIN), d double. */
static void put(struct facts *f, const char *sql, const char *types, ...)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	va_list args;

	if (!f->rc)
		f->rc = sqlite3_prepare_v2(f->db, sql, -1, &s, NULL);
	if (f->rc)
		return;
	va_start(args, types);
	for (int i = 1; *types; types++, i++) {
		s64 n;

		if (*types == 't') {
			const char *text = va_arg(args, const char *);

			f->rc = f->rc ?: sqlite3_bind_text(s, i, text, -1, SQLITE_TRANSIENT);
		} else if (*types == 'd') {
			sqlite3_bind_double(s, i, va_arg(args, double));
		} else {
			n = va_arg(args, s64);
			if (*types == 'u' || n != INT64_MIN)
				sqlite3_bind_int64(s, i, n);
		}
	}
	va_end(args);
	if (!f->rc)
		f->rc = sqlite_step_done(s);
}

static void put_meta_text(struct facts *f, const char *key, const char *text)
{
	put(f, "INSERT INTO meta VALUES(?, ?)", "tt", key, text);
}

static void put_meta(struct facts *f, const char *key, u64 n)
{
	put(f, "INSERT INTO meta VALUES(?, ?)", "tu", key, n);
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
	put(f, "INSERT INTO meta VALUES('interval_s', ?)", "d", run->interval_s);
	put_percentiles(f);
	put_meta(f, "idle_gap_ns", o->idle_gap_ns);
	put_meta(f, "dropped", o->dropped);
	put_meta(f, "finished", 0);
}

/* Those of a recording that is recorded again. */
static void put_marks(struct facts *f)
{
	const struct origin *o = f->run->origin;

	for (u32 i = 0; i < o->n_marks; i++)
		put(f, "INSERT INTO mark VALUES(?, ?, ?)", "unt", o->marks[i].mono_ns, o->marks[i].wall_ns,
		    o->marks[i].text);
}

/* A device, the disk that it is part of, and all that they lie on. */
static void choose_device(struct facts *f, u32 i)
{
	const struct device *d = &f->run->devices->d[i];

	if (f->ids[i] >= 0)
		return;
	f->ids[i] = 0;
	choose_device(f, d->parent);
	for (u32 k = 0; k < d->n_lower; k++)
		choose_device(f, d->lower[k]);
}

static void put_device(struct facts *f, u32 i)
{
	const struct device *d = &f->run->devices->d[i];
	s64 parent = d->parent == i ? INT64_MIN : f->ids[d->parent];

	put(f, "INSERT INTO device VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "utttttuuuuuunuu",
	    f->ids[i], d->name, d->mapper, d->kind, d->model, d->scheduler, (u64)d->major, (u64)d->minor,
	    d->size_bytes, (u64)d->hw_queues, (u64)d->tags, (u64)d->nr_requests, parent, (u64)d->iostats,
	    (u64)d->hidden);
	for (u32 k = 0; k < d->n_lower; k++)
		put(f, "INSERT OR IGNORE INTO lower VALUES(?, ?)", "uu", f->ids[i], f->ids[d->lower[k]]);
}

static void put_devices(struct facts *f)
{
	const struct device_table *t = f->run->devices;
	s64 next = 0;

	for (u32 i = 0; i < t->n; i++)
		f->ids[i] = -1;
	for (u32 i = 0; i < f->run->n_watches; i++)
		choose_device(f, f->run->watches[i].device - t->d);
	for (u32 i = 0; i < t->n; i++)
		if (f->ids[i] >= 0)
			f->ids[i] = next++;
	for (u32 i = 0; i < t->n; i++)
		if (f->ids[i] >= 0)
			put_device(f, i);
}

static void put_watches(struct facts *f)
{
	for (u32 i = 0; i < f->run->n_watches; i++) {
		const struct watch *w = &f->run->watches[i];

		put(f, "INSERT INTO watch VALUES(?, ?, ?)", "uut", (u64)i,
		    f->ids[w->device - f->run->devices->d], stage_names[w->stage]);
	}
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		put(f, "INSERT INTO op VALUES(?, ?)", "ut", (u64)op, op_names[op]);
}

/* The bounds of the bins, since plain SQL has no exact powers. */
static void put_cells(struct facts *f, u32 scale)
{
	for (u32 cell = 0; cell < BLKLAT_CELLS(scale); cell++) {
		u64 upper_ns = hist_upper_ns(scale, cell);

		put(f, "INSERT INTO cell VALUES(?, ?, ?, ?)", "uuun", (u64)scale, (u64)cell,
		    hist_lower_ns(scale, cell), upper_ns == UINT64_MAX ? INT64_MIN : (s64)upper_ns);
	}
}

int recorder_write_facts(sqlite3 *db, const struct run_info *run)
{
	u32 n = run->devices->n;
	s64 *ids CLEANUP(cleanup_free) = calloc(n ? n : 1, sizeof(*ids));
	struct facts f = { .db = db, .run = run, .ids = ids, .rc = ids ? SQLITE_OK : SQLITE_NOMEM };

	if (f.rc)
		return f.rc;
	put_run(&f);
	put_marks(&f);
	put_devices(&f);
	put_watches(&f);
	put_cells(&f, run->scale);
	if (idle_scale(run->scale) != run->scale)
		put_cells(&f, idle_scale(run->scale));
	return f.rc;
}
