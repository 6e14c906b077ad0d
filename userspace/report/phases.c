// SPDX-License-Identifier: GPL-2.0-only
#include "report/phases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/run.h"

int phases_init(struct phases *ph, const struct origin *origin, u32 n_watches, u32 scale)
{
	u32 room = origin->n_marks < PHASES_MAX ? origin->n_marks : PHASES_MAX;
	struct phases made = {
		.n_watches = n_watches, .scale = scale,
		.p = calloc(room ?: 1, sizeof(*made.p)),
	};

	if (!made.p)
		return -ENOMEM;
	for (u32 i = 0; i < origin->n_marks; i++) {
		const struct mark *m = &origin->marks[i];

		if (!strcmp(m->text, "end") || !strcmp(m->text, "pause"))
			continue;
		if (made.n == PHASES_MAX) {
			made.left_out++;
			continue;
		}
		made.p[made.n++] = (struct phase){
			.name = m->text, .from_s = mark_s(origin, m),
			.to_s = i + 1 < origin->n_marks ? mark_s(origin, m + 1) : INFINITY,
		};
	}
	*ph = made;
	return 0;
}

static void frame_free(struct frame *f)
{
	for (u32 op = 0; f && op < BLKLAT_OPS; op++)
		free(f->ops[op].hist.cells);	/* the cells of after_idle are behind them in the same block */
	free(f);
}

void phases_uninit(struct phases *ph)
{
	for (u32 i = 0; i < ph->n; i++) {
		for (u32 w = 0; ph->p[i].of && w < ph->n_watches; w++)
			frame_free(ph->p[i].of[w]);
		free(ph->p[i].of);
	}
	free(ph->p);
	*ph = (struct phases){ 0 };
}

static bool has_io(const struct frame *f)
{
	return f && frame_is_busy(f);
}

static bool is_idle(const struct phases *ph, const struct phase_interval *i)
{
	for (u32 w = 0; w < ph->n_watches; w++)
		if (has_io(i->frames[w]))
			return false;
	return true;
}

static bool is_whole(const struct phase *p, const struct phase_interval *i)
{
	double slack_s = i->length_s * PHASES_SLACK;

	return i->start_s >= p->from_s - slack_s && i->start_s + i->length_s <= p->to_s + slack_s;
}

bool phases_divide(const struct phases *ph, double from_s, double to_s)
{
	for (u32 k = ph->at; k < ph->n && ph->p[k].from_s < to_s; k++)
		if (ph->p[k].from_s > from_s || (ph->p[k].to_s > from_s && ph->p[k].to_s < to_s))
			return true;
	return false;
}

/* The phase in which the interval's middle lies; NULL: none. */
static struct phase *phase_of(struct phases *ph, const struct phase_interval *i)
{
	double middle_s = i->start_s + i->length_s / 2;

	while (ph->at < ph->n && middle_s >= ph->p[ph->at].to_s)
		ph->at++;
	return ph->at < ph->n && middle_s >= ph->p[ph->at].from_s ? &ph->p[ph->at] : NULL;
}

static int frame_add(const struct phases *ph, struct frame **to, const struct frame *from, struct budget *b)
{
	static const struct percentiles none;
	int err = *to ? 0 : budget_calloc(b, to, sizeof(**to));

	for (u32 op = 0; !err && op < BLKLAT_OPS; op++) {
		struct op_frame *o = &(*to)->ops[op];
		u64 *cells;

		if (o->hist.cells || !from->ops[op].ios)
			continue;
		err = budget_calloc(b, &cells, OP_CELLS(ph->scale) * sizeof(*cells));
		if (!err)
			op_cells_take(cells, 0, 0, ph->scale, &o->hist, &o->after_idle);
	}
	if (!err)
		frame_accumulate(*to, from, &none);
	return err;
}

/* Drops figures from intervals that do not lie completely in the phase. */
static void phase_restart(struct phases *ph, struct phase *p)
{
	for (u32 w = 0; w < ph->n_watches; w++)
		if (p->of[w])
			frame_clear(p->of[w]);
	p->n = p->idle_n = 0;
	p->length_s = p->idle_s = 0;
}

int phases_add(struct phases *ph, const struct phase_interval *i, struct budget *b)
{
	struct phase *p = phase_of(ph, i);
	int err = 0;

	/* Once a phase has a complete interval, it takes no others. */
	if (!p || (p->n && !p->partial && !is_whole(p, i)))
		return 0;
	if (is_idle(ph, i)) {
		p->idle_n += p->n > 0;
		p->idle_s += p->n ? i->length_s : 0;
		return 0;
	}
	/* A comparison makes a run of each phase. Their memory is already counted here, where it can be refused. */
	if (!p->of)
		err = budget_take(b, (u64)ph->n_watches * (sizeof(struct watch_run) + sizeof(struct frame))) ?:
		      budget_calloc(b, &p->of, ph->n_watches * sizeof(*p->of));
	if (p->n && p->partial && is_whole(p, i))
		phase_restart(ph, p);
	if (!p->n)
		p->first = i->number;
	p->partial = !is_whole(p, i);
	p->n += p->idle_n + 1;
	p->length_s += p->idle_s + i->length_s;
	p->idle_n = 0;
	p->idle_s = 0;
	for (u32 w = 0; !err && w < ph->n_watches; w++)
		if (has_io(i->frames[w]))
			err = frame_add(ph, &p->of[w], i->frames[w], b);
	return err;
}

/* Rates are over the whole phase, even if a device was idle for a part of it. */
static void frame_finish(struct frame *f, double length_s, const struct percentiles *ps)
{
	const struct frame nothing = { .in_flight = f->in_flight, .oldest_ns = f->oldest_ns, .end_ns = f->end_ns };

	f->interval_s = length_s;
	f->accounting = (struct accounting){ 0 };	/* would count from the run's begin */
	frame_accumulate(f, &nothing, ps);
}

void phases_finish(struct phases *ph, double end_s, const struct percentiles *ps)
{
	while (ph->n && ph->p[ph->n - 1].from_s >= end_s && !ph->p[ph->n - 1].of)
		ph->n--;
	for (u32 k = 0; k < ph->n; k++) {
		struct phase *p = &ph->p[k];

		p->to_s = fmin(p->to_s, fmax(end_s, p->from_s));
		for (u32 w = 0; p->n && w < ph->n_watches; w++)
			if (p->of[w])
				frame_finish(p->of[w], p->length_s, ps);
	}
}

static struct watch_run watch_from(const struct watch_run *w, u32 first, const struct frame *total)
{
	struct watch_run part = {
		.watch = w->watch, .total = total, .queue_depth = w->queue_depth + first, .busy = w->busy + first, .in_flight = w->in_flight + first,
		.oldest_ns = w->oldest_ns + first, .lost = w->lost + first, .gone = w->gone,
		.first_there = w->first_there > first ? w->first_there - first : 0, .n_there = w->n_there > first ? w->n_there - first : 0,
	};

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct series_run *s = &w->ops[op];

		part.ops[op] = (struct series_run){ .total = &total->ops[op] };
		if (s->ios && total->ops[op].ios)
			part.ops[op] = (struct series_run){
				.ios = s->ios + first, .bytes = s->bytes + first, .errors = s->errors + first, .sum_ns = s->sum_ns + first,
				.min_ns = s->min_ns + first, .max_ns = s->max_ns + first, .total = &total->ops[op],
			};
	}
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
