// SPDX-License-Identifier: GPL-2.0-only
#include "report/run.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"

#define HEAT_BYTES (256ULL << 20)	/* limit for all series; enough for some twenty watches with all columns */
#define HEAT_SHARE 4			/* and at most this share of a run's memory limit */
#define HEAT_COLUMNS_LEAST 16

#define PART_BYTES (64ULL << 20)	/* the same for parts: so many are a few per cent of a long run's document */
#define PART_COLUMNS_MAX 32
#define PART_COLUMNS_LEAST 2

/* How many columns each heat of @n watches may have, by the run's scale and memory limit. */
static u32 heat_columns_of(const struct run *r, u32 n, u64 bytes, u32 least, u32 most)
{
	u64 share = r->budget.most / HEAT_SHARE;
	u64 columns =
		(share && share < bytes ? share : bytes) / ((u64)(n ?: 1) * BLKLAT_OPS * heat_column_bytes(r->scale));

	return max_u64(min_u64(columns, most), least);
}

#define ROOM_FIRST 64

static const struct percentiles none;

/* Copies the watches; the copies point into the run's own table of devices. */
static int copy_watches(struct run *r, const struct run_info *from)
{
	r->copies = calloc(from->n_watches ?: 1, sizeof(*r->copies));
	r->watches = calloc(from->n_watches ?: 1, sizeof(*r->watches));
	r->frames = calloc(from->n_watches ?: 1, sizeof(*r->frames));
	r->before = calloc(from->n_watches ?: 1, sizeof(*r->before));
	if (!r->copies || !r->watches || !r->frames || !r->before)
		return -ENOMEM;
	for (u32 i = 0; i < from->n_watches; i++) {
		r->copies[i] = from->watches[i];
		r->copies[i].part = NULL;
		part_keep(&r->copies[i].part, from->watches[i].part);
		r->copies[i].device = &r->devices.d[from->watches[i].device - from->devices->d];
		r->n_wholes += !r->copies[i].part;
	}
	r->n_watches = from->n_watches;
	return frames_init(&r->total, r->copies, r->n_watches, r->scale);
}

int run_init(struct run *r, const struct run_info *from, const struct collect_how *how)
{
	struct run made = {
		.scale = from->scale, .interval_s = from->interval_s, .given = from->watches, .budget = r->budget, .asked = how->asked,
		.merged = how->merged ?: 1, .glanced = from->glanced,
	};
	int err = origin_copy(&made.origin, from->origin) ?: device_table_copy(&made.devices, from->devices) ?:
		  copy_watches(&made, from) ?:
		  phases_init(&made.phases, &made.origin, made.n_watches, made.scale);
	u32 columns, part_columns;

	if (!err && from->slow_most)
		err = slow_ios_init(&made.slow, made.n_watches, slow_run_most(made.n_wholes));
	if (!err)
		err = merged_init(&made.scratch, made.scale);
	made.engine = strdup(from->engine);
	if (err || !made.engine) {
		run_uninit(&made);
		return -ENOMEM;
	}
	made.budget.taken += made.phases.n * sizeof(*made.phases.p) +
			     made.n_watches * (sizeof(*made.copies) + sizeof(*made.watches));
	columns = heat_columns_of(&made, made.n_wholes, HEAT_BYTES, HEAT_COLUMNS_LEAST, HEAT_COLUMNS_MAX);
	part_columns = heat_columns_of(&made, made.n_watches - made.n_wholes, PART_BYTES, PART_COLUMNS_LEAST,
				       PART_COLUMNS_MAX);
	for (u32 i = 0; i < made.n_watches; i++) {
		struct watch_run *w = &made.watches[i];

		w->watch = &made.copies[i];
		w->total = &made.total.f[i];
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			w->ops[op].total = &w->total->ops[op];
			heat_init(&w->ops[op].heat, made.scale, w->watch->part ? part_columns : columns);
		}
	}
	*r = made;
	return 0;
}

