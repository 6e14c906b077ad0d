// SPDX-License-Identifier: GPL-2.0-only
#include "core/json_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/cgroup.h"
#include "util/cleanup.h"
#include "util/units.h"
#include "util/utf8.h"

void json_add_count(struct json_object *to, const char *key, u64 n)
{
	json_add(to, key, json_new_count(n));
}

struct json_object *json_decimal(double value, int digits)
{
	char text[340];		/* the longest double has 309 digits before the point */

	if (!isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.*f", digits, value);
	return json_new_decimal(value, text);
}

void json_add_decimal(struct json_object *to, const char *key, double value, int digits)
{
	json_add(to, key, json_decimal(value, digits));
}

struct json_object *json_clean_text(const char *text)
{
	size_t size = 3 * strlen(text) + 1;
	char *clean CLEANUP(cleanup_free) = malloc(size);

	if (!clean)
		return json_lacks_memory();
	utf8_clean(clean, size, text);
	return json_new_text(clean);
}

void json_add_text(struct json_object *to, const char *key, const char *text)
{
	json_add(to, key, json_clean_text(text));
}

static struct json_object *count_at(const void *of, u32 i)
{
	return json_new_count((*(const u64 *const *)of)[i]);
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
	struct json_object *to = json_new_object();

	json_add_decimal(to, "mean", o->mean_ns, 1);
	json_add_count(to, "min", o->min_ns);
	json_add_count(to, "max", o->max_ns);
	for (u32 i = 0; i < ps->n; i++)
		json_add_decimal(to, ps->p[i].name, o->percentile_ns[i], 1);
	return to;
}

struct bin {
	u64 lower_ns, upper_ns, ios;
};

static struct json_object *bin_at(const void *of, u32 i)
{
	const struct bin *b = (const struct bin *)of + i;
	struct json_object *to = json_new_array(3);

	json_append(to, json_new_count(b->lower_ns));
	json_append(to, b->upper_ns == UINT64_MAX ? NULL : json_new_count(b->upper_ns));
	json_append(to, json_new_count(b->ios));
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

struct json_object *json_device(const struct device *d, const struct device_table *t, const struct device *now)
{
	struct json_object *to = json_new_object(), *lower = json_new_array(0);

	for (u32 i = 0; now && i < now->n_lower; i++)
		json_append(lower, json_clean_text(t->d[now->lower[i]].name));
	json_add_text(to, "name", d->name);
	json_add_text(to, "kind", d->kind);
	json_add_text(to, "model", d->model);
	json_add_text(to, "mapper", d->mapper);
	json_add_text(to, "scheduler", d->scheduler);
	json_add_count(to, "size_bytes", d->size_bytes);
	json_add(to, "lower", lower);
	return to;
}

static void add_name(struct json_object *to, const char *key, const char *name)
{
	if (name[0])
		json_add_text(to, key, name);
}

struct json_object *json_part(const struct part *part)
{
	struct json_object *to = json_new_object();

	json_add_text(to, "by", part->by);
	json_add_text(to, "label", part->label);
	if (part->label[0] == '/') {
		const struct cgroup_names names = cgroup_names(part->label);

		add_name(to, "container", names.container);
		add_name(to, "pod", names.pod);
		add_name(to, "unit", names.unit);
	}
	return to;
}

struct json_object *json_partial(const struct frame *f)
{
	struct json_object *to = NULL;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_sums *sums = &f->ops[op].partial;
		struct json_object *one;

		if (!sums->bytes && !sums->errors)
			continue;
		to = to ?: json_new_array(0);
		one = json_new_object();
		json_add_text(one, "op", op_names[op]);
		json_add_count(one, "bytes", sums->bytes);
		json_add_count(one, "errors", sums->errors);
		json_append(to, one);
	}
	return to;
}

struct json_object *json_accounting(const struct accounting *a)
{
	struct json_object *to = json_new_object(), *lost_by = json_new_object();

	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		if (a->lost_by[reason])
			json_add_count(lost_by, lost_names[reason], a->lost_by[reason]);
	json_add_count(to, "started", a->started);
	json_add_count(to, "completed", a->completed);
	json_add_count(to, "in_flight", a->in_flight);
	json_add_count(to, "lost", a->lost);
	json_add(to, "lost_by", lost_by);
	json_add_count(to, "requeued", a->requeued);
	json_add(to, "kernel_ios", a->kernel_known ? json_new_count(a->kernel_ios) : NULL);
	json_add(to, "kernel_in_flight", a->kernel_known ? json_new_count(a->kernel_in_flight) : NULL);
	json_add_count(to, "moved", a->moved);
	json_add_count(to, "before_start", a->before);
	json_add_count(to, "unissued", a->unissued);
	json_add_count(to, "skipped", a->skipped);
	json_add_count(to, "skipped_unexplained", a->skipped_unexplained);
	return to;
}

struct json_object *json_slow(const struct slow_io *io)
{
	struct json_object *to = json_new_object();
	char time[UNITS_TEXT];

