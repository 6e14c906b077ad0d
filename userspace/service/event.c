// SPDX-License-Identifier: GPL-2.0-only
#include "service/poster.h"

#include <string.h>
#include <sys/utsname.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/units.h"

#define SCHEMA 1

/* Pairs of cell and IOs, for cells with IOs: takes half as much as bounds would. */
static struct json_object *cells(const struct hist *h)
{
	struct json_object *to = json_new_array(0);

	hist_for_each(cell, h) {
		json_append(to, json_new_int(cell));
		json_append(to, json_new_count(h->cells[cell]));
	}
	return to;
}

static struct json_object *op(const struct op_frame *o, const char *name, const struct percentiles *ps)
{
	struct json_object *to = json_new_object(), *percentiles = json_new_object();

	for (u32 i = 0; i < ps->n; i++)
		json_add_decimal(percentiles, ps->p[i].name, o->percentile_ns[i], 1);
	json_add_text(to, "op", name);
	json_add_count(to, "ios", o->ios);
	json_add_count(to, "bytes", o->bytes);
	json_add_count(to, "errors", o->errors);
	json_add_count(to, "sum_ns", o->sum_ns);
	json_add_count(to, "min_ns", o->min_ns);
	json_add_count(to, "max_ns", o->max_ns);
	json_add(to, "percentiles_ns", percentiles);
	json_add(to, "cells", cells(&o->hist));
	return to;
}

static struct json_object *health_of(const struct health *h)
{
	struct json_object *to = json_new_object();
	char text[HEALTH_TEXT];

	json_add_text(to, "grade", health_grade(h));
	json_add_text(to, "reason", ailment_names[h->ailment]);
	json_add_text(to, "text", health_text(text, h));
	return to;
}

/* Adds the slow IOs of a whole in the interval, if there were any. */
static void add_slow(struct json_object *to, const struct slow_ios *slow, const struct slow_of *of)
{
	struct json_object *list;

	if (!of->found)
		return;
	list = json_new_array(of->n);
	for (u32 i = 0; i < of->n; i++)
		json_append(list, json_slow(&slow->io[of->first + i]));
	json_add(to, "slow", list);
	json_add_count(to, "slow_dropped", of->found - of->n);
}

static struct json_object *watch(const struct frames *frames, const struct frame *f, const struct health *health, const struct run_info *run)
{
	struct json_object *to = json_new_object(), *ops = json_new_array(0);
	struct json_object *partial = json_partial(f);

	for (u32 i = 0; i < BLKLAT_OPS; i++)
		if (f->ops[i].ios)
			json_append(ops, op(&f->ops[i], op_names[i], &run->percentiles));
	json_add_text(to, "device", f->watch->device->name);
	json_add_text(to, "stage", stage_names[f->watch->stage]);
	if (f->watch->part)
		json_add(to, "part", json_part(f->watch->part));
	json_add_decimal(to, "length_s", f->interval_s, 6);
	json_add_decimal(to, "queue_depth", f->queue_depth, 3);
	json_add_count(to, "in_flight", f->in_flight);
	json_add_count(to, "oldest_ns", f->oldest_ns);
	if (!f->watch->part)
		json_add(to, "accounting", json_accounting(&f->accounting));
	if (f->in_flight && accounting_ends_missed(&f->accounting))
		json_add(to, "ends_missed", json_new_boolean(true));
	if (!f->watch->part && frame_seems_stalled(f))
		json_add(to, "seems_stalled", json_new_boolean(true));
	if (health && health->ailment)
		json_add(to, "health", health_of(health));
	if (frames->slow && !f->watch->part)
		add_slow(to, frames->slow, &frames->slow->of[f->watch - run->watches]);
	if (f->gone)
		json_add(to, "gone", json_new_boolean(true));
	if (partial)
		json_add(to, "partial", partial);
	if (f->replaced)
		json_add(to, "replaced", json_new_boolean(true));
	json_add(to, "ops", ops);
	return to;
}

/* json-c escapes line ends, so nothing in the JSON ends the "data" line. */
static struct blob *made(const char *head, struct json_object *o)
{
	const char *json = json_line(o);
	char *text = NULL;
	int len = json ? asprintf(&text, "%sdata: %s\n\n", head, json) : -1;

	return len < 0 ? NULL : blob_take(text, len);
}

struct blob *event_interval(const struct frames *frames, const struct event_interval *at)
{
	struct json_object *to CLEANUP(cleanup_json) = json_new_object();
	struct json_object *watches = json_new_array(frames->n);
	char head[96], time[UNITS_TEXT];

	if (frames->n)
		json_add_text(to, "time", units_utc(time, frames->f[0].end_ns));
	json_add_decimal(to, "end_s", at->end_s, 6);
	json_add_decimal(to, "length_s", frames->interval_s, 6);
	for (u32 i = 0; i < frames->n; i++)
		if (!frames->f[i].watch->part || frame_is_busy(&frames->f[i]))
			json_append(watches, watch(frames, &frames->f[i], at->health ? &at->health[i] : NULL, at->run));
	json_add_count(to, "skipped_unexplained", frames->skipped_unexplained);
	json_add(to, "watches", watches);
	snprintf(head, sizeof(head), "id: %s.%llu\nevent: interval\n", at->boot, at->number);
	return made(head, to);
}

static const struct device *find(const struct device_table *t, const char *name)
{
	for (u32 i = 0; t && i < t->n; i++)
		if (!strcmp(t->d[i].name, name))
			return &t->d[i];
	return NULL;
}

static struct json_object *devices(const struct event_run *e)
{
	struct json_object *to = json_new_array(0);
	const struct frames *fs = e->frames;

	for (u32 i = 0; i < fs->n; i++) {
		const struct device *d = fs->f[i].watch->device;

		/* A device's indices refer to its own table, which may be an older one. */
		if (!i || d != fs->f[i - 1].watch->device)
			json_append(to, json_device(d, e->run->devices, find(e->run->devices, d->name)));
	}
	return to;
}

/* The parts of a divided watch, in order; NULL: no watch is divided. All watches are divided in the same way. */
static struct json_object *parts(const struct frames *fs)
{
	u32 n = fs->n ? frames_parts(fs, 0) : 0;
	struct json_object *to = n ? json_new_array(n) : NULL;

	for (u32 i = 1; i <= n; i++)
		if (!part_is_vacant(fs->f[i].watch->part))
			json_append(to, json_part(fs->f[i].watch->part));
	return to;
}

struct blob *event_run(const struct event_run *e)
{
	struct json_object *to CLEANUP(cleanup_json) = json_new_object(), *divided = parts(e->frames);
	struct utsname machine;
	char time[UNITS_TEXT];

	uname(&machine);
	json_add_count(to, "schema", SCHEMA);
	json_add_text(to, "generator", "blklat");
	json_add_text(to, "version", e->run->version);
	json_add_text(to, "host", machine.nodename);
	json_add_text(to, "kernel", machine.release);
	json_add_text(to, "engine", e->run->engine);
	json_add_text(to, "start", units_utc(time, e->start_ns));
	json_add_decimal(to, "interval_s", e->run->interval_s, 3);
	json_add_decimal(to, "history_s", e->history_s, 3);
	json_add_count(to, "scale", e->run->scale);
	json_add_count(to, "memory_bytes", e->run->memory_bytes);
	if (e->run->slow_most)
		json_add(to, "slow", json_new_boolean(true));
	json_add(to, "devices", devices(e));
	if (divided)
		json_add(to, "parts", divided);
	return made("event: run\n", to);
}
