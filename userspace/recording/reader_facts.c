// SPDX-License-Identifier: GPL-2.0-only
/* Reads the facts about a recording's whole run: the machine, its devices, the marks. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/utf8.h"

#define CPUS_MAX 65536
#define INTERVAL_MAX_S 1e6

static int prepare(const struct recording_reader *r, const char *sql, sqlite3_stmt **ret, struct problem *p)
{
	int rc = sqlite3_prepare_v2(r->db, sql, -1, ret, NULL);

	return rc ? reader_failed(r, rc, p) : 0;
}

/* Returns 1 if there is a row, 0 at the end, or a negative errno and a sentence. */
static int next_row(const struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : reader_failed(r, rc, p);
}

/*
 * Has @take take each row of a query. Both return 0, or a negative errno and a sentence. @i: counts the rows, from 0.
 */
static int each_row(struct recording_reader *r, const char *sql,
		    int (*take)(struct recording_reader *r, sqlite3_stmt *s, u32 i, struct problem *p),
		    struct problem *p)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	int err = prepare(r, sql, &s, p);

	for (u32 i = 0; !err; i++) {
		int more = next_row(r, s, p);

		if (more <= 0)
			return more;
		err = take(r, s, i, p);
	}
	return err;
}

/* A row of table meta, and the member of struct recording_reader that it is read into. */
static const struct fact {
	const char *key;
	enum { FACT_BOOL, FACT_U32, FACT_U64, FACT_SECONDS, FACT_TEXT } kind;
	size_t offset;
	u64 most;		/* of an integer */
	bool may_lack;
} facts[] = {
#define FACT(key_, kind_, member, ...) \
	{ .key = key_, .kind = FACT_##kind_, .offset = offsetof(struct recording_reader, member), __VA_ARGS__ }
	FACT("scale", U32, scale, .most = BLKLAT_SCALE_MAX),
	FACT("cpus", U32, cpus, .most = CPUS_MAX),
	FACT("memory_bytes", U64, memory_bytes, .most = RECORDING_TOTAL_MAX),
	FACT("idle_gap_ns", U64, origin.idle_gap_ns, .most = RECORDING_TOTAL_MAX),
	FACT("dropped", U64, origin.dropped, .most = RECORDING_COUNT_MAX),
	FACT("finished", BOOL, origin.finished, .most = 1),
	FACT("slow_most", U64, slow_most, .most = RECORDING_SLOW_MOST, .may_lack = true),
	FACT("interval_s", SECONDS, origin.interval_s),
	FACT("engine", TEXT, engine),
	FACT("label", TEXT, origin.label),
	FACT("host", TEXT, origin.host),
	FACT("kernel", TEXT, origin.kernel),
	FACT("version", TEXT, origin.version),
	FACT("command", TEXT, origin.command),
};

static int take_text(const struct recording_reader *r, sqlite3_stmt *s, char **ret, struct problem *p)
{
	*ret = strdup((const char *)sqlite3_column_text(s, 0));
	if (!*ret)
		return problem_set(p, -ENOMEM, "%s: out of memory", r->file);
	text_clean(*ret);
	return 0;
}

static int take_fact(struct recording_reader *r, const struct fact *f, sqlite3_stmt *s, struct problem *p)
{
	void *to = (char *)r + f->offset;
	double seconds = sqlite3_column_double(s, 0);
	u64 n;

	switch (f->kind) {
	case FACT_TEXT:
		return sqlite3_column_type(s, 0) == SQLITE_TEXT ? take_text(r, s, to, p) :
		       reader_damaged(r, p, "%s is not a text", f->key);
	case FACT_SECONDS:
		*(double *)to = seconds;
		return seconds > 0 && seconds <= INTERVAL_MAX_S ? 0 : reader_damaged(r, p, "%s is not a duration", f->key);
	default:
		if (!column_u64(s, 0, f->most, &n))
			return reader_damaged(r, p, "%s is not a number from 0 to %llu", f->key, f->most);
		if (f->kind == FACT_U64)
			*(u64 *)to = n;
		else if (f->kind == FACT_U32)
			*(u32 *)to = n;
		else
			*(bool *)to = n;
		return 0;
	}
}

static int read_meta(struct recording_reader *r, struct problem *p)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	int err = prepare(r, "SELECT value FROM meta WHERE key = ?", &s, p);

	for (const struct fact *f = facts; !err && f < facts + ARRAY_SIZE(facts); f++) {
		int found;

		sqlite3_bind_text(s, 1, f->key, -1, SQLITE_STATIC);
		found = next_row(r, s, p);
		if (found > 0)
			err = take_fact(r, f, s, p);
		else if (found < 0)
			err = found;
		else if (!f->may_lack)
			err = reader_damaged(r, p, "its %s is missing", f->key);
		sqlite3_reset(s);
	}
	return err;
}