	json_add_text(to, "time", units_utc(time, io->end_ns));
	for (u32 i = 0; i < SLOW_FIELDS; i++) {
		const struct slow_value v = slow_value(io, &slow_io_fields[i]);
		bool is_bool = slow_io_fields[i].kind == SLOW_KIND_BOOL;

		json_add(to, slow_io_fields[i].name, !v.known ? NULL : v.text ? json_clean_text(v.text) :
			 is_bool ? json_new_boolean(v.n) : json_new_count(v.n));
	}
	if (io->part)
		json_add(to, "part", json_part(io->part));
	return to;
}

#define SCHEMA 1

/* Pairs of cell and IOs, for cells with IOs: takes half as much as bounds would. */
static struct json_object *cells(const struct hist *h)
{
	struct json_object *to = json_new_array(0);

	hist_for_each(cell, h) {
		json_append(to, json_new_int(cell));
		json_append(to, json_new_count(h->cells[cell]));
	}
	return to;
}

/* Mean and percentiles, as far as they are known; null if there is no IO. */
static struct json_object *after_idle(const struct json_interval *of, const struct op_frame *o)
{
	struct json_object *to = json_new_object(), *latency_ns = json_new_object();

	json_add_decimal(latency_ns, "mean", after_idle_mean_ns(o), 1);
	for (u32 i = 0; i < of->run->percentiles.n; i++)
		json_add_decimal(latency_ns, of->run->percentiles.p[i].name,
				 after_idle_quantile_ns(o, of->run->percentiles.p[i].q), 1);
	json_add_count(to, "ios", o->after_idle_ios);
	json_add(to, "latency_ns", latency_ns);
	if (of->bins)
		json_add(to, "bins", json_bins(&o->after_idle));
	return to;
}

static struct json_object *ops(const struct json_interval *of, const struct frame *f)
{
	struct json_object *to = json_new_array(0);

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &f->ops[op];
		struct json_object *one;

		if (!o->ios)
			continue;
		one = json_new_object();
		json_add_text(one, "op", op_names[op]);
		json_add_count(one, "ios", o->ios);
		json_add_count(one, "bytes", o->bytes);
		json_add_count(one, "errors", o->errors);
		json_add_decimal(one, "iops", o->iops, 1);
		json_add(one, "latency_ns", json_latencies(o, &of->run->percentiles));
		if (of->bins == JSON_BINS)
			json_add(one, "bins", json_bins(&o->hist));
		if (of->bins == JSON_CELLS) {
			json_add_count(one, "sum_ns", o->sum_ns);
			json_add(one, "cells", cells(&o->hist));
		} else if (of->frames->idle_gap_ns) {
			json_add(one, "after_idle", after_idle(of, o));
		}
		json_append(to, one);
	}
	return to;
}

static struct json_object *in_flight(const struct frame *f)
{
	struct json_object *to = json_new_object();

	json_add_count(to, "ios", f->in_flight);
	json_add_count(to, "oldest_ns", f->oldest_ns);
	return to;
}

static void add_slow(struct json_object *to, const struct slow_ios *slow, const struct slow_of *of)
{
	struct json_object *list = json_new_array(of->n);

	for (u32 i = 0; i < of->n; i++)
		json_append(list, json_slow(&slow->io[of->first + i]));
	json_add(to, "slow", list);
	json_add_count(to, "slow_dropped", of->found - of->n);
}

void json_add_frame(struct json_object *to, const struct json_interval *of, const struct frame *f)
{
	struct json_object *partial = json_partial(f);
	const struct slow_ios *slow = of->frames->slow;

	json_add_decimal(to, "interval_s", f->interval_s, 6);
	json_add_text(to, "device", f->watch->device->name);
	json_add_text(to, "stage", stage_names[f->watch->stage]);
	json_add_text(to, "engine", of->run->engine);
	if (f->watch->part)
		json_add(to, "part", json_part(f->watch->part));
	json_add(to, "ops", ops(of, f));
	if (partial)
		json_add(to, "partial", partial);
	json_add(to, "in_flight", in_flight(f));
	json_add_decimal(to, "queue_depth", f->queue_depth, 3);
	if (!f->watch->part)
		json_add(to, "accounting", json_accounting(&f->accounting));
	if (slow && !f->watch->part)
		add_slow(to, slow, &slow->of[f->watch - of->run->watches]);
	if (f->gone)
		json_add(to, "gone", json_new_boolean(true));
	if (f->replaced)
		json_add(to, "replaced", json_new_boolean(true));
}

static int print_line(FILE *to, const struct json_interval *of, const struct frame *f)
{
	struct json_object *o CLEANUP(cleanup_json) = json_new_object();
	const char *text;
	char time[UNITS_TEXT];

	json_add_count(o, "schema", SCHEMA);
	json_add_text(o, "time", units_utc(time, f->end_ns));
	json_add_frame(o, of, f);
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
