// SPDX-License-Identifier: GPL-2.0-only
#include "core/json_parts.h"

#include <errno.h>
#include <stdio.h>

#include "core/cgroup.h"
#include "core/shares.h"
#include "util/cleanup.h"
#include "util/units.h"

static struct json_object *count_at(const void *of, u32 i)
{
	return json_count((*(const u64 *const *)of)[i]);
}

struct json_object *json_counts(const u64 *counts, u32 n)
{
	return json_values_later(n, count_at, &counts, sizeof(counts));
}

struct decimals {
	const double *values;
	int digits;
};

static struct json_object *decimal_at(const void *of, u32 i)
{
	const struct decimals *d = of;

	return json_decimal(d->values[i], d->digits);
}

struct json_object *json_decimals(const double *values, u32 n, int digits)
{
	const struct decimals d = { values, digits };

	return json_values_later(n, decimal_at, &d, sizeof(d));
}

struct json_object *json_latencies(const struct op_frame *o, const struct percentiles *ps)
{
	struct json_object *to = JSON({ "mean", json_decimal(o->mean_ns, 1) }, { "min", json_count(o->min_ns) },
				      { "max", json_count(o->max_ns) });

	for (u32 i = 0; i < ps->n; i++)
		json_add(to, ps->p[i].name, json_decimal(o->percentile_ns[i], 1));
	return to;
}

struct bin {
	u64 lower_ns, upper_ns, ios;
};

static struct json_object *bin_at(const void *of, u32 i)
{
	const struct bin *b = (const struct bin *)of + i;
	struct json_object *to = json_new_array(3);

	json_append(to, json_count(b->lower_ns));
	json_append(to, b->upper_ns == UINT64_MAX ? NULL : json_count(b->upper_ns));
	json_append(to, json_count(b->ios));
	return to;
}

struct json_object *json_bins(const struct hist *h)
{
	struct bin bins[BLKLAT_CELLS_MAX];
	u32 n = 0;

	hist_for_each(cell, h)
		bins[n++] = (struct bin){ hist_lower_ns(h->scale, cell), hist_upper_ns(h->scale, cell), h->cells[cell] };
	return json_values_later(n, bin_at, bins, n * sizeof(*bins));
}

static struct json_object *known(const char *text)
{
	return text[0] ? json_text(text) : json_absent;
}

struct json_object *json_identity(const struct device *d)
{
#define IS_KNOWN(what) d->what[0]
#define MEMBER(what) { #what, known(d->what) }
#define COMMA ,
	if (!(DEVICE_IDENTITY(IS_KNOWN, ||)))
		return json_absent;
	return JSON(DEVICE_IDENTITY(MEMBER, COMMA));
}

struct json_object *json_device(const struct device *d, const struct device_table *t, const struct device *now)
{
	struct json_object *lower = json_new_array(0);

	for (u32 i = 0; now && i < now->n_lower; i++)
		json_append(lower, json_text(t->d[now->lower[i]].name));
	return JSON({ "name", json_text(d->name) }, { "kind", json_text(d->kind) }, { "model", json_text(d->model) },
		    { "mapper", json_text(d->mapper) }, { "scheduler", json_text(d->scheduler) },
		    { "size_bytes", json_count(d->size_bytes) }, { "lower", lower }, { "identity", json_identity(d) });
}

struct json_object *json_part(const struct part *part)
{
	char namespace[PART_LABEL_MAX], pod[PART_LABEL_MAX], container[PART_LABEL_MAX];
	struct json_object *to;

	if (!part)
		return json_absent;
	to = JSON({ "by", json_text(part->by) }, { "label", json_text(part->label) });
	if (!part_is_by(part, BLKLAT_BY_CGROUP))
		return to;
	if (part->label[0] == '/') {
		const struct cgroup_names names = cgroup_names(part->label);

		JSON_ADD(to, { "container", known(names.container) }, { "pod", known(names.pod) },
			 { "unit", known(names.unit) });
	} else if (part_is_owner(part) && sscanf(part->label, "%255[^./]/%255[^/]/%255[^/]", namespace, pod, container) == 3) {
		JSON_ADD(to, { "container", json_text(container) }, { "pod", json_text(pod) }, { "namespace", json_text(namespace) });
	}
	return to;
}

