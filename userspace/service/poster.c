// SPDX-License-Identifier: GPL-2.0-only
#include "service/poster.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/clock.h"

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

struct board_sink {
	struct sink sink;
	struct poster *poster;
	const struct run_info *run;
	const struct watch *told;	/* the run's, when it was posted: another run has others */
	struct shown *shown;		/* in the previous interval */
	struct health *health;		/* of this interval's frames, see remember() */
	u32 n_shown;
	struct op_frame all;		/* for judging */
	u64 skipped;			/* the highest unexplained number so far */
	struct tally skips;		/* skipped program runs beside the IOs of all watches */
};

static void board_close(struct sink *s)
{
	struct board_sink *b = (struct board_sink *)s;

	free(b->shown);
	free(b->health);
	merged_uninit(&b->all);
	free(b);
}

static bool same(const struct shown *s, const struct frame *f)
{
	return s->number == f->number && s->part == f->watch->part;
}

static const struct shown *find(const struct board_sink *b, u32 guess, const struct frame *f)
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

static void post_losses(struct board_sink *b, struct tally *t, const struct frame *f, const struct health *h, u64 now_ns)
{
	char what[192];

	if (!tally_add(t, f, h->ios, h->lost))
		return;
	snprintf(what, sizeof(what), "IOs were lost within the last minute: %llu of %s, stage %s",
		 h->lost, f->watch->device->name, stage_names[f->watch->stage]);
	board_post_loss(b->poster->board, what, now_ns);
}

static void post_skipped(struct board_sink *b, const struct frames *fs, u64 now_ns)
{
	u64 more = fs->skipped_unexplained > b->skipped ? fs->skipped_unexplained - b->skipped : 0, ios = 0;
	char what[160];

	for (u32 i = 0; i < fs->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			ios += fs->f[i].watch->part ? 0 : fs->f[i].ops[op].ios;
	b->skipped += more;
	if (!fs->n || !tally_add(&b->skips, fs->f, ios, more))
		return;
	snprintf(what, sizeof(what), "IOs may have been missed within the last minute: the kernel skipped %llu program "
		 "run%s", more, more == 1 ? "" : "s");
	board_post_loss(b->poster->board, what, now_ns);
}

/* Remembers the watches of this interval, and judges them by their past. */
static void remember(struct board_sink *b, const struct frames *fs, u64 now_ns)
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
		post_losses(b, &shown[i].tally, f, &health[i], now_ns);
	}
	health_together(fs, wholes);
	health_compare(fs, health);	/* without memory they are just not compared with each other */
	free(b->shown);
	b->shown = shown;
	b->n_shown = fs->n;
}

/* The same text as 'blklat live --format json' prints. */
static struct blob *snapshot(const struct board_sink *b, const struct frames *fs)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	int err;

	if (!to)
		return NULL;
	err = json_lines_print(to, b->run, fs, b->poster->bins);
	if (fclose(to) || err) {
		free(text);
		return NULL;
	}
	return blob_take(text, len);
}

static void post_run(struct board_sink *b, const struct frames *fs)
{
	const struct event_run e = {
		.run = b->run, .frames = fs, .start_ns = b->poster->start_wall_ns, .history_s = b->poster->history_s,
	};
	struct blob *run = event_run(&e);

	if (run)
		board_post_run(b->poster->board, run);
	b->told = run ? b->run->watches : NULL;
}

static int board_interval(struct sink *s, const struct frames *fs)
{
	struct board_sink *b = (struct board_sink *)s;
	struct poster *p = b->poster;
	u64 now_ns = p->end_mono_ns ?: (u64)clock_ns(CLOCK_MONOTONIC);
	struct event_interval at = {
		.boot = p->boot, .number = board_next(p->board), .end_s = (double)(now_ns - p->start_mono_ns) / NSEC_PER_SEC,
		.run = b->run,
	};

	/* A loss is certain, a skipped program is not, so the loss is posted last. */
	post_skipped(b, fs, now_ns);
	if (b->told != b->run->watches)
		post_run(b, fs);
	remember(b, fs, now_ns);
	at.health = b->n_shown == fs->n ? b->health : NULL;
	board_post(p->board, snapshot(b, fs), event_interval(fs, &at), now_ns);
	return 0;
}

static const struct sink_ops sink_board = {
	.interval = board_interval,
	.summary = sink_without_summary,
	.close = board_close,
};

static int board_open(struct sink_source *of, const struct run_info *run, struct sink **ret)
{
	struct board_sink *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	*b = (struct board_sink){ .sink.ops = &sink_board, .poster = (struct poster *)of, .run = run };
	err = merged_init(&b->all, run->scale);
	if (err) {
		free(b);
		return err;
	}
	*ret = &b->sink;
	return 0;
}

void poster_init(struct poster *p, struct board *board, double history_s, bool bins)
{
	*p = (struct poster){ .source.open = board_open, .board = board, .history_s = history_s, .bins = bins };
	p->start_mono_ns = clock_ns(CLOCK_MONOTONIC);
	p->start_wall_ns = clock_ns(CLOCK_REALTIME);
	snprintf(p->boot, sizeof(p->boot), "%llx", (u64)p->start_wall_ns);
}
