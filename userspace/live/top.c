// SPDX-License-Identifier: GPL-2.0-only
#include "live/top.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static int by_end(const void *of_a, const void *of_b)
{
	const struct slow_io *const *a = of_a, *const *b = of_b;

	return ((*a)->end_ns > (*b)->end_ns) - ((*a)->end_ns < (*b)->end_ns);
}

static int put(struct top_slow *s, const struct slow_io *io, u64 sample)
{
	struct top_slow_io *to = &s->io[s->taken % TOP_SLOW];
	char *cgroup = io->cgroup ? strdup(io->cgroup) : NULL;

	if (io->cgroup && !cgroup)
		return -ENOMEM;
	part_keep(&to->io.part, NULL);
	free(to->io.cgroup);
	*to = (struct top_slow_io){ sample, *io };
	to->io.cgroup = cgroup;
	to->io.part = NULL;
	part_keep(&to->io.part, io->part);
	s->taken++;
	return 0;
}

/*
 * Adds the slow IOs of interval @sample, in the order of their ends. *s is allocated with the first
 * one. Returns 0 or -ENOMEM.
 */
static int top_slow_take(struct top_slow **s, const struct slow_ios *slow, const struct slow_of *of, u64 sample)
{
	const struct slow_io **list;
	int err = 0;

	if (!of->found)
		return 0;
	*s = *s ?: calloc(1, sizeof(**s));
	list = calloc(of->n + 1, sizeof(*list));
	if (!*s || !list) {
		free(list);
		return -ENOMEM;
	}
	for (u32 i = 0; i < of->n; i++)
		list[i] = &slow->io[of->first + i];
	qsort(list, of->n, sizeof(*list), by_end);
	for (u32 i = of->n > TOP_SLOW ? of->n - TOP_SLOW : 0; !err && i < of->n; i++)
		err = put(*s, list[i], sample);
	(*s)->found += of->found;
	free(list);
	return err;
}

static void top_slow_free(struct top_slow *s)
{
	for (u32 i = 0; s && i < TOP_SLOW; i++) {
		part_keep(&s->io[i].io.part, NULL);
		free(s->io[i].io.cgroup);
	}
	free(s);
}

const struct slow_io *top_slow_before(const struct top_slow *s, u64 shown, u32 op, u64 *at)
{
	while (*at && *at + TOP_SLOW > s->taken) {
		const struct top_slow_io *one = &s->io[--*at % TOP_SLOW];

		if (one->sample < shown && (op == BLKLAT_OPS || one->io.told.op == op))
			return &one->io;
	}
	return NULL;
}

#define LEVELS_AN_OCTAVE 7	/* 255 of them reach 2^36 IOs */

static u32 step_of(double ns)
{
	double step = (log10(ns) - TOP_FIRST) * TOP_DECADE;

	return step < 0 ? 0 : step >= TOP_STEPS ? TOP_STEPS - 1 : step;
}

static void top_scale_init(struct top_scale *s, u32 scale)
{
	u32 last = BLKLAT_CELLS(scale) - 1;

	s->step[0] = 0;
	for (u32 cell = 1; cell < last; cell++)
		s->step[cell] = step_of(sqrt((double)hist_lower_ns(scale, cell) * hist_upper_ns(scale, cell)));
	s->step[last] = TOP_STEPS - 1;
	for (u32 level = 0; level < ARRAY_SIZE(s->ios); level++)
		s->ios[level] = level ? exp2((level - 1.0) / LEVELS_AN_OCTAVE) : 0;
}

static u8 level_of(u64 ios)
{
	u32 level = ios ? 1 + lround(log2(ios) * LEVELS_AN_OCTAVE) : 0;

	return level < 255 ? level : 255;
}

/* Stores @h as interval number @sample, counted from 0. */
static void top_heat_put(struct top_heat *heat, const struct top_scale *s, u64 sample, const struct hist *h)
{
	u64 ios[TOP_STEPS] = { 0 };

	for (u32 octave = 0; octave <= BLKLAT_OCTAVE_BELOW; octave++) {
		u32 first, n = hist_octave(h->scale, octave, &first);

		if (h->octaves >> octave & 1)
			for (u32 cell = first; cell < first + n; cell++)
				ios[s->step[cell]] += h->cells[cell];
	}
	for (u32 step = 0; step < TOP_STEPS; step++)
		heat->level[sample % TOP_SAMPLES][step] = level_of(ios[step]);
}

u32 top_shade(double ios, double most, u32 shades)
{
	double shade;

	if (ios <= 0)
		return 0;
	shade = most > 1 ? 1 + floor(log2(fmax(ios, 1)) / log2(most) * shades) : shades;
	return shade < shades ? shade : shades;
}

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