struct json_object *json_flag(bool set)
{
	return set ? json_bool(true) : json_absent;
}

struct json_object *json_partial(const struct frame *f)
{
	struct json_object *to = json_absent;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_sums *sums = &f->ops[op].partial;

		if (!sums->bytes && !sums->errors)
			continue;
		if (to == json_absent)
			to = json_new_array(0);
		json_append(to, JSON({ "op", json_text(op_names[op]) }, { "bytes", json_count(sums->bytes) },
				     { "errors", json_count(sums->errors) }));
	}
	return to;
}

struct json_object *json_accounting(const struct accounting *a)
{
	struct json_object *lost_by = json_new_object();

	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		if (a->lost_by[reason])
			json_add(lost_by, lost_names[reason], json_count(a->lost_by[reason]));
	return JSON({ "started", json_count(a->started) }, { "completed", json_count(a->completed) },
		    { "in_flight", json_count(a->in_flight) }, { "lost", json_count(a->lost) }, { "lost_by", lost_by },
		    { "requeued", json_count(a->requeued) },
		    { "kernel_ios", a->kernel_known ? json_count(a->kernel_ios) : NULL },
		    { "kernel_in_flight", a->kernel_known ? json_count(a->kernel_in_flight) : NULL },
		    { "moved", json_count(a->moved) }, { "before_start", json_count(a->before) },
		    { "unissued", json_count(a->unissued) }, { "skipped", json_count(a->skipped) },
		    { "skipped_unexplained", json_count(a->skipped_unexplained) });
}

struct json_object *json_slow(const struct slow_io *io)
{
	char time[UNITS_TEXT];
	struct json_object *to = JSON({ "time", json_text(units_utc(time, io->end_ns)) });

	for (u32 i = 0; i < SLOW_FIELDS; i++) {
		const struct slow_value v = slow_value(io, &slow_io_fields[i]);
		bool is_bool = slow_io_fields[i].kind == SLOW_KIND_BOOL;

		json_add(to, slow_io_fields[i].name, !v.known ? NULL : v.text ? json_text(v.text) :
			 is_bool ? json_bool(v.n) : json_count(v.n));
	}
	return JSON_ADD(to, { "part", json_part(io->part) });
}

struct json_object *json_shares(const struct frames *fs, u32 i, u32 op)
{
	struct json_object *to;
	u32 part[SHARES];
	struct shares s;

	if (fs->f[i].watch->stage != BLKLAT_STAGE_TOTAL || !shares_of(fs, i, op, &s))
		return json_absent;
	shares_round(&s, part);
	to = json_new_object();
	for (u32 k = 0; k < SHARES; k++)
		json_add(to, share_names[k], json_decimal((double)part[k] / SHARES_WHOLE, 3));
	return JSON_ADD(to, { "exact", json_bool(s.exact) });
}

#define SCHEMA 1

/*
 * Pairs of cell and IOs, for cells with IOs: takes half as much as bounds would. A service makes them each interval, so
 * they are one text: objects for all of these numbers take several times as long.
 */
static struct json_object *cells(const struct hist *h)
{
	char text[BLKLAT_CELLS_MAX * 28 + 2], *end = text;

	hist_for_each(cell, h)
		end += sprintf(end, "%c%u,%llu", end == text ? '[' : ',', cell, h->cells[cell]);
	strcpy(end, end == text ? "[]" : "]");
	return json_written(text);
}

/* Mean and percentiles, as far as they are known; null if there is no IO. */
static struct json_object *after_idle(const struct json_interval *of, const struct op_frame *o)
{
	const struct percentiles *ps = &of->run->percentiles;
	struct json_object *latency_ns = JSON({ "mean", json_decimal(after_idle_mean_ns(o), 1) });