/* Rows must be numbered from 0, and without gaps unless @gaps, so that a row's number can be an index. */
static int count_rows(const struct recording_reader *r, const char *table, u32 max, bool gaps, u32 *ret,
		      struct problem *p)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	char sql[64];
	u64 n = 0, id;
	int err, more;

	snprintf(sql, sizeof(sql), "SELECT id FROM %s ORDER BY id", table);
	err = prepare(r, sql, &s, p);
	if (err)
		return err;
	while ((more = next_row(r, s, p)) > 0) {
		bool numbered = n < max && column_u64(s, 0, max - 1, &id) && (id == n || gaps);

		if (!numbered)
			return reader_damaged(r, p, "the ids in its table %s have gaps or exceed %u", table, max - 1);
		n++;
	}
	if (!more && !n)
		return reader_damaged(r, p, "it has no %s", table);
	*ret = n;
	return more;
}

static bool column_u32(sqlite3_stmt *s, int i, u32 max, u32 *ret)
{
	u64 n;

	if (!column_u64(s, i, max, &n))
		return false;
	*ret = n;
	return true;
}

static bool take_columns(sqlite3_stmt *s, u32 n, struct device *d)
{
	return column_text(s, DEVICE_name, d->name, sizeof(d->name)) && d->name[0] &&
	       column_text(s, DEVICE_mapper, d->mapper, sizeof(d->mapper)) &&
	       column_text(s, DEVICE_kind, d->kind, sizeof(d->kind)) &&
	       column_text(s, DEVICE_model, d->model, sizeof(d->model)) &&
	       column_text(s, DEVICE_scheduler, d->scheduler, sizeof(d->scheduler)) &&
	       column_u32(s, DEVICE_major, UINT32_MAX, &d->major) &&
	       column_u32(s, DEVICE_minor, UINT32_MAX, &d->minor) &&
	       column_u64(s, DEVICE_size_bytes, INT64_MAX, &d->size_bytes) &&
	       column_u32(s, DEVICE_hw_queues, UINT32_MAX, &d->hw_queues) &&
	       column_u32(s, DEVICE_tags, UINT32_MAX, &d->tags) &&
	       column_u32(s, DEVICE_nr_requests, UINT32_MAX, &d->nr_requests) &&
	       (sqlite3_column_type(s, DEVICE_parent) == SQLITE_NULL ||
		column_u32(s, DEVICE_parent, n - 1, &d->parent)) &&
	       column_bool(s, DEVICE_iostats, &d->iostats) && column_bool(s, DEVICE_hidden, &d->hidden);
}

static int take_device(struct recording_reader *r, sqlite3_stmt *s, u32 i, struct problem *p)
{
	struct device_table *t = &r->devices;

	if (i < t->n)
		t->d[i].parent = i;
	return i < t->n && take_columns(s, t->n, &t->d[i]) ? 0 : reader_damaged(r, p, "device %u is invalid", i);
}

/* Whether a device lies on itself, directly or through others: walking down from it would never end. */
static bool has_cycle(const struct device_table *t)
{
	u32 *depth CLEANUP(cleanup_free) = calloc(t->n, sizeof(*depth));
	bool deeper = true;

	for (u32 round = 0; depth && deeper; round++) {
		if (round > t->n)
			return true;
		deeper = false;
		for (u32 i = 0; i < t->n; i++) {
			for (u32 k = 0; k < t->d[i].n_lower; k++) {
				u32 least = depth[t->d[i].lower[k]] + 1;

				deeper |= depth[i] < least;
				if (depth[i] < least)
					depth[i] = least;
			}
		}
	}
	return !depth;
}