/* Adds the devices that have come. */
static void take_watches(struct top *t)
{
	const struct watch *w = t->run->watches;
	u32 before = t->n;

	t->n = t->run->n_watches;
	for (u32 i = before; i < t->n; i++) {
		t->items[i] = (struct top_item){ .watch = &w[i], .idle = true, .parts = watch_parts(w, t->n, i) };
		t->stages |= 1u << w[i].stage;
		t->divided |= w[i].part != NULL;
	}
	if (t->n > before)
		top_look_at(t, before || !t->stages ? t->stage : (u32)__builtin_ctz(t->stages));
}

int top_init(struct top *t, const struct run_info *run)
{
	u32 most = run_most_watches(run);
	int err = -ENOMEM;

	*t = (struct top){ .run = run, .chosen = TOP_NONE, .op = TOP_ALL_OPS, .room = 1 };
	t->items = sparse_calloc(most + 1, sizeof(*t->items));
	t->order = sparse_calloc(most + 1, sizeof(*t->order));
	if (t->items && t->order)
		err = merged_init(&t->all, run->scale);
	if (err) {
		top_uninit(t);
		return err;
	}
	top_scale_init(&t->scale, run->scale);
	take_watches(t);
	top_arrange(t);
	return 0;
}

void top_uninit(struct top *t)
{
	for (u32 i = 0; t->items && i < t->n; i++) {
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			free(t->items[i].heat[op]);
		top_slow_free(t->items[i].slow);
		part_keep(&t->items[i].part, NULL);
	}
	free(t->items);
	free(t->order);
	merged_uninit(&t->all);
}

static struct top_figures figures_of(const struct op_frame *o, double interval_s)
{
	struct top_figures g = { 0 };

	if (!o->ios)
		return g;
	g = (struct top_figures){ .ios = o->ios, .errors = o->errors, .sum_ns = o->sum_ns, .max_ns = o->max_ns };
	if (interval_s > 0) {
		g.iops = o->ios / interval_s;
		g.bytes_per_s = o->bytes / interval_s;
	}
	for (u32 p = 0; p < TOP_PERCENTILES; p++)
		g.percentile_ns[p] = op_quantile_ns(o, percentiles[p]);
	return g;
}

/* Takes what the screen shows of the interval. @all is all of its ops together. */
static void take_figures(struct top_item *item, const struct frame *f, const struct op_frame *all)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		item->figures[op] = figures_of(&f->ops[op], f->interval_s);
	item->figures[TOP_ALL_OPS] = figures_of(all, f->interval_s);
	part_keep(&item->part, f->watch->part);
	item->in_flight = f->in_flight;
	item->oldest_ns = f->oldest_ns;
	item->depth = f->queue_depth;
	item->busy_known = f->busy_known;
	item->busy = f->busy;
	item->gone = f->gone;
	item->idle = !all->ios && !f->in_flight && !f->gone;
	item->health = f->health;
	item->lost = f->accounting.lost;
}

/* Of each op, and their sums. */
static void take_shares(struct top_item *item, const struct frames *fs, u32 i)
{
	struct shares *all = &item->figures[TOP_ALL_OPS].shares;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct shares *s = &item->figures[op].shares;

		if (!shares_of(fs, i, op, s))
			continue;
		for (u32 k = 0; k < SHARES; k++)
			all->ns[k] += s->ns[k];
		all->bios += s->bios;
		all->requests += s->requests;
	}
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
	return f->slow ? top_slow_take(&item->slow, fs->slow, f->slow, t->samples) : 0;
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
				memset(item->heat[op]->level[t->samples % TOP_SAMPLES], 0, TOP_STEPS);
		if (t->paused)
			continue;
		memset(item->figures, 0, sizeof(item->figures));
		item->in_flight = item->oldest_ns = 0;
		item->depth = 0;
		item->busy_known = false;
		item->health = (struct health){ 0 };
		item->idle = item->gone = true;
	}
}

int top_take(struct top *t, const struct frames *fs)
{
	int err = 0;

	take_watches(t);
	begin_interval(t);
	for (u32 i = 0; i < fs->n && !err; i++) {
		const struct frame *f = &fs->f[i];
		struct top_item *item = &t->items[f->watch - t->run->watches];

		if (!f->watch->part)
			err = take_history(t, item, fs, f);
		if (t->paused)
			continue;
		frame_merge_ops(f, &t->all);
		take_figures(item, f, &t->all);
		take_shares(item, fs, i);
		t->busy_known |= f->busy_known;
	}
	if (fs->n)
		t->end_ns[t->samples % TOP_SAMPLES] = fs->f[0].end_ns;
	t->samples++;
	if (t->paused)
		return err;
	t->shown = t->samples;
	t->host = fs->host;
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
		for (u32 step = 0; item->heat[op] && (t->op == TOP_ALL_OPS || t->op == op) && step < TOP_STEPS; step++)
			ret[step] += t->scale.ios[item->heat[op]->level[sample % TOP_SAMPLES][step]];
}

