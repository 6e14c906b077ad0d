// SPDX-License-Identifier: GPL-2.0-only
#include "live/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/array.h"

int worst_init(struct worst *w, u32 watches, u64 most)
{
	*w = (struct worst){ .most = most };
	w->left_out = sparse_calloc(watches + 1, sizeof(*w->left_out));
	w->order = sparse_calloc(watches + 1, sizeof(*w->order));
	if (w->left_out && w->order)
		return 0;
	worst_uninit(w);
	return -ENOMEM;
}

void worst_uninit(struct worst *w)
{
	free(w->left_out);
	free(w->order);
	*w = (struct worst){ 0 };
}

/* A device that goes away is worse than any other. */
static double rank_of(const struct frame *f)
{
	return frame_just_gone(f) ? HUGE_VAL : health_worst_ns(&f->health, f->health.p99_ns);
}

static int compare(const void *a, const void *b)
{
	const struct frame *f = *(const struct frame **)a, *g = *(const struct frame **)b;
	double more = rank_of(g) - rank_of(f);

	if (more)
		return more > 0 ? 1 : -1;
	return (f > g) - (f < g);
}

void worst_find(struct worst *w, const struct frames *fs, const struct watch *watches)
{
	u32 n = 0;

	for (u32 i = 0; i < fs->n; i += 1 + frames_parts(fs, i)) {
		w->left_out[fs->f[i].watch - watches] = false;
		w->order[n++] = &fs->f[i];
	}
	if (!w->most || n <= w->most)
		return;
	qsort(w->order, n, sizeof(*w->order), compare);
	for (u32 i = w->most; i < n; i++)
		w->left_out[w->order[i]->watch - watches] = frame_has_ios(w->order[i]) || w->order[i]->in_flight;
}