static int take_lower(struct recording_reader *r, sqlite3_stmt *s, u32 i, struct problem *p)
{
	struct device_table *t = &r->devices;
	u64 device, lower;
	struct device *d;

	(void)i;
	if (!column_u64(s, LOWER_device, t->n - 1, &device) || !column_u64(s, LOWER_lower, t->n - 1, &lower))
		return reader_damaged(r, p, "a device is stacked on one that does not exist");
	d = &t->d[device];
	if (d->n_lower == ARRAY_SIZE(d->lower))
		return reader_damaged(r, p, "%s is stacked on too many devices", d->name);
	d->lower[d->n_lower++] = lower;
	return 0;
}

static int read_devices(struct recording_reader *r, struct problem *p)
{
	struct device_table *t = &r->devices;
	int err = count_rows(r, "device", RECORDING_DEVICES_MAX, false, &t->n, p);

	if (err)
		return err;
	t->d = calloc(t->n, sizeof(*t->d));
	if (!t->d)
		return problem_set(p, -ENOMEM, "%s: out of memory", r->file);
	err = each_row(r, "SELECT " SQL_NAMES(device) " FROM device ORDER BY id", take_device, p);
	for (u32 i = 0; !err && i < t->n; i++)
		if (t->d[t->d[i].parent].parent != t->d[i].parent)
			return reader_damaged(r, p, "%s is a partition of a partition", t->d[i].name);
	err = err ?: each_row(r, "SELECT " SQL_NAMES(lower) " FROM lower ORDER BY device, lower", take_lower, p);
	return !err && has_cycle(t) ? reader_damaged(r, p, "a device is stacked on itself") : err;
}

static int take_identity(struct recording_reader *r, sqlite3_stmt *s, u32 i, struct problem *p)
{
	struct device_table *t = &r->devices;
	struct device *d;
	u64 device;

	if (!column_u64(s, IDENTITY_device, t->n - 1, &device))
		return reader_damaged(r, p, "identity %u is of no device", i);
	d = &t->d[device];
#define TAKE_TEXT(what) column_text(s, IDENTITY_##what, d->what, sizeof(d->what))
	return DEVICE_IDENTITY(TAKE_TEXT, &&) ? 0 : reader_damaged(r, p, "the identity of %s is invalid", d->name);
}

static bool take_device_and_stage(struct recording_reader *r, sqlite3_stmt *s, struct watch *w)
{
	char name[16];
	u64 device;
	u32 stage = 0;

	if (!column_u64(s, WATCH_device, r->devices.n - 1, &device) || !column_text(s, WATCH_stage, name, sizeof(name)))
		return false;
	while (stage < BLKLAT_STAGES && strcmp(name, stage_names[stage]))
		stage++;
	*w = (struct watch){ .device = &r->devices.d[device], .stage = stage };
	return stage < BLKLAT_STAGES;
}

/* Parts by cgroup or process may come in any order, and two may have the same label. */
static bool follows(const struct part *part, const struct part *before)
{
	if (!before)
		return true;
	return !strcmp(part->by, before->by) &&
	       (part->number > before->number ||
		(part->number >= BLKLAT_CGROUP_FIRST && part_has_owners(part)));
}

/* Takes watch @i with id @is, a part. It has to follow its whole, and the parts that come before it. */
static int take_part(struct recording_reader *r, sqlite3_stmt *s, u32 i, u32 is, struct problem *p)
{
	struct watch *w = &r->watches[i];
	const struct watch *before = w - 1;
	char by[32], label[PART_LABEL_MAX];
	u64 id;
	u32 whole;

	whole = column_u64(s, WATCH_part_of, r->n_ids - 1, &id) ? r->watch_of_id[id] : i;
	if (whole >= i || r->watches[whole].part || whole + watch_parts(r->watches, i, whole) != i - 1)
		return reader_damaged(r, p, "watch %u is part of one that it does not follow", is);
	if (w->device != before->device || w->stage != before->stage)
		return reader_damaged(r, p, "watch %u is part of another device or stage", is);
	if (!column_text(s, WATCH_part_by, by, sizeof(by)) || !column_text(s, WATCH_part, label, sizeof(label)))
		return reader_damaged(r, p, "watch %u has no valid part", is);
	part_keep(&w->part, part_find(by, label));
	if (!w->part || part_is_vacant(w->part))
		return problem_set(p, -EBADMSG, "%s: has a part '%s' by '%s', which this blklat does not know: read it with the one "
				   "that recorded it", r->file, label, by);
	if (!follows(w->part, before->part))
		return reader_damaged(r, p, "watch %u is a duplicate part or out of order", is);
	return 0;
}

