// SPDX-License-Identifier: GPL-2.0-only
/*
 * The figures that only parts have in the report's document: their share of the whole, how they
 * compare, and what load they show.
 */
#include <math.h>
#include <string.h>

#include "blklat/parts.h"
#include "core/json_parts.h"
#include "report/document.h"
#include "report/findings.h"
#include "report/run.h"
#include "report/series_run.h"
#include "util/cleanup.h"
#include "util/json.h"

#define SHARE_DIGITS 9		/* enough for one IO in a thousand million */

/* In a run's list parts follow their whole. */
static const struct watch_run *whole_of(const struct watch_run *part)
{
	while (part->watch->part)
		part--;
	return part;
}

static void add_share(struct json_object *to, const char *key, u64 of, u64 all)
{
	json_add_decimal(to, key, all ? (double)of / all : NAN, SHARE_DIGITS);
}

static struct json_object *shares(const struct op_frame *o, const struct op_frame *whole)
{
	struct json_object *to = json_new_object();

	add_share(to, "ios", o->ios, whole->ios);
	add_share(to, "bytes", o->bytes, whole->bytes);
	add_share(to, "time", o->sum_ns, whole->sum_ns);
	return to;
}

/* How many times as long the IOs took as those beside nothing; null if there are too few. */
static struct json_object *against_base(const struct watch_run *whole, u32 op, const struct op_frame *o)
{
	u32 kind;
	const struct op_frame *base = beside_base(whole, op, &kind);
	struct json_object *to;

	if (!base || o->ios < PART_IOS_LEAST)
		return NULL;
	to = json_new_object();
	json_add_text(to, "base", whole[kind].watch->part->label);
	for (u32 i = 0; i < run_of_total.n; i++)
		json_add_decimal(to, run_of_total.p[i].name, o->percentile_ns[i] / base->percentile_ns[i], 4);
	return to;
}

void document_of_part(struct json_object *to, const struct run *r, const struct watch_run *part, u32 op)
{
	const struct watch_run *whole = whole_of(part);
	const struct op_frame *o = part->ops[op].total;

	json_add(to, "of_whole", shares(o, whole->ops[op].total));
	json_add(to, "few", json_new_boolean(o->ios < PART_IOS_LEAST));
	if (beside_divides(r, whole))
		json_add(to, "against", against_base(whole, op, o));
}

/*
 * The rates of the device at this queue depth, by Little's law: depth over the mean time in the stage.
 * A part covers a range of depths, so each rate is a range too; in the last part it has no upper end.
 */
static struct json_object *by_little(const struct part *part, const struct op_frame *o)
{
	double most = part->number < BLKLAT_DEPTH_PARTS ? 1 << (part->number - 1) : NAN;
	double least = part->number > 1 ? (1 << (part->number - 2)) + 1 : 1;
	double per_s = 1e9 / o->mean_ns, size = (double)o->bytes / o->ios;
	struct json_object *to = json_new_object();

	json_add_decimal(to, "iops_least", least * per_s, 1);
	json_add_decimal(to, "iops_most", most * per_s, 1);
	json_add_decimal(to, "bytes_per_s_least", least * per_s * size, 0);
	json_add_decimal(to, "bytes_per_s_most", most * per_s * size, 0);
	return to;
}

static struct op_frame sums_of(const struct frame *f)
{
	struct op_frame all = { 0 };

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		if (!f->ops[op].ios)
			continue;
		all.ios += f->ops[op].ios;
		all.bytes += f->ops[op].bytes;
		all.sum_ns += f->ops[op].sum_ns;
	}
	return all;
}

struct json_object *document_all_ops(const struct run *r, const struct watch_run *part)
{
	CLEANUP(merged_uninit) struct op_frame all = { 0 };
	const struct op_frame whole = sums_of(whole_of(part)->total);
	struct json_object *to;

	if (!watch_run_ios(part))
		return NULL;
	if (merged_make(part->total, &all))
		return json_lacks_memory();
	to = json_new_object();
	json_add_count(to, "ios", all.ios);
	json_add_count(to, "bytes", all.bytes);
	json_add_count(to, "errors", all.errors);
	json_add_decimal(to, "iops", all.iops, all.iops < 1000 ? 4 : 1);
	json_add_decimal(to, "bytes_per_s", all.bytes_per_s, 0);
	json_add_decimal(to, "time_s", all.sum_ns / 1e9, 9);
	json_add(to, "latency_ns", json_latencies(&all, &run_of_total));
	json_add(to, "of_whole", shares(&all, &whole));
	json_add(to, "few", json_new_boolean(all.ios < PART_IOS_LEAST));
	if (!strcmp(part->watch->part->by, by_names[BLKLAT_BY_DEPTH]))
		json_add(to, "by_little", all.mean_ns > 0 ? by_little(part->watch->part, &all) : NULL);
	if (all_ops_run_has(part))
		json_add(to, "percentiles_ns", document_percentiles(r, all_ops_run_of(part)));
	return to;
}