/* --- decides on the order of the lines, which ones are folded, and which is selected --- */

const char *const top_sort_names[TOP_SORTS] = {
	[TOP_BY_P99] = "p99", [TOP_BY_OLDEST] = "oldest", [TOP_BY_DEPTH] = "depth", [TOP_BY_IOPS] = "IOPS",
	[TOP_BY_MBPS] = "MB/s", [TOP_BY_NAME] = "name",
};

/* Higher ranks come first. */
static double rank_of(const struct top *t, const struct top_item *item)
{
	const struct top_figures *g = &item->figures[t->op];

	switch (t->sort) {
	case TOP_BY_P99:
		return health_worst_ns(&item->health, g->percentile_ns[TOP_P99]);
	case TOP_BY_OLDEST:
		return item->oldest_ns;
	case TOP_BY_DEPTH:
		return item->depth;
	case TOP_BY_IOPS:
		return g->iops;
	case TOP_BY_MBPS:
		return g->bytes_per_s;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b, void *with)
{
	const struct top *t = with;
	u32 i = *(const u32 *)a, j = *(const u32 *)b;
	const struct top_item *x = &t->items[i], *y = &t->items[j];
	double more = rank_of(t, y) - rank_of(t, x);
	int by_name;

	if (more)
		return more > 0 ? 1 : -1;
	by_name = strverscmp(x->watch->device->name, y->watch->device->name);
	return by_name ?: (i > j) - (i < j);
}

static int compare_names(const void *a, const void *b, void *with)
{
	const struct top *t = with;

	return strverscmp(t->items[*(const u32 *)a].watch->device->name, t->items[*(const u32 *)b].watch->device->name);
}

static bool is_wanted(const struct top *t, const struct top_item *item)
{
	return item->viewed && !item->watch->part && (!item->gone || !item->idle) &&
	       (!*t->filter || strcasestr(item->watch->device->name, t->filter));
}

void top_arrange(struct top *t)
{
	u32 line;

	t->n_lines = t->n_idle = 0;
	/* The selected item keeps its line when it becomes idle. */
	for (u32 i = 0; i < t->n; i++)
		if (is_wanted(t, &t->items[i]) && (!t->items[i].idle || i == t->chosen))
			t->order[t->n_lines++] = i;
	for (u32 i = 0; i < t->n; i++)
		if (is_wanted(t, &t->items[i]) && t->items[i].idle && i != t->chosen)
			t->order[t->n_lines + t->n_idle++] = i;
	qsort_r(t->order, t->n_lines, sizeof(*t->order), compare, t);
	qsort_r(t->order + t->n_lines, t->n_idle, sizeof(*t->order), compare_names, t);

	line = top_selected_line(t);
	if (line < t->first)
		t->first = line;
	if (line >= t->first + t->room)
		t->first = line - t->room + 1;
	if (t->first + t->room > t->n_lines)
		t->first = t->n_lines > t->room ? t->n_lines - t->room : 0;
}

u32 top_selected_line(const struct top *t)
{
	for (u32 line = 0; line < t->n_lines; line++)
		if (t->order[line] == t->chosen)
			return line;
	return 0;
}

/* Does @a come before @b, which is another part of the same device? */
static bool comes_before(const struct top *t, const struct top_item *a, const struct top_item *b)
{
	bool owners = part_has_owners(a->watch->part);
	u64 time_a = a->figures[t->op].sum_ns, time_b = b->figures[t->op].sum_ns;

	return owners && time_a != time_b ? time_a > time_b : a < b;
}

const struct top_item *top_next_part(const struct top *t, const struct top_item *whole, const struct top_item *after)
{
	const struct top_item *next = NULL;

	for (const struct top_item *part = whole + 1; part <= whole + whole->parts; part++)
		if (part->figures[t->op].ios && part != after && (!after || comes_before(t, after, part)) &&
		    (!next || comes_before(t, part, next)))
			next = part;
	return next;
}

double top_share_of_time(const struct top *t, const struct top_item *whole, const struct top_item *part)
{
	u64 all_ns = whole->figures[TOP_ALL_OPS].sum_ns;

	return all_ns ? (double)part->figures[t->op].sum_ns / all_ns : 0;
}

bool top_marks(const struct top_item *item)
{
	bool acknowledged = item->acknowledged_ns && item->acknowledged_ns == item->health.since_ns;

	return item->gone || (health_marks(&item->health) && !acknowledged);
}

struct top_item *top_selected(const struct top *t)
{
	return t->n_lines ? &t->items[t->order[top_selected_line(t)]] : NULL;
}
