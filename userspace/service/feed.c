// SPDX-License-Identifier: GPL-2.0-only
#include "service/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/units.h"

#define SCHEMA 1
#define LOSS_SHOWN_NS (60 * NSEC_PER_SEC)
#define LATE_NS (5 * NSEC_PER_SEC)	/* added to three intervals without a new one */

struct kept {
	struct blob *event;
	u64 mono_ns;
};

/*
 * --- events of /api/stream, as JSON and in the form in which they are sent (server-sent events: "id", "event", "data",
 * an empty line). docs/serve.md describes their keys. ---
 */

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

/* An interval: every whole in it, and every part that had IOs. NULL if there is no memory. */
static struct blob *event_interval(const struct feed *f, const struct frames *frames, u64 end_ns)
{
	struct json_object *to CLEANUP(cleanup_json) = NULL, *watches = json_new_array(frames->n);
	const struct json_interval of = { f->info, frames, JSON_CELLS };
	char head[96], time[UNITS_TEXT];

	for (u32 i = 0; i < frames->n; i++)
		if (!frames->f[i].watch->part || frame_is_busy(&frames->f[i]))
			json_append(watches, watch(&of, &frames->f[i]));
	to = JSON({ "time", frames->n ? json_text(units_utc(time, frames->f[0].end_ns)) : json_absent },
		  { "end_s", json_decimal((double)(s64)(end_ns - f->start_mono_ns) / NSEC_PER_SEC, 6) },
		  { "length_s", json_decimal(frames->interval_s, 6) },
		  { "skipped_unexplained", json_count(frames->skipped_unexplained) }, { "watches", watches });
	snprintf(head, sizeof(head), "id: %s.%llu\nevent: interval\n", f->boot, f->next);
	return made(head, to);
}

static const struct device *find(const struct device_table *t, const char *name)
{
	for (u32 i = 0; t && i < t->n; i++)
		if (!strcmp(t->d[i].name, name))
			return &t->d[i];
	return NULL;
}

static struct json_object *devices(const struct device_table *t, const struct frames *fs)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < fs->n; i++) {
		const struct device *d = fs->f[i].watch->device;

		/* A device's indices refer to its own table, which may be an older one. */
		if (!i || d != fs->f[i - 1].watch->device)
			json_append(to, json_device(d, t, find(t, d->name)));
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

/* What intervals don't contain: where they come from, and their devices. NULL if there is no memory. */
static struct blob *event_run(const struct feed *f, const struct frames *frames)
{
	const struct run_info *run = f->info;
	struct json_object *to CLEANUP(cleanup_json) = NULL;
	struct utsname machine;
	char time[UNITS_TEXT];

	uname(&machine);
	to = JSON({ "schema", json_count(SCHEMA) }, { "generator", json_text("blklat") },
		  { "version", json_text(run->version) }, { "host", json_text(machine.nodename) },
		  { "kernel", json_text(machine.release) }, { "engine", json_text(run->engine) },
		  { "start", json_text(units_utc(time, f->start_wall_ns)) },
		  { "interval_s", json_decimal(run->interval_s, 3) }, { "history_s", json_decimal(f->cfg.history_s, 3) },
		  { "scale", json_count(run->scale) }, { "memory_bytes", json_count(run->memory_bytes) },
		  { "slow", json_flag(run->slow_most) }, { "devices", devices(run->devices, frames) }, { "parts", parts(frames) });
	return made("event: run\n", to);
}

/* --- intervals that are kept --------------------------------------------------------------- */

static struct kept *at(const struct feed *f, u64 number)
{
	return &f->kept[number & (f->room - 1)];
}

static void drop_first(struct feed *f)
{
	struct blob *event = at(f, f->first++)->event;

	f->bytes -= event->len;
	blob_unref(event);
}

static bool too_old(const struct feed *f, u64 mono_ns, size_t more)
{
	return f->first < f->next && (at(f, f->first)->mono_ns + (u64)(f->cfg.history_s * NSEC_PER_SEC) < mono_ns ||
				      f->bytes + more > FEED_BYTES_MAX);
}

static bool make_room(struct feed *f)
{
	struct kept *more, *old = f->kept;
	u64 room = f->room * 2;

	if (f->next - f->first < f->room)
		return true;
	more = calloc(room, sizeof(*more));
	if (!more)
		return false;
	for (u64 i = f->first; i < f->next; i++)
		more[i & (room - 1)] = *at(f, i);
	f->kept = more;
	f->room = room;
	free(old);
	return true;
}

/* Takes ownership of @event; NULL: there was no memory for it. */
static void keep(struct feed *f, struct blob *event, u64 mono_ns)
{
	if (!event)
		return;
	while (too_old(f, mono_ns, event->len))
		drop_first(f);
	if (event->len > FEED_BYTES_MAX || !make_room(f)) {
		blob_unref(event);
		return;
	}
	*at(f, f->next++) = (struct kept){ .event = event, .mono_ns = mono_ns };
	f->bytes += event->len;
}

struct blob *feed_event(const struct feed *f, u64 *number)
{
	if (*number < f->first)
		*number = f->first;
	return *number < f->next ? at(f, *number)->event : NULL;
}

struct blob *feed_snapshot(struct feed *f)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = f->snapshot || !f->frames ? NULL : open_memstream(&text, &len);
	int err;

