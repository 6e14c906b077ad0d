// SPDX-License-Identifier: GPL-2.0-only
#include "service/feed.h"

#include <errno.h>
#include <math.h>
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
	err = json_lines_print(to, f->frames_run, f->frames, f->cfg.bins);
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

/* --- the sink ------------------------------------------------------------------------------ */

/* IOs of the last minute: they fade by the factor e in one. */
struct tally {
	double ios, lost;
};

/* A watch in the previous interval. */
struct shown {
	u32 number;			/* see struct frame */
	const struct part *part;
	u64 lost;
	struct tally tally;
	struct health_past past;
};

struct feed_sink {
	struct sink sink;
	struct feed *feed;
	const struct run_info *run;
	const struct watch *told;	/* the run's, when it was described: another run has others */
	struct shown *shown;		/* in the previous interval */
	struct health *health;		/* of this interval's frames, see remember() */
	u32 n_shown;
	struct op_frame all;		/* for judging */
	u64 skipped;			/* the highest unexplained number so far */
	struct tally skips;		/* skipped program runs beside the IOs of all watches */
};

static void feed_close(struct sink *s)
{
	struct feed_sink *b = (struct feed_sink *)s;

	free(b->shown);
	free(b->health);
	merged_uninit(&b->all);
	free(b);
}

static bool same(const struct shown *s, const struct frame *f)
{
	return s->number == f->number && s->part == f->watch->part;
}

static const struct shown *find(const struct feed_sink *b, u32 guess, const struct frame *f)
{
	if (guess < b->n_shown && same(&b->shown[guess], f))
		return &b->shown[guess];
	for (u32 i = 0; i < b->n_shown; i++)
		if (same(&b->shown[i], f))
			return &b->shown[i];
	return NULL;
}

/* Adds an interval. Returns whether it lost IOs, and those of the last minute are a notable share of the IOs. */
static bool tally_add(struct tally *t, const struct frame *of, u64 ios, u64 lost)
{
	double kept = exp(-of->interval_s / 60);

	t->ios = kept * t->ios + ios;
	t->lost = kept * t->lost + lost;
	return lost && t->lost > HEALTH_LOST_SHARE * (t->ios + t->lost);
}

static void tell_losses(struct feed *to, struct tally *t, const struct frame *f, const struct health *h, u64 now_ns)
{
	if (!tally_add(t, f, h->ios, h->lost))
		return;
	to->loss_ns = now_ns;
	snprintf(to->loss, sizeof(to->loss), "IOs were lost within the last minute: %llu of %s, stage %s",
		 h->lost, f->watch->device->name, stage_names[f->watch->stage]);
}

static void tell_skipped(struct feed_sink *b, const struct frames *fs, u64 now_ns)
{
	struct feed *to = b->feed;
	u64 more = fs->skipped_unexplained > b->skipped ? fs->skipped_unexplained - b->skipped : 0, ios = 0;

	for (u32 i = 0; i < fs->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			ios += fs->f[i].watch->part ? 0 : fs->f[i].ops[op].ios;
	b->skipped += more;
	if (!fs->n || !tally_add(&b->skips, fs->f, ios, more))
		return;
	to->loss_ns = now_ns;
	snprintf(to->loss, sizeof(to->loss), "IOs may have been missed within the last minute: the kernel skipped %llu "
		 "program run%s", more, more == 1 ? "" : "s");
}

/* Remembers the watches of this interval, and judges them by their past. */
static void remember(struct feed_sink *b, const struct frames *fs, u64 now_ns)
{
	struct shown *shown = calloc(fs->n + 1, sizeof(*shown));
	struct health *health = reallocarray(b->health, fs->n + 1, sizeof(*health));
	struct health **wholes CLEANUP(cleanup_free) = calloc(fs->n + 1, sizeof(*wholes));

	b->health = health ?: b->health;
	if (!shown || !health || !wholes) {
		free(shown);
		b->n_shown = 0;
		return;
	}
	for (u32 i = 0; i < fs->n; i++) {
		const struct frame *f = &fs->f[i];
		const struct shown *before = find(b, i, f);
		u64 lost = before ? before->lost : 0;

		shown[i] = before ? *before : (struct shown){ .number = f->number, .part = f->watch->part };
		shown[i].lost = f->accounting.lost;
		health[i] = (struct health){ 0 };
		if (f->watch->part)
			continue;
		wholes[i] = &health[i];
		frame_merge_ops(f, &b->all);
		health[i] = health_judge(&shown[i].past, f, &b->all);
		/* A loss that is explained later only moves to another reason, so only a growing sum is a new loss. */
		health_besides(&health[i], f, f->accounting.lost > lost ? f->accounting.lost - lost : 0);
		tell_losses(b->feed, &shown[i].tally, f, &health[i], now_ns);
	}
	health_together(fs, wholes);
	health_compare(fs, health);	/* without memory they are just not compared with each other */
	free(b->shown);
	b->shown = shown;
	b->n_shown = fs->n;
}

static void describe(struct feed_sink *b, const struct frames *fs)
{
	const struct event_run e = {
		.run = b->run, .frames = fs, .start_ns = b->feed->start_wall_ns, .history_s = b->feed->cfg.history_s,
	};
	struct blob *run = event_run(&e);

	b->told = run ? b->run->watches : NULL;
	if (!run)
		return;
	blob_unref(b->feed->run);
	b->feed->run = run;
	b->feed->runs++;
}

/* Without memory, the interval is not kept. */
static int feed_interval(struct sink *s, const struct frames *fs)
{
	struct feed_sink *b = (struct feed_sink *)s;
	struct feed *f = b->feed;
	u64 now_ns = fs->mono_ns ?: (u64)clock_ns(CLOCK_MONOTONIC);
	struct event_interval at = {
		.boot = f->boot, .number = f->next, .run = b->run,
		.end_s = (double)(now_ns - f->start_mono_ns) / NSEC_PER_SEC,
	};

	/* A loss is certain, a skipped program is not, so the loss is told last. */
	tell_skipped(b, fs, now_ns);
	if (b->told != b->run->watches)
		describe(b, fs);
	remember(b, fs, now_ns);
	at.health = b->n_shown == fs->n ? b->health : NULL;
	blob_unref(TAKE(f->snapshot));
	f->frames = fs;
	f->frames_run = b->run;
	keep(f, event_interval(fs, &at), now_ns);
	f->last_ns = now_ns;
	return 0;
}

static const struct sink_ops sink_feed = {
	.interval = feed_interval,
	.summary = sink_without_summary,
	.close = feed_close,
};

static int feed_open(struct sink_source *of, const struct run_info *run, struct sink **ret)
{
	struct feed_sink *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	*b = (struct feed_sink){ .sink.ops = &sink_feed, .feed = (struct feed *)of, .run = run };
	err = merged_init(&b->all, run->scale);
	if (err) {
		free(b);
		return err;
	}
	*ret = &b->sink;
	return 0;
}

int feed_init(struct feed *f, const struct feed_config *cfg)
{
	*f = (struct feed){ .source.open = feed_open, .cfg = *cfg, .room = 64, .first = 1, .next = 1 };
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
