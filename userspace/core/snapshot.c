// SPDX-License-Identifier: GPL-2.0-only
#include "core/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "core/kinds.h"
#include "util/array.h"

const char *const stage_names[BLKLAT_STAGES] = { STAGES(KIND_NAME) };
const char *const op_names[BLKLAT_OPS] = { OPS(KIND_NAME) };

#define SPAN(stage, name, span, ...) [stage] = name " (" span ")",
const char *const stage_spans[BLKLAT_STAGES] = { STAGES(SPAN) };

u32 watch_parts(const struct watch *w, u32 n, u32 i)
{
	u32 behind = 0;

	while (!w[i].part && i + 1 + behind < n && w[i + 1 + behind].part)
		behind++;
	return behind;
}

u32 watches_of_device(const struct watch *w, u32 n)
{
	u32 i = 1;

	while (i < n && w[i].device == w->device)
		i++;
	return i;
}

int watches_divide(const struct watch *w, u32 n, enum blklat_by by, u32 cgroups, struct watch **ret, u32 *ret_n)
{
	u32 n_parts = blklat_parts(by, cgroups), made = 0;
	struct watch *list = calloc((size_t)n * (1 + n_parts) + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++) {
		list[made++] = w[i];
		for (u32 p = 1; p <= n_parts; p++) {
			list[made] = w[i];
			list[made++].part = part_numbered(by, p);
		}
	}
	*ret = list;
	*ret_n = made;
	return 0;
}

#define RUN_COPIES 6	/* what is read, two snapshots, an interval, their sum, and those being collected */

int snapshot_init_room(struct snapshot *s, u32 room, u32 scale)
{
	struct snapshot made = {
		.scale = scale, .w = sparse_calloc(room + 1, sizeof(*made.w)), .cells = op_cells_make(room, scale),
	};

	if (!made.w || !made.cells) {
		snapshot_uninit(&made);
		return scale > BLKLAT_SCALE_MAX ? -EINVAL : -ENOMEM;
	}
	*s = made;
	return 0;
}

int snapshot_init(struct snapshot *s, u32 n, u32 scale)
{
	int err = snapshot_init_room(s, n, scale);

	if (!err)
		snapshot_enter(s, 0, n);
	return err;
}

void snapshot_enter(struct snapshot *s, u32 first, u32 n)
{
	for (u32 i = first; i < first + n; i++) {
		struct watch_counts entered = { 0 };

		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct op_counts *o = &entered.ops[op];

			o->hist = s->w[i].ops[op].hist;
			o->after_idle = s->w[i].ops[op].after_idle;
			op_cells_take(s->cells, i, op, s->scale, &o->hist, &o->after_idle);
			o->late_min_ns = UINT64_MAX;
		}
		s->w[i] = entered;
	}
	s->n = max_u64(s->n, first + n);
}

void snapshot_uninit(struct snapshot *s)
{
	free(s->w);
	free(s->cells);
	s->w = NULL;
	s->cells = NULL;
	s->n = 0;
}

u64 *op_cells_make(u32 watches, u32 scale)
{
	if (scale > BLKLAT_SCALE_MAX)
		return NULL;
	return sparse_calloc((size_t)watches * BLKLAT_OPS + 1, OP_CELLS(scale) * sizeof(u64));
}

u64 replay_op_bytes(u32 scale)
{
	return RUN_COPIES * OP_CELLS(scale) * sizeof(u64);
}

void op_cells_take(u64 *cells, u32 watch, u32 op, u32 scale, struct hist *hist, struct hist *after_idle)
{
	u64 *own;

	if (hist->cells) {
		hist_clear(hist);
		hist_clear(after_idle);
		return;
	}
	own = cells + ((size_t)watch * BLKLAT_OPS + op) * OP_CELLS(scale);
	*hist = hist_on(own, scale);
	*after_idle = hist_on(own + BLKLAT_CELLS(scale), idle_scale(scale));
}

u64 op_counts_ios(const struct op_counts *o)
{
	return o->ios_before + hist_count(&o->hist);
}

static void op_copy(struct op_counts *to, const struct op_counts *from)
{
	struct hist hist = to->hist, after_idle = to->after_idle;

	hist_copy(&hist, &from->hist);
	hist_copy(&after_idle, &from->after_idle);
	*to = *from;
	to->hist = hist;
	to->after_idle = after_idle;
}

void watch_counts_copy(struct watch_counts *to, const struct watch_counts *from)
{
	struct op_counts ops[BLKLAT_OPS];

	memcpy(ops, to->ops, sizeof(ops));
	*to = *from;
	memcpy(to->ops, ops, sizeof(ops));
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_copy(&to->ops[op], &from->ops[op]);
}

void snapshot_copy(struct snapshot *to, const struct snapshot *from)
{
	struct snapshot copy = *from;

	copy.w = to->w;
	copy.cells = to->cells;
	*to = copy;
	for (u32 i = 0; i < from->n; i++)
		watch_counts_copy(&to->w[i], &from->w[i]);
}

void op_counts_add(struct op_counts *to, const struct op_counts *more)
{
	to->sum_ns += more->sum_ns;
	to->bytes += more->bytes;
	to->errors += more->errors;
	to->min_ns = min_u64(to->min_ns, more->min_ns);
	to->max_ns = max_u64(to->max_ns, more->max_ns);
	to->late_min_ns = min_u64(to->late_min_ns, more->late_min_ns);
	to->late_max_ns = max_u64(to->late_max_ns, more->late_max_ns);
	hist_add(&to->hist, &more->hist);
	to->after_idle_sum_ns += more->after_idle_sum_ns;
	hist_add(&to->after_idle, &more->after_idle);
}

void watch_counts_add_part(struct watch_counts *whole, const struct watch_counts *part)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_counts_add(&whole->ops[op], &part->ops[op]);
}

static u64 clamp_to_cell(u64 ns, u32 scale, u32 cell)
{
	/* The lower bound is exclusive, but 0 ns has no cell of its own. */
	u64 lowest = cell ? hist_lower_ns(scale, cell) + 1 : 0;
	u64 highest = hist_upper_ns(scale, cell);

	if (ns < lowest)
		ns = lowest;
	return ns > highest ? highest : ns;
}

/* @none is the value that means that no IO ended. It may lie in a cell at an end of the grid. */
static u64 choose(u64 ns, u64 late_ns, u64 none, u32 scale, u32 cell)
{
	if (ns != none && blklat_cell(ns, scale) == cell)
		return ns;
	if (late_ns != none && blklat_cell(late_ns, scale) == cell)
		return late_ns;
	return clamp_to_cell(ns != none ? ns : 0, scale, cell);
}

struct extremes extremes_of(const struct op_counts *now, const struct hist *interval)
{
	u32 scale = interval->scale, first = 0, last = 0;
	u64 shortest, longest;

	hist_range(interval, &first, &last);
	shortest = choose(now->min_ns, now->late_min_ns, UINT64_MAX, scale, first);
	longest = choose(now->max_ns, now->late_max_ns, 0, scale, last);
	/* If two IOs share a bin, their extremes may have been read in different intervals. */
	if (shortest > longest)
		return (struct extremes){ longest, shortest };
	return (struct extremes){ shortest, longest };
}
