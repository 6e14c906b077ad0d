// SPDX-License-Identifier: GPL-2.0-only
#include "core/json_lines.h"

#include <errno.h>

#include "core/after_idle.h"
#include "core/json_parts.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/units.h"

#define SCHEMA 1

struct lines {
	const struct run_info *run;
	bool bins;
	bool pauses;			/* IOs after a pause were looked for */
	const struct slow_ios *slow;	/* NULL: not looked for */
};

/* Mean and percentiles, as far as they are known; null if there is no IO. */
static struct json_object *after_idle(const struct lines *l, const struct op_frame *o)
{
	struct json_object *to = json_new_object(), *latency_ns = json_new_object();

	json_add_decimal(latency_ns, "mean", after_idle_mean_ns(o), 1);
	for (u32 i = 0; i < l->run->percentiles.n; i++)
		json_add_decimal(latency_ns, l->run->percentiles.p[i].name,
				 after_idle_quantile_ns(o, l->run->percentiles.p[i].q), 1);
	json_add_count(to, "ios", o->after_idle_ios);
	json_add(to, "latency_ns", latency_ns);
	if (l->bins)
		json_add(to, "bins", json_bins(&o->after_idle));
	return to;
}

static struct json_object *ops(const struct lines *l, const struct frame *f)
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
		json_add(one, "latency_ns", json_latencies(o, &l->run->percentiles));
		if (l->bins)
			json_add(one, "bins", json_bins(&o->hist));
		if (l->pauses)
			json_add(one, "after_idle", after_idle(l, o));
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

/* @f: of a whole. */
static void add_slow(struct json_object *to, const struct lines *l, const struct frame *f)
{
	const struct slow_of *of = &l->slow->of[f->watch - l->run->watches];
	struct json_object *list = json_new_array(of->n);

	for (u32 i = 0; i < of->n; i++)
		json_append(list, json_slow(&l->slow->io[of->first + i]));
	json_add(to, "slow", list);
	json_add_count(to, "slow_dropped", of->found - of->n);
}

static struct json_object *line(const struct lines *l, const struct frame *f)
{
	struct json_object *to = json_new_object(), *partial = json_partial(f);
	char time[UNITS_TEXT];

	json_add_count(to, "schema", SCHEMA);
	json_add_text(to, "time", units_utc(time, f->end_ns));
	json_add_decimal(to, "interval_s", f->interval_s, 6);
	json_add_text(to, "device", f->watch->device->name);
	json_add_text(to, "stage", stage_names[f->watch->stage]);
	json_add_text(to, "engine", l->run->engine);
	if (f->watch->part)
		json_add(to, "part", json_part(f->watch->part));
	json_add(to, "ops", ops(l, f));
	if (partial)
		json_add(to, "partial", partial);
	json_add(to, "in_flight", in_flight(f));
	json_add_decimal(to, "queue_depth", f->queue_depth, 3);
	if (!f->watch->part)
		json_add(to, "accounting", json_accounting(&f->accounting));
	if (l->slow && !f->watch->part)
		add_slow(to, l, f);
	if (f->gone)
		json_add(to, "gone", json_new_boolean(true));
	if (f->replaced)
		json_add(to, "replaced", json_new_boolean(true));
	return to;
}

static int print_line(FILE *to, const struct lines *l, const struct frame *f)
{
	struct json_object *o CLEANUP(cleanup_json) = line(l, f);
	const char *text = json_line(o);

	if (!text)
		return -ENOMEM;
	fprintf(to, "%s\n", text);
	return 0;
}

int json_lines_print(FILE *to, const struct run_info *run, const struct frames *interval, bool bins)
{
	const struct lines l = { run, bins, interval->idle_gap_ns, interval->slow };

	int err = 0;

	for (u32 i = 0; i < interval->n && !err; i++)
		if (!interval->f[i].watch->part || frame_is_busy(&interval->f[i]))
			err = print_line(to, &l, &interval->f[i]);
	return err;
}
