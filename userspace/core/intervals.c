// SPDX-License-Identifier: GPL-2.0-only
#include "core/intervals.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/clock.h"

static u32 count_wholes(const struct watch *watches, u32 n)
{
	u32 wholes = 0;

	for (u32 i = 0; i < n; i++)
		wholes += !watches[i].part;
	return wholes;
}

static int make_past(struct slow_limits *l, const struct watch *watches, u32 n, u32 scale)
{
	size_t each;
	u32 rows;

	if (scale > SLOW_SCALE)
		scale = SLOW_SCALE;
	l->wholes = count_wholes(watches, n);
	rows = SLOW_INTERVALS * l->wholes * BLKLAT_OPS;
	each = BLKLAT_CELLS(scale);
	l->past = calloc(rows, sizeof(*l->past));
	l->cells = sparse_calloc(rows + 1, each * sizeof(*l->cells));
	if (!l->past || !l->cells)
		return -ENOMEM;
	for (u32 i = 0; i < rows; i++) {
		l->past[i].hist = hist_on(l->cells + i * each, scale);
		hist_track(&l->past[i].hist);
	}
	l->sum = hist_on(l->cells + rows * each, scale);
	hist_track(&l->sum);
	return 0;
}

int slow_limits_init(struct slow_limits *l, const struct slow_wanted *wanted, const struct watch *watches, u32 n, u32 scale)
{
	*l = (struct slow_limits){ .wanted = *wanted, .n_watches = n, .from_ns = calloc((size_t)n * BLKLAT_OPS, sizeof(*l->from_ns)) };
	if (!l->from_ns)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)n * BLKLAT_OPS; i++)
		l->from_ns[i] = wanted->from_ns ?: UINT64_MAX;
	return wanted->from_ns ? 0 : make_past(l, watches, n, scale);
}

void slow_limits_uninit(struct slow_limits *l)
{
	free(l->from_ns);
	free(l->past);
	free(l->cells);
	*l = (struct slow_limits){ 0 };
}

static u64 limit_of(struct slow_limits *l, u32 row)
{
	u32 rows = l->wholes * BLKLAT_OPS;
	u64 max_ns = 0;

	hist_clear(&l->sum);
	for (u32 turn = 0; turn < SLOW_INTERVALS; turn++) {
		const struct slow_past *past = &l->past[turn * rows + row];

		if (!past->hist.octaves)
			continue;
		hist_add(&l->sum, &past->hist);
		max_ns = past->max_ns > max_ns ? past->max_ns : max_ns;
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
	u32 whole = 0;

	if (!l->past)
		return;
	for (u32 i = 0; i < interval->n; i++) {
		if (interval->f[i].watch->part)
			continue;
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			u32 row = whole * BLKLAT_OPS + op;

			note(&l->past[l->turn * l->wholes * BLKLAT_OPS + row], &interval->f[i].ops[op]);
			l->from_ns[i * BLKLAT_OPS + op] = limit_of(l, row);
		}
		whole++;
	}
	l->turn = (l->turn + 1) % SLOW_INTERVALS;
}

int intervals_init(struct intervals *in, struct capture *c)
{
	int err;

	*in = (struct intervals){ .capture = c };
	err = snapshot_init(&in->snapshots[0], c->n_watches, c->scale);
	err = err ?: snapshot_init(&in->snapshots[1], c->n_watches, c->scale);
	err = err ?: frames_init(&in->frames, c->watches, c->n_watches, c->scale);
	if (!err && c->slow && c->live)
		err = slow_limits_init(&in->slow, &c->slow_wanted, c->watches, c->n_watches, c->scale);
	if (err)
		return err;
	snapshot_track(&in->snapshots[0]);
	snapshot_track(&in->snapshots[1]);
	frames_track(&in->frames);
	in->snapshots[0].mono_ns = clock_ns(CLOCK_MONOTONIC);
	in->snapshots[0].wall_ns = clock_ns(CLOCK_REALTIME);
	if (in->slow.from_ns)
		c->live->set_slow(c, in->slow.from_ns);
	return 0;
}

void intervals_uninit(struct intervals *in)
{
	snapshot_uninit(&in->snapshots[0]);
	snapshot_uninit(&in->snapshots[1]);
	frames_uninit(&in->frames);
	slow_limits_uninit(&in->slow);
}

int intervals_begin(struct intervals *in, struct problem *p)
{
	struct snapshot *now = &in->snapshots[in->now];
	int err = in->capture->ops->read(in->capture, now, p);

	for (u32 i = 0; !err && i < now->n; i++) {
		in->frames.f[i].gone = now->w[i].gone;
		/* IOs in flight now are hardly older than the capture, and a recording does not have their ages. */
		now->w[i].waited_ns = 0;
	}
	return err;
}

int intervals_next(struct intervals *in, const struct percentiles *ps, struct problem *p)
{
	const struct snapshot *before = &in->snapshots[in->now];
	struct snapshot *now = &in->snapshots[!in->now];
	int err = in->capture->ops->read(in->capture, now, p);

	if (err)
		return err;
	in->now = !in->now;
	frames_between(&in->frames, before, now, ps, in->capture->cpus);
	in->frames.slow = in->capture->slow;
	if (in->slow.from_ns) {
		slow_limits_follow(&in->slow, &in->frames);
		in->capture->live->set_slow(in->capture, in->slow.from_ns);
	}
	return 0;
}
