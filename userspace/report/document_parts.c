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

static struct json_object *share(u64 of, u64 all)
{
	return all ? json_decimal((double)of / all, SHARE_DIGITS) : NULL;
}

static struct json_object *shares(const struct op_frame *o, const struct op_frame *whole)
{
	return JSON({ "ios", share(o->ios, whole->ios) }, { "bytes", share(o->bytes, whole->bytes) },
		    { "time", share(o->sum_ns, whole->sum_ns) });
}

/* How many times as long the IOs took as those beside nothing; null if there are too few. */
static struct json_object *against_base(const struct watch_run *whole, u32 op, const struct op_frame *o)
{
	u32 kind;
	const struct op_frame *base = beside_base(whole, op, &kind);
	struct json_object *to;

	if (!base || o->ios < PART_IOS_LEAST)
		return NULL;
	to = JSON({ "base", json_text(whole[kind].watch->part->label) });
	for (u32 i = 0; i < run_of_total.n; i++)
		json_add(to, run_of_total.p[i].name, json_decimal(o->percentile_ns[i] / base->percentile_ns[i], 4));
	return to;
}

void document_of_part(struct json_object *to, const struct run *r, const struct watch_run *part, u32 op)
{
	const struct watch_run *whole = whole_of(part);
	const struct op_frame *o = part->ops[op].total;

	JSON_ADD(to, { "of_whole", shares(o, whole->ops[op].total) }, { "few", json_bool(o->ios < PART_IOS_LEAST) },
		 { "against", beside_divides(r, whole) ? against_base(whole, op, o) : json_absent });
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

	return JSON({ "iops_least", json_decimal(least * per_s, 1) }, { "iops_most", json_decimal(most * per_s, 1) },
		    { "bytes_per_s_least", json_decimal(least * per_s * size, 0) },
		    { "bytes_per_s_most", json_decimal(most * per_s * size, 0) });
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
	bool by_depth = !strcmp(part->watch->part->by, by_names[BLKLAT_BY_DEPTH]);

	if (!watch_run_ios(part))
		return NULL;
	if (merged_make(part->total, &all))
		return json_lacks_memory();
	return JSON({ "ios", json_count(all.ios) }, { "bytes", json_count(all.bytes) },
		    { "errors", json_count(all.errors) }, { "iops", json_decimal(all.iops, all.iops < 1000 ? 4 : 1) },
		    { "bytes_per_s", json_decimal(all.bytes_per_s, 0) },
		    { "time_s", json_decimal(all.sum_ns / 1e9, 9) },
		    { "latency_ns", json_latencies(&all, &run_of_total) }, { "of_whole", shares(&all, &whole) },
		    { "few", json_bool(all.ios < PART_IOS_LEAST) },
		    { "by_little", !by_depth ? json_absent : all.mean_ns > 0 ? by_little(part->watch->part, &all) :
		      NULL },
		    { "percentiles_ns", watch_run_is_owner(part) ? document_percentiles(r, &part->all_ops) : json_absent });
}