void run_uninit(struct run *r)
{
	for (u32 i = 0; i < r->n_watches; i++) {
		struct watch_run *w = &r->watches[i];

		for (u32 op = 0; op < BLKLAT_OPS; op++)
			series_run_uninit(&w->ops[op]);
		percentiles_run_uninit(&w->all_ops);
		free(w->queue_depth);
		free(w->busy);
		free(w->in_flight);
		free(w->oldest_ns);
		free(w->lost);
		free(w->halts);
	}
	free(r->watches);
	free(r->frames);
	free(r->before);
	frames_uninit(&r->total);
	merged_uninit(&r->scratch);
	for (u32 i = 0; r->copies && i < r->n_watches; i++)
		part_keep(&r->copies[i].part, NULL);
	free(r->copies);
	free(r->start_s);
	free(r->length_s);
	free(r->engine);
	phases_uninit(&r->phases);
	slow_ios_uninit(&r->slow);
	device_table_free(&r->devices);
	origin_uninit(&r->origin);
	*r = (struct run){ 0 };
}

static int grow_watch(struct watch_run *w, u32 had, u32 room, struct budget *b)
{
	int err = budget_grow(b, &w->queue_depth, sizeof(double), had, room) ?:
		  budget_grow(b, &w->busy, sizeof(double), had, room) ?:
		  budget_grow(b, &w->in_flight, sizeof(u64), had, room) ?:
		  budget_grow(b, &w->oldest_ns, sizeof(u64), had, room) ?:
		  budget_grow(b, &w->lost, sizeof(u64), had, room);

	for (u32 op = 0; !err && op < BLKLAT_OPS; op++)
		if (w->ops[op].ios)
			err = series_run_grow(&w->ops[op], had, room, b);
	return err ?: w->all_ops.ns ? percentiles_run_grow(&w->all_ops, had, room, b) : 0;
}

static int make_room(struct run *r)
{
	u32 room = r->room ? r->room + r->room / 2 : ROOM_FIRST;
	int err;

	if (r->n < r->room)
		return 0;
	err = budget_grow(&r->budget, &r->start_s, sizeof(double), r->room, room) ?:
	      budget_grow(&r->budget, &r->length_s, sizeof(double), r->room, room);
	for (u32 i = 0; !err && i < r->n_watches; i++)
		err = grow_watch(&r->watches[i], r->room, room, &r->budget);
	if (!err)
		r->room = room;
	return err;
}

static int all_ops_put(struct run *r, struct watch_run *w, const struct frame *f)
{
	bool any = f && frame_has_ios(f), begins = any && !w->all_ops.ns;
	int err = begins ? percentiles_run_grow(&w->all_ops, 0, r->room, &r->budget) : 0;

	if (err || !w->all_ops.ns)
		return err;
	if (begins)
		percentiles_run_clear(&w->all_ops, r->n);
	if (any)
		frame_merge_ops(f, &r->scratch);
	percentiles_run_put(&w->all_ops, r->n, any ? &r->scratch : NULL);
	return 0;
}

static int ops_put(struct run *r, struct watch_run *w, const struct frame *f)
{
	u32 i = r->n;
	int err = 0;

	for (u32 op = 0; !err && op < BLKLAT_OPS; op++) {
		if (f && f->ops[op].ios && !w->ops[op].ios)
			err = series_run_begin(&w->ops[op], i, r->room, &r->budget);
		if (!err && w->ops[op].ios)
			err = series_run_put(&w->ops[op], i, f ? &f->ops[op] : NULL, &r->budget);
	}
	return err ?: watch_run_is_owner(w) ? all_ops_put(r, w, f) : 0;
}

static int watch_put(struct run *r, u32 watch, const struct frame *f)
{
	struct watch_run *w = &r->watches[watch];
	u32 i = r->n;

	w->queue_depth[i] = f ? f->queue_depth : 0;
	w->busy[i] = f ? f->busy : 0;
	w->in_flight[i] = f ? f->in_flight : 0;
	w->oldest_ns[i] = f ? f->oldest_ns : 0;
	w->lost[i] = f ? max_u64(f->accounting.lost, r->before[watch].lost) - r->before[watch].lost
		       : i ? w->lost[i - 1] : 0;
	w->gone = f ? f->gone : w->n_there > 0;
	if (f) {
		if (!w->n_there)
			w->first_there = i;
		w->n_there = i + 1;
		frame_accumulate(&r->total.f[watch], f, &none);
	}
	return ops_put(r, w, f);
}

