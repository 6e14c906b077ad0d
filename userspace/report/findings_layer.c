// SPDX-License-Identifier: GPL-2.0-only
/* What a device adds to the latency of the devices that it lies on. */
#include <math.h>

#include "report/document.h"
#include "report/findings_rules.h"
#include "util/cleanup.h"

#define SAME_IOS 0.05		/* each IO is one of a member: their numbers differ by no more */

static void tell_layer(const struct inquiry *q, const struct stack *s, u32 op)
{
	const struct frame *all = q->watch->total;
	const struct op_frame *o = &all->ops[op];
	const struct stack_op *of = &s->ops[op];
	double p10 = of->overhead_p10_ns, p50 = of->overhead_ns[RUN_P50], p90 = of->overhead_ns[RUN_P90], depth = 0;
	double whole_ns = op_quantile_ns(o, 0.5);
	struct finding *f;

	/* A percentile is known to a bin. */
	if (fabs((double)of->member_ios / of->upper_ios - 1) > SAME_IOS ||
	    p50 < (quantile_resolution(o->hist.scale, whole_ns) - 1) * whole_ns)
		return;
	for (u32 i = 0; i < s->n_members; i++)
		depth += s->members[i]->total->queue_depth / s->n_members;
	f = finding_add(q, "layer", op);
	finding_say(f, "adds %s to %s (p10 %s, p90 %s); QD %s on it is QD %s on", UNITS(ns, p50),
		    p10 >= p50 / 2 && p90 <= 2 * p50 ? "every IO" : "the median", UNITS(ns, fmax(p10, 0)), UNITS(ns, fmax(p90, 0)),
		    UNITS(short, all->queue_depth), UNITS(short, depth));
	finding_say(f, s->n_members > 1 ? " each of %u members" : " its member", s->n_members);
	finding_values(f, { "overhead_p50_ns", p50 }, { "overhead_p10_ns", p10 }, { "overhead_p90_ns", p90 }, { "members", s->n_members },
		       { "queue_depth", all->queue_depth }, { "member_queue_depth", depth });
	finding_rule(f, "percentiles of the device, less those of the IOs of all devices below it at the same stage; if these are as many (within "
		     "%g %%), and the difference at p50 is more than a bin", 100 * SAME_IOS);
}

int find_layer(const struct inquiry *q)
{
	CLEANUP(stacks_uninit) struct stacks all = { 0 };
	int err = q->watch->watch->device->n_lower ? stacks_make(q->run, &all) : 0;

	for (u32 i = 0; !err && i < all.n; i++)
		for (u32 op = 0; all.s[i].upper == q->watch && op < BLKLAT_OPS; op++)
			if (all.s[i].ops[op].member_ios && op_has_figures(q->watch, op) &&
			    op_matters(q->watch, op))
				tell_layer(q, &all.s[i], op);
	return err;
}
