// SPDX-License-Identifier: GPL-2.0-only
#include "service/feed.h"

#include <errno.h>
#include <stdlib.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define LOSS_SHOWN_NS (60 * NSEC_PER_SEC)
#define LATE_NS (5 * NSEC_PER_SEC)	/* added to three intervals without a new one */

struct kept {
	struct blob *event;
	u64 mono_ns;
};

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
	const struct event_run e = {
		.run = f->info, .frames = fs, .start_ns = f->start_wall_ns, .history_s = f->cfg.history_s,
	};
	struct blob *run = event_run(&e);

	f->told = run ? f->info->watches : NULL;
	if (!run)
		return;
	blob_unref(f->run);
	f->run = run;
	f->runs++;
}

/* Without memory, the interval is not kept. */
static int feed_interval(struct follower *follower, const struct frames *fs)
{
	struct feed *f = (struct feed *)follower;
	u64 now_ns = clock_ns(CLOCK_MONOTONIC), end_ns = fs->mono_ns ?: now_ns;
	struct event_interval at = {
		.boot = f->boot, .number = f->next, .run = f->info,
		.end_s = (double)(s64)(end_ns - f->start_mono_ns) / NSEC_PER_SEC,
	};

	/* A loss is certain, a skipped program is not, so the loss is told last. */
	tell_skipped(f, fs, now_ns);
	if (f->told != f->info->watches)
		describe(f, fs);
	tell_losses(f, fs, now_ns);
	blob_unref(TAKE(f->snapshot));
	f->frames = fs;
	keep(f, event_interval(fs, &at), end_ns);
	f->last_ns = now_ns;
	return 0;
}

/* Opening took its time: it is no interval that is late. */
static int feed_begin(struct follower *follower, const struct run_info *run)
{
	struct feed *f = (struct feed *)follower;

	f->info = run;
	f->last_ns = now_ns();
	return 0;
}

static void feed_end(struct follower *f)
{
	(void)f;
}

int feed_init(struct feed *f, const struct feed_config *cfg)
{
	*f = (struct feed){ .follower = { feed_begin, feed_interval, feed_end }, .cfg = *cfg, .room = 64, .first = 1, .next = 1 };
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