static int take_whole(struct recording_reader *r, u32 i, u32 is, struct problem *p)
{
	struct device *d = &r->devices.d[r->watches[i].device - r->devices.d];
	u32 stage = 1u << r->watches[i].stage;

	if (d->stages & stage)
		return reader_damaged(r, p, "watch %u is a duplicate", is);
	d->stages |= stage;
	return 0;
}

static int take_watch(struct recording_reader *r, sqlite3_stmt *s, u32 i, struct problem *p)
{
	u64 id;

	if (i == r->n_watches || !take_device_and_stage(r, s, &r->watches[i]) ||
	    !column_u64(s, WATCH_id, r->n_ids - 1, &id))
		return reader_damaged(r, p, "watch %u is not a device and stage", i);
	r->watch_of_id[id] = i;
	return sqlite3_column_type(s, WATCH_part_of) == SQLITE_NULL ? take_whole(r, i, id, p)
								    : take_part(r, s, i, id, p);
}

static int read_watches(struct recording_reader *r, struct problem *p)
{
	int err = count_rows(r, "watch", BLKLAT_MAX_WATCHES, true, &r->n_watches, p);

	if (err)
		return err;
	r->watches = calloc(r->n_watches, sizeof(*r->watches));
	r->watch_of_id = malloc(BLKLAT_MAX_WATCHES * sizeof(*r->watch_of_id));
	if (!r->watches || !r->watch_of_id)
		return problem_set(p, -ENOMEM, "%s: out of memory", r->file);
	r->n_ids = BLKLAT_MAX_WATCHES;
	for (u32 id = 0; id < r->n_ids; id++)
		r->watch_of_id[id] = r->n_watches;
	return each_row(r, "SELECT " SQL_NAMES(watch) " FROM watch ORDER BY ifnull(part_of, id), id", take_watch, p);
}

static int take_mark(struct recording_reader *r, sqlite3_stmt *s, u32 i, struct problem *p)
{
	struct origin *o = &r->origin;
	char text[RECORDING_MARK_BYTES + 1];
	struct mark m;

	if (i == RECORDING_MARKS_MAX)
		return reader_damaged(r, p, "it has more than %u marks", RECORDING_MARKS_MAX);
	if (!column_u64(s, MARK_mono_ns, RECORDING_TOTAL_MAX, &m.mono_ns) ||
	    !column_wall_ns(s, MARK_wall_ns, &m.wall_ns) || !column_text(s, MARK_text, text, sizeof(text)))
		return reader_damaged(r, p, "mark %u is invalid", i);
	m.text = array_more(&o->marks, sizeof(m), i, &r->marks_room) ? NULL : strdup(text);
	if (!m.text)
		return problem_set(p, -ENOMEM, "%s: out of memory", r->file);
	o->marks[o->n_marks++] = m;
	return 0;
}

int reader_read_facts(struct recording_reader *r, struct problem *p)
{
	int err = read_meta(r, p) ?: read_devices(r, p);

	if (!err && r->parts & RECORDING_IDENTITY)
		err = each_row(r, "SELECT " SQL_NAMES(identity) " FROM identity", take_identity, p);
	return err ?: read_watches(r, p) ?:
	       each_row(r, "SELECT " SQL_NAMES(mark) " FROM mark ORDER BY mono_ns", take_mark, p);
}

void reader_forget_facts(struct recording_reader *r)
{
	origin_uninit(&r->origin);
	free(r->engine);
	free(r->devices.d);
	for (u32 i = 0; r->watches && i < r->n_watches; i++)
		part_keep(&r->watches[i].part, NULL);
	free(r->watches);
	free(r->watch_of_id);
}