/* When the interval began. If a recording has dropped its oldest intervals, the first one does not begin at 0. */
static double start_of(const struct run *r, const struct frames *interval, double length_s)
{
	if (interval->now && r->origin.start_mono_ns) {
		s64 end_ns = interval->now->mono_ns - r->origin.start_mono_ns;
		double start_s = (double)end_ns / NSEC_PER_SEC - length_s;

		/*
		 * The length is a rounded difference of times of the same clock, so the result may be
		 * off by the rounding.
		 */
		return start_s > 1e-9 ? start_s : 0;
	}
	return r->seen_s;
}

static bool is_asked_for(const struct run *r, double middle_s)
{
	return !(r->asked.from && middle_s < r->asked.from_s) && !(r->asked.to && middle_s >= r->asked.to_s);
}

/* Notes what was counted by the end of an interval that was not asked for. */
static void leave_out(struct run *r, const struct frames *interval)
{
	for (u32 i = 0; i < interval->n; i++)
		r->before[interval->f[i].watch - r->given] = interval->f[i].accounting;
	r->skipped_before = interval->skipped_unexplained;
	r->left_out = true;
}

bool run_place(struct run *r, const struct frames *interval, struct run_span *ret)
{
	double length_s = interval->n ? interval->f[0].interval_s : 0;
	bool asked_for;

	if (!(length_s > 0))
		return false;
	*ret = (struct run_span){ start_of(r, interval, length_s), length_s };
	r->seen_s = ret->start_s + length_s;
	asked_for = is_asked_for(r, ret->start_s + length_s / 2);
	if (!asked_for && !r->n)
		leave_out(r, interval);
	return asked_for;
}

int run_add_at(struct run *r, const struct run_span *where, const struct frames *interval)
{
	const struct phase_interval of_phase = { r->n, where->start_s, where->length_s, r->frames };
	int err = make_room(r);

	memset(r->frames, 0, r->n_watches * sizeof(*r->frames));
	for (u32 i = 0; i < interval->n; i++)
		r->frames[interval->f[i].watch - r->given] = &interval->f[i];
	for (u32 i = 0; !err && i < r->n_watches; i++)
		err = watch_put(r, i, r->frames[i]);
	err = err ?: phases_add(&r->phases, &of_phase, &r->budget);
	if (err)
		return err;
	r->start_s[r->n] = where->start_s;
	r->length_s[r->n] = where->length_s;
	r->duration_s += where->length_s;
	r->skipped_unexplained = interval->skipped_unexplained > r->skipped_before
					 ? interval->skipped_unexplained - r->skipped_before
					 : 0;
	r->n++;
	return 0;
}

static int add_halt(struct watch_run *w, double from_s, double to_s)
{
	struct stall *last = w->n_halts ? &w->halts[w->n_halts - 1] : NULL;

	/* It went on at the interval's end. */
	if (last && from_s - last->to_s < 1e-6) {
		last->to_s = to_s;
		return 0;
	}
	if (array_more(&w->halts, sizeof(*w->halts), w->n_halts, &w->halts_room))
		return -ENOMEM;
	w->halts[w->n_halts++] = (struct stall){ from_s, to_s };
	return 0;
}

int run_add_halts(struct run *r, const struct run_span *where, const struct frames *interval)
{
	double end_s = where->start_s + where->length_s;
	int err = 0;

	for (u32 i = 0; r->glanced && interval->now && i < interval->n; i++) {
		struct watch_run *w = &r->watches[interval->f[i].watch - r->given];
		const struct watch_counts *c = interval->f[i].counts;

		for (u32 n = 0; !err && n < c->n_halts; n++)
			err = add_halt(
				w, end_s - (double)(s64)(interval->now->mono_ns - c->halts[n].from_ns) / NSEC_PER_SEC,
				end_s - (double)(s64)(interval->now->mono_ns - c->halts[n].to_ns) / NSEC_PER_SEC);
	}
	return err;
}

