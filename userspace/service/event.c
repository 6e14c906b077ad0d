// SPDX-License-Identifier: GPL-2.0-only
#include "service/feed.h"

#include <string.h>
#include <sys/utsname.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/units.h"

#define SCHEMA 1

static struct json_object *health_of(const struct health *h)
{
	char text[HEALTH_TEXT], since[UNITS_TEXT];

	if (!h->ailment)
		return json_absent;
	return JSON({ "grade", json_text(health_grade_names[health_grade(h)]) }, { "reason", json_text(ailment_names[h->ailment]) },
		    { "text", json_text(health_text(text, h)) },
		    { "since", h->since_ns ? json_text(units_utc(since, h->since_ns)) : json_absent });
}

static struct json_object *watch(const struct json_interval *of, const struct frame *f)
{
	struct json_object *to = json_new_object();

	json_add_frame(to, of, f);
	return JSON_ADD(to, { "ends_missed", json_flag(f->in_flight && accounting_ends_missed(&f->accounting)) },
			{ "seems_stalled", json_flag(!f->watch->part && frame_seems_stalled(f)) },
			{ "health", health_of(&f->health) });
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
	struct json_object *to CLEANUP(cleanup_json) = NULL, *watches = json_new_array(frames->n);
	const struct json_interval of = { at->run, frames, JSON_CELLS };
	char head[96], time[UNITS_TEXT];

	for (u32 i = 0; i < frames->n; i++)
		if (!frames->f[i].watch->part || frame_is_busy(&frames->f[i]))
			json_append(watches, watch(&of, &frames->f[i]));
	to = JSON({ "time", frames->n ? json_text(units_utc(time, frames->f[0].end_ns)) : json_absent },
		  { "end_s", json_decimal(at->end_s, 6) }, { "length_s", json_decimal(frames->interval_s, 6) },
		  { "skipped_unexplained", json_count(frames->skipped_unexplained) }, { "watches", watches });
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

/* The parts of a divided watch, in order, if there are any. All watches are divided in the same way. */
static struct json_object *parts(const struct frames *fs)
{
	u32 n = fs->n ? frames_parts(fs, 0) : 0;
	struct json_object *to = n ? json_new_array(n) : json_absent;

	for (u32 i = 1; i <= n; i++)
		if (!part_is_vacant(fs->f[i].watch->part))
			json_append(to, json_part(fs->f[i].watch->part));
	return to;
}

struct blob *event_run(const struct event_run *e)
{
	const struct run_info *run = e->run;
	struct json_object *to CLEANUP(cleanup_json) = NULL;
	struct utsname machine;
	char time[UNITS_TEXT];

	uname(&machine);
	to = JSON({ "schema", json_count(SCHEMA) }, { "generator", json_text("blklat") },
		  { "version", json_text(run->version) }, { "host", json_text(machine.nodename) },
		  { "kernel", json_text(machine.release) }, { "engine", json_text(run->engine) },
		  { "start", json_text(units_utc(time, e->start_ns)) },
		  { "interval_s", json_decimal(run->interval_s, 3) }, { "history_s", json_decimal(e->history_s, 3) },
		  { "scale", json_count(run->scale) }, { "memory_bytes", json_count(run->memory_bytes) },
		  { "slow", json_flag(run->slow_most) }, { "devices", devices(e) }, { "parts", parts(e->frames) });
	return made("event: run\n", to);
}
