// SPDX-License-Identifier: GPL-2.0-only
#include "report/phase_run.h"

#include <errno.h>
#include <stdlib.h>

/* The part of a series from interval @first on. */
static struct series_run series_from(const struct series_run *s, u32 first, const struct op_frame *total)
{
	if (!s->ios || !total->ios)
		return (struct series_run){ .total = total };
	return (struct series_run){
		.ios = s->ios + first, .bytes = s->bytes + first, .errors = s->errors + first, .sum_ns = s->sum_ns + first,
		.min_ns = s->min_ns + first, .max_ns = s->max_ns + first,
		.percentiles = percentiles_run_from(&s->percentiles, first), .total = total,
	};
}

static struct watch_run watch_from(const struct watch_run *w, u32 first, const struct frame *total)
{
	struct watch_run part = {
		.watch = w->watch, .total = total, .queue_depth = w->queue_depth + first, .in_flight = w->in_flight + first,
		.oldest_ns = w->oldest_ns + first, .lost = w->lost + first, .gone = w->gone,
		.all_ops = percentiles_run_from(&w->all_ops, first), .n_there = w->n_there > first ? w->n_there - first : 0,
	};

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		part.ops[op] = series_from(&w->ops[op], first, &total->ops[op]);
	return part;
}

int phase_run_make(const struct run *r, const struct phase *p, struct run *ret)
{
	struct run made = *r;

	made.n = p->n;
	made.start_s = r->start_s + p->first;
	made.length_s = r->length_s + p->first;
	made.duration_s = p->length_s;
	made.phases = (struct phases){ 0 };
	made.active = p->active;
	made.active.first = 0;
	made.watches = calloc(r->n_watches ?: 1, sizeof(*made.watches));
	made.total.f = calloc(r->n_watches ?: 1, sizeof(*made.total.f));
	if (!made.watches || !made.total.f) {
		phase_run_free(&made);
		return -ENOMEM;
	}
	for (u32 i = 0; i < r->n_watches; i++) {
		if (p->of[i])
			made.total.f[i] = *p->of[i];
		made.total.f[i].watch = &r->copies[i];
		made.watches[i] = watch_from(&r->watches[i], p->first, &made.total.f[i]);
	}
	*ret = made;
	return 0;
}

void phase_run_free(struct run *r)
{
	free(r->watches);
	free(r->total.f);
	*r = (struct run){ 0 };
}
