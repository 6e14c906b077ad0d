// SPDX-License-Identifier: GPL-2.0-only
#include "report/series_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define ROOM_FIRST 16

static u32 scale_of(u32 scale)
{
	return scale < HEAT_SCALE_MAX ? scale : HEAT_SCALE_MAX;
}

void heat_init(struct heat *h, u32 scale, u32 columns_max)
{
	*h = (struct heat){ .scale = scale_of(scale), .columns_max = columns_max, .per_column = 1 };
}

u64 heat_column_bytes(u32 scale)
{
	return BLKLAT_CELLS(scale_of(scale)) * sizeof(u64);
}

void heat_uninit(struct heat *h)
{
	free(h->cells);
	h->cells = NULL;
	h->n = h->room = 0;
}

struct hist heat_column(const struct heat *h, u32 column)
{
	return (struct hist){
		.scale = h->scale,
		.cells = h->cells + (size_t)column * BLKLAT_CELLS(h->scale),
		.octaves = HIST_ALL_OCTAVES,
	};
}

/* Merges columns in pairs. The last one of an odd number remains half full, for the intervals that follow. */
static void halve(struct heat *h)
{
	u32 n = (h->n + 1) / 2;

	for (u32 i = 0; i < n; i++) {
		struct hist to = heat_column(h, i), first = heat_column(h, 2 * i);

		if (i)
			hist_copy(&to, &first);
		if (2 * i + 1 < h->n) {
			struct hist second = heat_column(h, 2 * i + 1);

			hist_add(&to, &second);
		}
	}
	h->n = n;
	h->per_column *= 2;
}

static int make_room(struct heat *h, u32 columns, struct budget *b)
{
	u32 room = h->room ?: ROOM_FIRST;
	int err;

	while (room < columns)
		room *= 2;
	room = min_u64(room, h->columns_max);
	if (columns <= h->room)
		return 0;
	err = budget_grow(b, &h->cells, heat_column_bytes(h->scale), h->room, room);
	if (!err)
		h->room = room;
	return err;
}

int heat_add(struct heat *h, u32 interval, const struct hist *ios, struct budget *b)
{
	int err = make_room(h, min_u64(interval / h->per_column + 1, h->columns_max), b);
	struct hist column;

	if (err)
		return err;
	while (interval / h->per_column >= h->columns_max)
		halve(h);
	for (; h->n <= interval / h->per_column; h->n++) {
		column = heat_column(h, h->n);
		hist_clear(&column);
	}
	column = heat_column(h, interval / h->per_column);
	if (ios)
		hist_add(&column, ios);
	return 0;
}

const struct percentiles run_over_time = {
	.n = PERCENTILES_OVER_TIME,
	.p = { [RUN_P50] = { 0.5, "p50" }, { 0.9, "p90" }, [RUN_P99] = { 0.99, "p99" }, { 0.999, "p99.9" } },
};

const struct percentiles run_of_total = {
	.n = 7,
	.p = {
		[RUN_P50] = { 0.5, "p50" }, { 0.9, "p90" }, { 0.95, "p95" }, { 0.99, "p99" }, { 0.999, "p99.9" },
		{ 0.9999, "p99.99" }, { 0.99999, "p99.999" },
	},
};

#define PERCENTILES_BYTES (PERCENTILES_OVER_TIME * sizeof(double))	/* of an interval */

int percentiles_run_grow(struct percentiles_run *p, u32 had, u32 room, struct budget *b)
{
	return budget_grow(b, &p->ns, PERCENTILES_BYTES, had, room);
}

void percentiles_run_uninit(struct percentiles_run *p)
{
	free(p->ns);
	p->ns = NULL;
}

void percentiles_run_clear(struct percentiles_run *p, u32 n)
{
	for (u32 i = 0; i < n * run_over_time.n; i++)
		p->ns[i] = -1;
}

void percentiles_run_put(struct percentiles_run *p, u32 i, const struct op_frame *o)
{
	for (u32 k = 0; k < run_over_time.n; k++)
		p->ns[i * run_over_time.n + k] =
			o && o->ios ? op_quantile_ns(o, run_over_time.p[k].q) : -1;
}

double percentiles_run_ns(const struct percentiles_run *p, u32 i, u32 which)
{
	return p->ns ? p->ns[i * run_over_time.n + which] : -1;
}

