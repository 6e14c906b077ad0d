// SPDX-License-Identifier: GPL-2.0-only
#include "service/poster.h"

#include <string.h>
#include <sys/utsname.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/units.h"

#define SCHEMA 1

static struct json_object *health_of(const struct health *h)
{
	struct json_object *to = json_new_object();
	char text[HEALTH_TEXT];

	json_add_text(to, "grade", health_grade(h));
	json_add_text(to, "reason", ailment_names[h->ailment]);
	json_add_text(to, "text", health_text(text, h));
	return to;
}

static struct json_object *watch(const struct json_interval *of, const struct frame *f, const struct health *health)
{
	struct json_object *to = json_new_object();

	json_add_frame(to, of, f);
	if (f->in_flight && accounting_ends_missed(&f->accounting))
		json_add(to, "ends_missed", json_new_boolean(true));
	if (!f->watch->part && frame_seems_stalled(f))
		json_add(to, "seems_stalled", json_new_boolean(true));
	if (health && health->ailment)
		json_add(to, "health", health_of(health));
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
	const struct json_interval of = { at->run, frames, JSON_CELLS };
	char head[96], time[UNITS_TEXT];

	if (frames->n)
		json_add_text(to, "time", units_utc(time, frames->f[0].end_ns));
	json_add_decimal(to, "end_s", at->end_s, 6);
	json_add_decimal(to, "length_s", frames->interval_s, 6);
	for (u32 i = 0; i < frames->n; i++)
		if (!frames->f[i].watch->part || frame_is_busy(&frames->f[i]))
			json_append(watches, watch(&of, &frames->f[i], at->health ? &at->health[i] : NULL));
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
