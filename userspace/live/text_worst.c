// SPDX-License-Identifier: GPL-2.0-only
#include "live/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

int worst_init(struct worst *w, u32 watches, u64 most, u32 scale)
{
	*w = (struct worst){ .most = most };
	w->of = sparse_calloc(watches + 1, sizeof(*w->of));
	w->order = sparse_calloc(watches + 1, sizeof(*w->order));
	w->judged = sparse_calloc(watches + 1, sizeof(*w->judged));
	if (!w->of || !w->order || !w->judged || merged_init(&w->all, scale)) {
		worst_uninit(w);
		return -ENOMEM;
	}
	return 0;
}

void worst_uninit(struct worst *w)
{
	free(w->of);
	free(w->order);
	free(w->judged);
	merged_uninit(&w->all);
	*w = (struct worst){ 0 };
}

struct ranking {
	const struct worst *w;
	const struct watch *watches;
};

/* A device that goes away is worse than any other. */
static double rank_of(const struct ranking *r, const struct frame *f)
{
	const struct health *h = &r->w->of[f->watch - r->watches].health;

	return frame_just_gone(f) ? HUGE_VAL : health_worst_ns(h, h->p99_ns);
}

static int compare(const void *a, const void *b, void *with)
{
	const struct frame *f = *(const struct frame **)a, *g = *(const struct frame **)b;
	double more = rank_of(with, g) - rank_of(with, f);

	if (more)
		return more > 0 ? 1 : -1;
	return (f > g) - (f < g);
}

void worst_judge(struct worst *w, const struct frames *fs, const struct watch *watches, bool run)
{
	const struct ranking ranking = { w, watches };
	u32 n = 0;

	memset(w->judged, 0, fs->n * sizeof(*w->judged));
	for (u32 i = 0; i < fs->n; i += 1 + frames_parts(fs, i)) {
		struct worst_watch *watch = &w->of[fs->f[i].watch - watches];
		struct health_past none = { 0 };

		frame_merge_ops(&fs->f[i], &w->all);
		watch->health = health_judge(run ? &none : &watch->past, &fs->f[i], &w->all);
		watch->left_out = false;
		w->judged[i] = &watch->health;
		w->order[n++] = &fs->f[i];
	}
	w->host = health_together(fs, w->judged);
	if (!w->most || n <= w->most)
		return;
	qsort_r(w->order, n, sizeof(*w->order), compare, (void *)&ranking);
	for (u32 i = w->most; i < n; i++)
		w->of[w->order[i]->watch - watches].left_out = frame_has_ios(w->order[i]) || w->order[i]->in_flight;
}