int run_add_slow(struct run *r, const struct frames *interval)
{
	u64 before = slow_run_bytes(&r->slow);
	double end_s;

	if (!r->slow.most || !interval->slow || !interval->now || !interval->n)
		return 0;
	end_s = (double)(s64)(interval->now->mono_ns - r->origin.start_mono_ns) / NSEC_PER_SEC;
	if (!is_asked_for(r, end_s - interval->f[0].interval_s / 2))
		return 0;
	if (slow_run_add(&r->slow, interval, r->origin.start_mono_ns))
		return -ENOMEM;
	return budget_take(&r->budget, slow_run_bytes(&r->slow) - before);
}

/* Over the active window, while the device was there. */
static void set_rates(struct run *r, u32 watch)
{
	const struct watch_run *w = &r->watches[watch];
	struct frame *total = &r->total.f[watch];
	double time = active_time(r, w), per_s = time > 0 ? 1 / time : 0, waited = 0, busy = 0;

	for (u32 i = r->active.first; i < r->active.first + r->active.n; i++) {
		waited += w->queue_depth[i] * r->length_s[i];
		busy += w->busy[i] * r->length_s[i];
	}
	total->queue_depth = waited * per_s;
	total->busy = busy * per_s;
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		total->ops[op].iops = active_sum(r, w->ops[op].ios) * per_s;
		total->ops[op].bytes_per_s = active_sum(r, w->ops[op].bytes) * per_s;
	}
}

void run_finish(struct run *r)
{
	active_windows_set(r);
	frames_set_percentiles(&r->total, &run_of_total);
	for (u32 i = 0; i < r->n_watches; i++) {
		set_rates(r, i);
		r->watches[i].account = r->total.f[i].accounting;
		if (r->left_out)
			accounting_take_off(&r->watches[i].account, &r->before[i]);
	}
	phases_finish(&r->phases, run_end(r), &run_of_total);
	slow_ios_sort(&r->slow);
	r->given = NULL;
}

enum naming { BY_LABEL, BY_FILE, BY_PATH, BY_NUMBER };

static const char *name_by(const struct run *r, enum naming by, size_t size)
{
	const char *file = r->origin.file, *slash = strrchr(file, '/');
	size_t length = strlen(file);

	if (by == BY_PATH)
		return file + (length < size ? 0 : length - size + 1);
	return by == BY_LABEL ? r->origin.label : slash ? slash + 1 : file;
}

void run_name(const struct run *runs, u32 n, u32 i, char *ret, size_t size)
{
	for (enum naming by = BY_LABEL; by < BY_NUMBER; by++) {
		const char *name = name_by(&runs[i], by, size);
		u32 called = 0;

		for (u32 k = 0; k < n; k++)
			called += !strcmp(name_by(&runs[k], by, size), name);
		if (name[0] && called == 1) {
			snprintf(ret, size, "%s", name);
			return;
		}
	}
	snprintf(ret, size, "run %u", i + 1);
}

bool watch_run_is_owner(const struct watch_run *w)
{
	return part_has_owners(w->watch->part);
}

u32 run_parts(const struct run *r, u32 i)
{
	u32 parts = 0;

	while (i + 1 + parts < r->n_watches && r->copies[i + 1 + parts].part)
		parts++;
	return parts;
}

u64 watch_run_ios(const struct watch_run *w)
{
	u64 ios = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		ios += w->ops[op].total->ios;
	return ios;
}

u64 watch_run_ios_in(const struct watch_run *w, u32 i)
{
	u64 ios = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		ios += w->ops[op].ios ? w->ops[op].ios[i] : 0;
	return ios;
}

double run_end_of(const struct run *r, u32 i)
{
	return r->start_s[i] + r->length_s[i];
}

double run_end(const struct run *r)
{
	return r->n ? run_end_of(r, r->n - 1) : 0;
}

double run_iops(const struct run *r, const u64 *ios, u32 i)
{
	return ios ? ios[i] / r->length_s[i] : 0;
}
