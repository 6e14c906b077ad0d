// SPDX-License-Identifier: GPL-2.0-only
/* Of a load that waits for its flushes, as with a write and an fsync() in turn: what they cost. */
#include "core/quantile.h"
#include "report/findings_rules.h"

#define SHARE 0.2		/* least share of the time of all IOs */

int find_flush_cost(const struct inquiry *q)
{
	const struct op_frame *o = q->watch->ops[BLKLAT_OP_FLUSH].total, *writes = q->watch->ops[BLKLAT_OP_WRITE].total;
	double share = op_share_of_time(q->watch, BLKLAT_OP_FLUSH), each_ns = (double)o->sum_ns / writes->ios, p99_ns;
	struct finding *f;

	if (o->ios < PART_IOS_LEAST || !writes->ios || share < SHARE)
		return 0;
	p99_ns = op_quantile_ns(o, 0.99);
	f = finding_add(q, "flush_cost", BLKLAT_OP_FLUSH);
	finding_values(f, { "share", share }, { "ios", o->ios }, { "mean_ns", o->mean_ns }, { "p99_ns", p99_ns },
		       { "per_write_ns", each_ns }, { "write_mean_ns", writes->mean_ns });
	finding_say(f, "%s of the device's time goes to flushes: %s IOPS, mean %s, p99 %s; that is %s for each write, which takes %s itself",
		    UNITS(share, share), UNITS(short, o->iops), UNITS(ns, o->mean_ns), UNITS(ns, p99_ns),
		    UNITS(ns, each_ns), UNITS(ns, writes->mean_ns));
	finding_rule(f, "%d flushes or more that have %g %% or more of the time of all IOs", PART_IOS_LEAST, 100 * SHARE);
	return 0;
}
