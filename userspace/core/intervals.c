// SPDX-License-Identifier: GPL-2.0-only
#include "core/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/accounting.h"
#include "util/array.h"
#include "util/clock.h"

int slow_limits_init(struct slow_limits *l, const struct slow_wanted *wanted, u32 room, u32 scale)
{
	size_t rows = (size_t)room * BLKLAT_OPS * SLOW_INTERVALS;

	scale = min_u64(scale, SLOW_SCALE);
	*l = (struct slow_limits){ .wanted = *wanted, .scale = scale };
	l->from_ns = sparse_calloc(room + 1, sizeof(*l->from_ns) * BLKLAT_OPS);
	if (!l->from_ns)
		return -ENOMEM;
	if (wanted->from_ns)
		return 0;
	l->past = sparse_calloc(rows + 1, sizeof(*l->past));
	l->cells = sparse_calloc(rows + 1, BLKLAT_CELLS(scale) * sizeof(*l->cells));
	if (!l->past || !l->cells)
		return -ENOMEM;
	l->sum = hist_on(l->cells + rows * BLKLAT_CELLS(scale), scale);
	return 0;
}

/* The last intervals of a watch and op. */
static struct slow_past *past_of(struct slow_limits *l, u32 watch, u32 op)
{
	return &l->past[((size_t)watch * BLKLAT_OPS + op) * SLOW_INTERVALS];
}

static void forget(struct slow_limits *l, u32 watch, u32 op)
{
	struct slow_past *past = past_of(l, watch, op);

	for (u32 i = 0; i < SLOW_INTERVALS; i++) {
		if (!past[i].hist.cells)
			past[i].hist = hist_on(l->cells + (past + i - l->past) * BLKLAT_CELLS(l->scale), l->scale);
		hist_clear(&past[i].hist);
		past[i].max_ns = 0;
	}
}

void slow_limits_enter(struct slow_limits *l, u32 first, u32 n)
{
	for (u32 i = first; i < first + n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			l->from_ns[i * BLKLAT_OPS + op] = l->wanted.from_ns ?: UINT64_MAX;
			if (l->past)
				forget(l, i, op);
		}
}

void slow_limits_uninit(struct slow_limits *l)
{
	free(l->from_ns);
	free(l->past);
	free(l->cells);
	*l = (struct slow_limits){ 0 };
}

static u64 limit_of(struct slow_limits *l, const struct slow_past *past)
{
	u64 max_ns = 0;

	hist_clear(&l->sum);
	for (u32 i = 0; i < SLOW_INTERVALS; i++) {
		if (!past[i].hist.octaves)
			continue;
		hist_add(&l->sum, &past[i].hist);
		max_ns = max_u64(max_ns, past[i].max_ns);
	}
	return max_ns ? quantile_ns(&l->sum, l->wanted.q, 0, max_ns) : UINT64_MAX;
}

static void note(struct slow_past *past, const struct op_frame *o)
{
	hist_clear(&past->hist);
	past->max_ns = o->ios ? o->max_ns : 0;
	if (o->ios)
		hist_add(&past->hist, &o->hist);
}

void slow_limits_follow(struct slow_limits *l, const struct frames *interval)
{
	if (!l->past)
		return;
	for (u32 i = 0; i < interval->n; i++) {
		if (interval->f[i].watch->part)
			continue;
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct slow_past *past = past_of(l, i, op);

			note(&past[l->turn], &interval->f[i].ops[op]);
			l->from_ns[i * BLKLAT_OPS + op] = limit_of(l, past);
		}
	}
	l->turn = (l->turn + 1) % SLOW_INTERVALS;
}

int intervals_init(struct intervals *in, struct capture *c)
{
	u32 room = max_u64(c->room, c->n_watches);
	int err;

	*in = (struct intervals){ .capture = c };
	err = snapshot_init_room(&in->snapshots[0], room, c->scale);
	err = err ?: snapshot_init_room(&in->snapshots[1], room, c->scale);
	err = err ?: frames_init_room(&in->frames, room, c->scale);
	if (!err && c->slow && c->live)
		err = slow_limits_init(&in->slow, &c->slow_wanted, room, c->scale);
	if (err)
		return err;
	in->snapshots[0].mono_ns = clock_ns(CLOCK_MONOTONIC);
	in->snapshots[0].wall_ns = clock_ns(CLOCK_REALTIME);
	intervals_enter(in, 0, c->n_watches);
	return 0;
}

void intervals_enter(struct intervals *in, u32 first, u32 n)
{
	struct capture *c = in->capture;

	snapshot_enter(&in->snapshots[0], first, n);
	snapshot_enter(&in->snapshots[1], first, n);
	frames_enter(&in->frames, c->watches + first, first, n, in->numbers);
	in->numbers += n;
	if (in->past)
		memset(&in->past[first], 0, n * sizeof(*in->past));
	for (u32 i = 0; i < in->frames.n; i++)
		in->frames.f[i].watch = &c->watches[i];	/* the list may have moved */
	if (!in->slow.from_ns)
		return;
	slow_limits_enter(&in->slow, first, n);
	c->live->set_slow(c, in->slow.from_ns);
}

/* The frame of the whole @watch among @fs, unless its device is gone; NULL: there is none. */
static const struct frame *find_whole(const struct frames *fs, const struct watch *watch)
{
	for (u32 i = 0; i < fs->n; i++) {
		const struct watch *w = fs->f[i].watch;

		if (!w->part && !fs->f[i].gone && w->device == watch->device && w->stage == watch->stage)
			return &fs->f[i];
	}
	return NULL;
}

