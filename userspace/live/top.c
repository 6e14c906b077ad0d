// SPDX-License-Identifier: GPL-2.0-only
#include "live/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const double percentiles[TOP_PERCENTILES] = { [TOP_P50] = 0.5, [TOP_P99] = 0.99, [TOP_P999] = 0.999 };

void top_look_at(struct top *t, enum blklat_stage stage)
{
	t->stage = stage;
	for (u32 i = 0; i < t->n; i += 1 + t->items[i].parts) {
		struct top_item *item = &t->items[i];
		bool other = false;

		/* In a replay, watches of a device need not be next to each other. */
		if (item->watch->stage != stage)
			for (u32 j = 0; !other && j < t->n; j += 1 + t->items[j].parts)
				other = t->items[j].watch->device == item->watch->device &&
					(t->items[j].watch->stage == stage || j < i);
		item->viewed = !other;
	}
}

int top_init(struct top *t, const struct run_info *run)
{
	int err = -ENOMEM;

	*t = (struct top){ .run = run, .n = run->n_watches, .chosen = run->n_watches, .op = TOP_ALL_OPS, .room = 1 };
	t->items = calloc(t->n ?: 1, sizeof(*t->items));
	t->order = calloc(t->n ?: 1, sizeof(*t->order));
	t->judged = calloc(t->n ?: 1, sizeof(*t->judged));
	if (t->items && t->order && t->judged)
		err = hist_init(&t->all.hist, run->scale);
	if (err) {
		top_uninit(t);
		return err;
	}
	hist_track(&t->all.hist);
	top_scale_init(&t->scale, run->scale);
	for (u32 i = 0; i < t->n; i++) {
		t->items[i] = (struct top_item){ .watch = &run->watches[i], .idle = true,
						 .parts = watch_parts(run->watches, t->n, i) };
		t->stages |= 1u << run->watches[i].stage;
	}
	top_look_at(t, t->stages ? __builtin_ctz(t->stages) : 0);
	top_arrange(t);
	return 0;
}

void top_uninit(struct top *t)
{
	for (u32 i = 0; t->items && i < t->n; i++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			free(t->items[i].heat[op]);
		top_slow_free(t->items[i].slow);
	}
	free(t->items);
	free(t->order);
	free(t->judged);
	hist_uninit(&t->all.hist);
}

static struct top_figures figures_of(const struct op_frame *o, double interval_s)
{
	struct top_figures g = { 0 };

	if (!o->ios)
		return g;
	g = (struct top_figures){ .ios = o->ios, .errors = o->errors, .max_ns = o->max_ns };
	if (interval_s > 0) {
		g.iops = o->ios / interval_s;
		g.bytes_per_s = o->bytes / interval_s;
	}
	for (u32 p = 0; p < TOP_PERCENTILES; p++)
		g.percentile_ns[p] = quantile_ns(&o->hist, percentiles[p], o->min_ns, o->max_ns);
	return g;
}

/* Takes what the screen shows of the interval. @all is all of its ops together. */
static void take_figures(struct top_item *item, const struct frame *f, const struct op_frame *all)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		item->figures[op] = figures_of(&f->ops[op], f->interval_s);
	item->figures[TOP_ALL_OPS] = figures_of(all, f->interval_s);
	item->part = f->watch->part;
	item->in_flight = f->in_flight;
	item->oldest_ns = f->oldest_ns;
	item->depth = f->queue_depth;
	item->gone = f->gone;
	item->idle = !all->ios && !f->in_flight && !f->gone;
	item->lost_now = f->accounting.lost > item->lost ? f->accounting.lost - item->lost : 0;
	item->lost = f->accounting.lost;
}

static int take_history(struct top *t, struct top_item *item, const struct frames *fs, const struct frame *f)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		if (!f->ops[op].ios)
			continue;
		if (!item->heat[op])
			item->heat[op] = calloc(1, sizeof(*item->heat[op]));
		if (!item->heat[op])
			return -ENOMEM;
		top_heat_put(item->heat[op], &t->scale, t->samples, &f->ops[op].hist);
	}
	return fs->slow ? top_slow_take(&item->slow, fs->slow, &fs->slow->of[f->watch - t->run->watches], t->samples) : 0;
}

/*
 * Sets every item to idle and its device to gone, until its frame says otherwise: a device that is gone
 * has no frame any more.
 */
static void begin_interval(struct top *t)
{
	for (u32 i = 0; i < t->n; i++) {
		struct top_item *item = &t->items[i];

		for (u32 op = 0; op < BLKLAT_OPS; op++)
			if (item->heat[op])
				top_heat_put_none(item->heat[op], t->samples);
		if (t->paused)
			continue;
		memset(item->figures, 0, sizeof(item->figures));
		item->in_flight = item->oldest_ns = item->lost_now = 0;
		item->depth = 0;
		item->health = (struct health){ 0 };
		item->idle = item->gone = true;
	}
}

int top_take(struct top *t, const struct frames *fs)
{
	int err = 0;

	begin_interval(t);
	for (u32 i = 0; i < fs->n && !err; i++) {
		const struct frame *f = &fs->f[i];
		struct top_item *item = &t->items[f->watch - t->run->watches];
		struct health health = { 0 };

		frame_merge_ops(f, &t->all);
		if (!f->watch->part) {
			health = health_judge(&item->past, f, &t->all);
			err = take_history(t, item, fs, f);
		}
		if (!t->paused) {
			take_figures(item, f, &t->all);
			item->health = health;
			t->judged[i] = f->watch->part ? NULL : &item->health;
		}
	}
	if (fs->n)
		t->end_ns[t->samples % TOP_SAMPLES] = fs->f[0].end_ns;
	t->samples++;
	if (t->paused)
		return err;
	t->shown = t->samples;
	t->host = health_together(fs, t->judged);
	t->skipped = fs->skipped_unexplained;
	if (fs->n)
		t->interval_s = fs->f[0].interval_s;
	top_arrange(t);
	return err;
}

u64 top_first_sample(const struct top *t)
{
	return t->samples > TOP_SAMPLES ? t->samples - TOP_SAMPLES : 0;
}

void top_heat_of(const struct top *t, const struct top_item *item, u64 sample, double ret[TOP_STEPS])
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (item->heat[op] && (t->op == TOP_ALL_OPS || t->op == op))
			top_heat_add(item->heat[op], &t->scale, sample, ret);
}