	if (!to)
		return f->snapshot;
	err = json_lines_print(to, f->info, f->frames, f->cfg.bins);
	if (!fclose(to) && !err)
		return f->snapshot = blob_take(text, len);
	free(text);
	return NULL;
}

void feed_detach(struct feed *f)
{
	feed_snapshot(f);
	f->frames = NULL;
}

/* --- whether all is well ------------------------------------------------------------------- */

void feed_stop(struct feed *f, const char *why)
{
	snprintf(f->stop, sizeof(f->stop), "%s", why);
}

bool feed_well(const struct feed *f, bool losses, char why[FEED_WORDS])
{
	u64 now = now_ns(), patience_ns = 3 * f->cfg.interval_s * NSEC_PER_SEC + LATE_NS;

	if (f->stop[0])
		snprintf(why, FEED_WORDS, "the capture has stopped: %s", f->stop);
	else if (now > f->last_ns + patience_ns)
		snprintf(why, FEED_WORDS, "no interval for %llu s", (now - f->last_ns) / NSEC_PER_SEC);
	else if (losses && f->loss_ns && now < f->loss_ns + LOSS_SHOWN_NS)
		snprintf(why, FEED_WORDS, "%s", f->loss);
	else
		return true;
	return false;
}

/* --- an interval -------------------------------------------------------------------------- */

static void tell_losses(struct feed *to, const struct frames *fs, u64 now_ns)
{
	for (u32 i = 0; i < fs->n; i++) {
		const struct frame *f = &fs->f[i];

		if (!f->health.lost_lately)
			continue;
		to->loss_ns = now_ns;
		snprintf(to->loss, sizeof(to->loss), "IOs were lost within the last minute: %llu of %s, stage %s",
			 f->health.lost, f->watch->device->name, stage_names[f->watch->stage]);
	}
}

static void tell_skipped(struct feed *to, const struct frames *fs, u64 now_ns)
{
	u64 more = fs->skipped_unexplained > to->skipped ? fs->skipped_unexplained - to->skipped : 0, ios = 0;

	for (u32 i = 0; i < fs->n; i++)
		ios += fs->f[i].health.ios;
	to->skipped += more;
	if (!health_tally_add(&to->skips, fs->interval_s, ios, more))
		return;
	to->loss_ns = now_ns;
	snprintf(to->loss, sizeof(to->loss), "IOs may have been missed within the last minute: the kernel skipped %llu "
		 "program run%s", more, more == 1 ? "" : "s");
}

static void describe(struct feed *f, const struct frames *fs)
{
	struct blob *run = event_run(f, fs);

	f->told = run;
	if (!run)
		return;
	blob_unref(f->run);
	f->run = run;
	f->runs++;
}

void feed_add(struct feed *f, const struct frames *fs)
{
	u64 now_ns = clock_ns(CLOCK_MONOTONIC), end_ns = fs->mono_ns ?: now_ns;

	/* A loss is certain, a skipped program is not, so the loss is told last. */
	tell_skipped(f, fs, now_ns);
	if (!f->told)
		describe(f, fs);
	tell_losses(f, fs, now_ns);
	blob_unref(TAKE(f->snapshot));
	f->frames = fs;
	keep(f, event_interval(f, fs, end_ns), end_ns);
	f->last_ns = now_ns;
}

/* Opening took its time: it is no interval that is late. */
void feed_begin(struct feed *f, const struct run_info *run)
{
	f->info = run;
	f->told = false;
	f->last_ns = now_ns();
}

int feed_init(struct feed *f, const struct feed_config *cfg)
{
	*f = (struct feed){ .cfg = *cfg, .room = 64, .first = 1, .next = 1 };
	f->start_mono_ns = f->last_ns = clock_ns(CLOCK_MONOTONIC);
	f->start_wall_ns = clock_ns(CLOCK_REALTIME);
	snprintf(f->boot, sizeof(f->boot), "%llx", (u64)f->start_wall_ns);
	f->kept = calloc(f->room, sizeof(*f->kept));
	return f->kept ? 0 : -ENOMEM;
}

void feed_uninit(struct feed *f)
{
	while (f->first < f->next)
		drop_first(f);
	blob_unref(f->snapshot);
	blob_unref(f->run);
	free(f->kept);
}
