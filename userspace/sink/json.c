// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON lines: one object a line, one line for each device, stage and interval; the keys are the
 * design's. A figure that cannot be had is null. Latencies are ns; no number carries more digits
 * than it means.
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "sink/page.h"
#include "sink/sink.h"
#include "sink/units.h"
#include "sink/utf8.h"
#include "util/cleanup.h"

#define SCHEMA 1

struct json {
	struct sink sink;
	const struct run_info *run;
	const struct sink_config *cfg;
};

static void cleanup_json(struct json_object **o)
{
	json_object_put(*o);
}

static int json_open(const struct run_info *run, const struct sink_config *cfg, struct sink **ret)
{
	struct json *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = (struct json){ .sink.ops = &sink_json, .run = run, .cfg = cfg };
	*ret = &j->sink;
	return 0;
}

static void json_close(struct sink *s)
{
	free(s);
}

/* Takes @value over, NULL stands for null. */
static void add(struct json_object *to, const char *key, struct json_object *value)
{
	json_object_object_add(to, key, value);
}

static void add_count(struct json_object *to, const char *key, u64 n)
{
	add(to, key, json_object_new_uint64(n));
}

static void add_decimal(struct json_object *to, const char *key, double value, int digits)
{
	char text[340];		/* the longest double has 309 digits before the point */

	if (!isfinite(value)) {
		add(to, key, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", digits, value);
	for (char *c = text; *c; c++)
		if (*c == ',')	/* the locale's */
			*c = '.';
	add(to, key, json_object_new_double_s(value, text));
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
	char clean[3 * DEVICE_NAME_MAX + 1];

	utf8_clean(clean, sizeof(clean), text);
	add(to, key, json_object_new_string(clean));
}

static struct json_object *latencies(const struct json *j, const struct op_frame *o)
{
	struct json_object *to = json_object_new_object();

	add_decimal(to, "mean", o->mean_ns, 1);
	add_count(to, "min", o->min_ns);
	add_count(to, "max", o->max_ns);
	for (u32 i = 0; i < j->run->percentiles.n; i++)
		add_decimal(to, j->run->percentiles.p[i].name, o->percentile_ns[i], 1);
	return to;
}

/* [lower exclusive, upper inclusive, count] of each bin in use; what lies above the grid has no upper. */
static struct json_object *bins(const struct hist *h)
{
	struct json_object *to = json_object_new_array();
	u32 first, last;

	if (!hist_range(h, &first, &last))
		return to;
	for (u32 cell = first; cell <= last; cell++) {
		u64 upper_ns = hist_upper_ns(h->scale, cell);
		struct json_object *bin;

		if (!h->cells[cell])
			continue;
		bin = json_object_new_array_ext(3);
		json_object_array_add(bin, json_object_new_uint64(hist_lower_ns(h->scale, cell)));
		json_object_array_add(bin, upper_ns == UINT64_MAX ? NULL :
				      json_object_new_uint64(upper_ns));
		json_object_array_add(bin, json_object_new_uint64(h->cells[cell]));
		json_object_array_add(to, bin);
	}
	return to;
}

static struct json_object *ops(const struct json *j, const struct frame *f)
{
	struct json_object *to = json_object_new_array();

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &f->ops[op];
		struct json_object *one;

		if (!o->ios)
			continue;
		one = json_object_new_object();
		add_text(one, "op", op_names[op]);
		add_count(one, "ios", o->ios);
		add_count(one, "bytes", o->bytes);
		add_count(one, "errors", o->errors);
		add_decimal(one, "iops", o->iops, 1);
		add(one, "latency_ns", latencies(j, o));
		if (j->cfg->bins)
			add(one, "bins", bins(&o->hist));
		json_object_array_add(to, one);
	}
	return to;
}

static struct json_object *in_flight(const struct frame *f)
{
	struct json_object *to = json_object_new_object();

	add_count(to, "ios", f->in_flight);
	add_count(to, "oldest_ns", f->oldest_ns);
	return to;
}

static struct json_object *accounting(const struct accounting *a)
{
	struct json_object *to = json_object_new_object(), *lost_by = json_object_new_object();

	for (u32 reason = 0; reason < LOST_REASONS; reason++)
		if (a->lost_by[reason])
			add_count(lost_by, lost_names[reason], a->lost_by[reason]);
	add_count(to, "started", a->started);
	add_count(to, "completed", a->completed);
	add_count(to, "in_flight", a->in_flight);
	add_count(to, "lost", a->lost);
	add(to, "lost_by", lost_by);
	add_count(to, "requeued", a->requeued);
	add(to, "kernel_ios", a->kernel_known ? json_object_new_uint64(a->kernel_ios) : NULL);
	add_count(to, "moved", a->moved);
	add_count(to, "before_start", a->before);
	add_count(to, "unissued", a->unissued);
	add_count(to, "skipped", a->skipped);
	return to;
}

static struct json_object *line(const struct json *j, const struct frame *f)
{
	struct json_object *to = json_object_new_object();
	char time[UNITS_TEXT];

	add_count(to, "schema", SCHEMA);
	add_text(to, "time", units_utc(time, f->end_ns));
	add_decimal(to, "interval_s", f->interval_s, 6);
	add_text(to, "device", f->watch->device->name);
	add_text(to, "stage", stage_names[f->watch->stage]);
	add_text(to, "engine", j->run->engine);
	add(to, "ops", ops(j, f));
	add(to, "in_flight", in_flight(f));
	add_decimal(to, "queue_depth", f->queue_depth, 3);
	add(to, "accounting", accounting(&f->accounting));
	if (f->gone)
		add(to, "gone", json_object_new_boolean(true));
	return to;
}

static int json_interval(struct sink *s, const struct frames *interval)
{
	struct json *j = (struct json *)s;
	struct page page CLEANUP(page_close) = { 0 };
	int err = page_open(&page);

	for (u32 i = 0; !err && i < interval->n; i++) {
		struct json_object *o CLEANUP(cleanup_json) = line(j, &interval->f[i]);
		const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
								  JSON_C_TO_STRING_NOSLASHESCAPE);

		if (!text)
			return -ENOMEM;
		fprintf(page.f, "%s\n", text);
	}
	return err ?: page_write(&page, j->cfg->out);
}

static int json_summary(struct sink *s, const struct frames *run)
{
	(void)s;
	(void)run;
	return 0;
}

const struct sink_ops sink_json = {
	.name = "json",
	.open = json_open,
	.interval = json_interval,
	.summary = json_summary,
	.close = json_close,
};