/* All arrays of a series with one u64 for each interval. */
#define SERIES_ARRAYS(s) { &(s)->ios, &(s)->bytes, &(s)->errors, &(s)->sum_ns, &(s)->min_ns, &(s)->max_ns }
#define N_SERIES_ARRAYS 6

void series_run_uninit(struct series_run *s)
{
	u64 **const arrays[] = SERIES_ARRAYS(s);

	for (u32 i = 0; i < N_SERIES_ARRAYS; i++)
		free(*arrays[i]);
	percentiles_run_uninit(&s->percentiles);
	heat_uninit(&s->heat);
}

int series_run_grow(struct series_run *s, u32 had, u32 room, struct budget *b)
{
	u64 **const arrays[] = SERIES_ARRAYS(s);
	int err = 0;

	for (u32 i = 0; !err && i < N_SERIES_ARRAYS; i++)
		err = budget_grow(b, arrays[i], sizeof(u64), had, room);
	return err ?: percentiles_run_grow(&s->percentiles, had, room, b);
}

int series_run_begin(struct series_run *s, u32 n, u32 room, struct budget *b)
{
	u64 **const arrays[] = SERIES_ARRAYS(s);
	int err = series_run_grow(s, 0, room, b);

	if (err)
		return err;
	for (u32 i = 0; i < N_SERIES_ARRAYS; i++)
		memset(*arrays[i], 0, n * sizeof(u64));
	percentiles_run_clear(&s->percentiles, n);
	return 0;
}

int series_run_put(struct series_run *s, u32 i, const struct op_frame *o, struct budget *b)
{
	bool any = o && o->ios;

	s->ios[i] = any ? o->ios : 0;
	s->bytes[i] = o ? o->bytes : 0;
	s->errors[i] = o ? o->errors : 0;
	s->sum_ns[i] = o ? o->sum_ns : 0;
	s->min_ns[i] = any ? o->min_ns : 0;
	s->max_ns[i] = any ? o->max_ns : 0;
	percentiles_run_put(&s->percentiles, i, o);
	return heat_add(&s->heat, i, any ? &o->hist : NULL, b);
}

#define PATH_MOST 1023		/* limit of a cgroup's path in a recording, RECORDING_CGROUP_BYTES */

u32 slow_run_most(u32 n_wholes)
{
	u32 most = SLOW_RUN_MOST / (n_wholes ?: 1);

	return most < SLOW_RUN_LEAST ? SLOW_RUN_LEAST : most;
}

/*
 * An IO's wall clock time is related to the interval's end, which has both clocks. So a wall clock that
 * was set between intervals does not displace it.
 */
static u64 since_start(const struct slow_io *io, const struct snapshot *now, u64 start_mono_ns)
{
	s64 ns = (s64)(now->mono_ns - start_mono_ns) - (now->wall_ns - io->end_ns);

	return ns > 0 ? ns : 0;
}

int slow_run_add(struct slow_ios *to, const struct frames *interval, u64 start_mono_ns)
{
	const struct slow_ios *slow = interval->slow;
	int err = 0;

	for (u32 i = 0; i < slow->n; i++) {
		struct slow_io io = slow->io[i];

		io.told.end_ns = since_start(&io, interval->now, start_mono_ns);
		err = slow_ios_add(to, &io) ?: err;
	}
	for (u32 i = 0; i < slow->n_watches; i++)
		to->of[i].found += slow->of[i].found - slow->of[i].n;
	return err;
}

u64 slow_run_bytes(const struct slow_ios *s)
{
	return s->room * (sizeof(*s->io) + PATH_MOST + 1ULL);
}

int merged_make(const struct frame *total, struct op_frame *ret)
{
	struct op_frame m;
	int err = merged_init(&m, total->ops[0].hist.scale);

	if (err)
		return err;
	frame_merge_ops(total, &m);
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		m.iops += total->ops[op].iops;
		m.bytes_per_s += total->ops[op].bytes_per_s;
	}
	m.mean_ns = m.ios ? (double)m.sum_ns / m.ios : 0;
	for (u32 i = 0; i < run_of_total.n; i++)
		m.percentile_ns[i] = op_quantile_ns(&m, run_of_total.p[i].q);
	*ret = m;
	return 0;
}