	for (u32 i = 0; i < ps->n; i++)
		json_add(latency_ns, ps->p[i].name, json_decimal(after_idle_quantile_ns(o, ps->p[i].q), 1));
	return JSON({ "ios", json_count(o->after_idle_ios) }, { "latency_ns", latency_ns },
		    { "bins", of->bins ? json_bins(&o->after_idle) : json_absent });
}

static struct json_object *ops(const struct json_interval *of, const struct frame *f)
{
	bool stream = of->bins == JSON_CELLS, pauses = of->frames->idle_gap_ns && !stream;
	struct json_object *to = json_new_array(0);

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &f->ops[op];

		if (!o->ios)
			continue;
		json_append(to, JSON({ "op", json_text(op_names[op]) }, { "ios", json_count(o->ios) },
				     { "bytes", json_count(o->bytes) }, { "errors", json_count(o->errors) },
				     { "iops", json_decimal(o->iops, 1) },
				     { "latency_ns", json_latencies(o, &of->run->percentiles) },
				     { "shares", json_shares(of->frames, f - of->frames->f, op) },
				     { "bins", of->bins == JSON_BINS ? json_bins(&o->hist) : json_absent },
				     { "sum_ns", stream ? json_count(o->sum_ns) : json_absent },
				     { "cells", stream ? cells(&o->hist) : json_absent },
				     { "after_idle", pauses ? after_idle(of, o) : json_absent }));
	}
	return to;
}

static struct json_object *slow_ios(const struct slow_ios *slow, const struct slow_of *of)
{
	struct json_object *list = json_new_array(of->n);

	for (u32 i = 0; i < of->n; i++)
		json_append(list, json_slow(&slow->io[of->first + i]));
	return list;
}

void json_add_frame(struct json_object *to, const struct json_interval *of, const struct frame *f)
{
	const struct watch *w = f->watch;
	const struct slow_of *slow = f->slow;

	JSON_ADD(to, { "interval_s", json_decimal(f->interval_s, 6) }, { "device", json_text(w->device->name) },
		 { "stage", json_text(stage_names[w->stage]) }, { "engine", json_text(of->run->engine) },
		 { "part", json_part(w->part) }, { "ops", ops(of, f) }, { "partial", json_partial(f) },
		 { "in_flight", JSON({ "ios", json_count(f->in_flight) }, { "oldest_ns", json_count(f->oldest_ns) }) },
		 { "queue_depth", json_decimal(f->queue_depth, 3) },
		 { "busy", f->busy_known ? json_decimal(f->busy, 6) : json_absent },
		 { "accounting", w->part ? json_absent : json_accounting(&f->accounting) },
		 { "slow", slow ? slow_ios(of->frames->slow, slow) : json_absent },
		 { "slow_dropped", slow ? json_count(slow->found - slow->n) : json_absent },
		 { "gone", json_flag(f->gone) }, { "replaced", json_flag(f->replaced) });
}

static int print_line(FILE *to, const struct json_interval *of, const struct frame *f)
{
	char time[UNITS_TEXT];
	struct json_object *o CLEANUP(cleanup_json) = JSON({ "schema", json_count(SCHEMA) },
							   { "time", json_text(units_utc(time, f->end_ns)) });
	const char *text;

	json_add_frame(o, of, f);
	JSON_ADD(o, { "identity", f->watch->part ? json_absent : json_identity(f->watch->device) });
	text = json_line(o);
	if (!text)
		return -ENOMEM;
	fprintf(to, "%s\n", text);
	return 0;
}

int json_lines_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins)
{
	const struct json_interval of = { run, interval, bins ? JSON_BINS : JSON_NO_BINS };
	int err = 0;

	for (u32 i = 0; i < interval->n && !err; i++)
		if (!interval->f[i].watch->part || frame_is_busy(&interval->f[i]))
			err = print_line(to, &of, &interval->f[i]);
	return err;
}