void intervals_continue(struct intervals *in, const struct intervals *from)
{
	const struct frame *same = NULL;
	u32 part = 0;

	in->numbers = from->numbers;
	for (u32 i = 0; i < in->frames.n; i++) {
		struct frame *f = &in->frames.f[i];

		part = f->watch->part ? part + 1 : 0;
		if (!part)
			same = find_whole(&from->frames, f->watch);
		f->number = same ? same[part].number : in->numbers++;
		if (same)
			f->past = same[part].past;
	}
}

void intervals_uninit(struct intervals *in)
{
	snapshot_uninit(&in->snapshots[0]);
	snapshot_uninit(&in->snapshots[1]);
	frames_uninit(&in->frames);
	slow_limits_uninit(&in->slow);
	free(in->past);
}

static void add_past(const struct intervals *in, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		const struct past *past = &in->past[i];
		struct watch_counts *w = &s->w[i];

		w->started += past->started;
		w->started_after += past->started;
		w->kernel_ios += w->kernel_known ? past->kernel_ios : 0;
		for (u32 a = 0; a < BLKLAT_ACCOUNTS; a++)
			w->accounts[a] += past->accounts[a];
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			w->ops[op].ios_before = past->ios[op];
	}
	s->skipped += in->past_skipped;
}

/* Engines know only what they have counted themselves. */
static int read(struct intervals *in, struct snapshot *s, struct problem *p)
{
	int err;

	for (u32 i = 0; in->past && i < s->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			s->w[i].ops[op].ios_before = 0;
	err = in->capture->ops->read(in->capture, s, p);
	if (!err && in->past)
		add_past(in, s);
	return err;
}

/* If it is not known yet, it will be set to the completed IOs when it is. */
static u64 kernel_ios(const struct watch_counts *w)
{
	return w->kernel_known ? w->kernel_ios : accounting_completed(w);
}

/* @fewer: in flight; of a part 0, as it has no account. */
static struct past past_until(const struct watch_counts *was, const struct watch_counts *now, s64 fewer)
{
	struct past past = {
		/* If there are more, they began between the two reads. */
		.started = was->started - now->started + (fewer < 0 ? -fewer : 0),
		.kernel_ios = kernel_ios(was) - kernel_ios(now),
	};

	for (u32 a = 0; a < BLKLAT_ACCOUNTS; a++)
		past.accounts[a] = was->accounts[a] - now->accounts[a];
	past.accounts[BLKLAT_OVERWRITTEN] += fewer > 0 ? fewer : 0;
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		past.ios[op] = op_counts_ios(&was->ops[op]) - op_counts_ios(&now->ops[op]);
	return past;
}

/* The place of the watch with this number; fs->n: it is not there. */
static u32 numbered(const struct frames *fs, u32 number)
{
	u32 i = 0;

	while (i < fs->n && fs->f[i].number != number)
		i++;
	return i;
}

int intervals_replace(struct intervals *in, const struct intervals *from, struct problem *p)
{
	const struct snapshot *was = &from->snapshots[from->now];
	struct snapshot *now = &in->snapshots[in->now];
	struct past *past = sparse_calloc(max_u64(in->capture->room, 1), sizeof(*past));
	int err = past ? in->capture->ops->read(in->capture, now, p) : problem_set(p, -ENOMEM, "out of memory");

	for (u32 i = 0, k = 0; !err && i < now->n; i++, k++) {
		in->frames.f[i].gone = now->w[i].gone;
		if (!in->frames.f[i].watch->part)
			k = numbered(&from->frames, in->frames.f[i].number);
		if (k < was->n)
			past[i] = past_until(&was->w[k], &now->w[i], in->frames.f[i].watch->part ? 0 :
					     was->w[k].in_flight - now->w[i].in_flight);
		else
			snapshot_enter(now, i, 1);	/* new since then: its first interval has all of it */
	}
	if (err) {
		free(past);
		return err;
	}
	in->past = past;
	in->past_skipped = was->skipped - now->skipped;
	add_past(in, now);
	return 0;
}

int intervals_begin(struct intervals *in, struct problem *p)
{
	struct snapshot *now = &in->snapshots[in->now];
	int err = read(in, now, p);

	for (u32 i = 0; !err && i < now->n; i++) {
		in->frames.f[i].gone = now->w[i].gone;
		/* IOs in flight now are hardly older than the capture, and a recording lacks their ages. */
		now->w[i].waited_ns = 0;
	}
	return err;
}

int intervals_next(struct intervals *in, const struct percentiles *ps, struct problem *p)
{
	const struct snapshot *before = &in->snapshots[in->now];
	struct snapshot *now = &in->snapshots[!in->now];
	int err = read(in, now, p);

	if (err)
		return err;
	in->now = !in->now;
	frames_between(&in->frames, before, now, ps, in->capture->cpus);
	err = health_judge(&in->frames);
	if (err)
		return problem_set(p, err, "out of memory");
	frames_set_slow(&in->frames, in->capture->slow);
	if (in->slow.from_ns) {
		slow_limits_follow(&in->slow, &in->frames);
		in->capture->live->set_slow(in->capture, in->slow.from_ns);
	}
	return 0;
}
