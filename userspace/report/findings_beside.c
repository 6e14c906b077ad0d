// SPDX-License-Identifier: GPL-2.0-only
/* For IOs divided by what they run beside: what makes them slower, and by how much. */
#include <string.h>

#include "blklat/parts.h"
#include "core/quantile.h"
#include "report/findings.h"
#include "report/findings_rules.h"

bool beside_divides(const struct run *r, const struct watch_run *whole)
{
	return run_parts(r, whole - r->watches) && !strcmp(whole[1].watch->part->by, by_names[BLKLAT_BY_BESIDE]);
}

const struct op_frame *beside_part(const struct watch_run *whole, u32 kind, u32 op)
{
	return whole[kind].ops[op].total;
}

const struct op_frame *beside_base(const struct watch_run *whole, u32 op, u32 *ret_kind)
{
	static const u32 kinds[] = { BLKLAT_BESIDE_NOTHING, BLKLAT_KIND_READ };

	for (u32 i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct op_frame *o = beside_part(whole, kinds[i], op);

		if (o->ios < PART_IOS_LEAST)
			continue;
		*ret_kind = kinds[i];
		return o->percentile_ns[RUN_P50] > 0 ? o : NULL;
	}
	return NULL;
}

#define FACTOR 2

static const char *const neighbours[BLKLAT_KINDS + 1] = {
	[BLKLAT_KIND_FLUSH] = "a flush", [BLKLAT_KIND_DISCARD] = "a discard", [BLKLAT_KIND_OTHER] = "another op",
	[BLKLAT_KIND_LARGE_WRITE] = "a big write", [BLKLAT_KIND_WRITE] = "a write", [BLKLAT_KIND_READ] = "a read",
};

/* How much longer its IOs took in all. */
static double lost_s(const struct op_frame *o, const struct op_frame *base)
{
	return o->ios * (o->mean_ns - base->mean_ns) / NSEC_PER_SEC;
}

static bool is_slower(const struct op_frame *o, const struct op_frame *base)
{
	return op_quantile_ns(o, 0.5) >= FACTOR * op_quantile_ns(base, 0.5) ||
	       op_quantile_ns(o, 0.99) >= FACTOR * op_quantile_ns(base, 0.99);
}

static void report(const struct inquiry *q, u32 op, const struct op_frame *o, u32 kind, const struct op_frame *base,
		   const char *base_name)
{
	double p50 = op_quantile_ns(o, 0.5), base_p50 = op_quantile_ns(base, 0.5);
	double p99 = op_quantile_ns(o, 0.99), base_p99 = op_quantile_ns(base, 0.99);
	double share = (double)o->ios / q->watch->ops[op].total->ios;
	struct finding *f = finding_add(q, "beside", op);

	finding_values(f, { "ios", o->ios }, { "share", share }, { "p50_ns", p50 }, { "p99_ns", p99 },
		       { "base_ios", base->ios }, { "base_p50_ns", base_p50 }, { "base_p99_ns", base_p99 },
		       { "times_p50", p50 / base_p50 }, { "times_p99", p99 / base_p99 }, { "lost_s", lost_s(o, base) });
	finding_say(f, "slower beside %s: p50 %s, p99 %s (%s IOs, %s), %s p50 %s, p99 %s; %s longer in all", neighbours[kind],
		    UNITS(ns, p50), UNITS(ns, p99), UNITS(count, o->ios), UNITS(share, share), base_name,
		    UNITS(ns, base_p50), UNITS(ns, base_p99), UNITS(ns, lost_s(o, base) * NSEC_PER_SEC));
	finding_rule(f, "of the kinds beside which %d or more IOs began, and whose p50 or p99 is at least %d times that of the IOs "
		     "beside nothing, or beside reads only where those are fewer than %d, the one that costs most, if any does: IOs "
		     "times how much longer they take on average", PART_IOS_LEAST, FACTOR, PART_IOS_LEAST);
}

int find_beside(const struct inquiry *q, u32 op)
{
	u32 base_kind, kind = 0;
	const struct op_frame *base = beside_divides(q->run, q->watch) ? beside_base(q->watch, op, &base_kind) : NULL,
			      *worst = NULL;

	if (!base)
		return 0;
	for (u32 k = 1; k <= BLKLAT_KINDS; k++) {
		const struct op_frame *o = beside_part(q->watch, k, op);

		if (o->ios < PART_IOS_LEAST || o == base || !is_slower(o, base) ||
		    lost_s(o, base) <= (worst ? lost_s(worst, base) : 0))
			continue;
		worst = o;
		kind = k;
	}
	if (worst)
		report(q, op, worst, kind, base, base_kind == BLKLAT_KIND_READ ? "beside reads only" : "beside nothing");
	return 0;
}
