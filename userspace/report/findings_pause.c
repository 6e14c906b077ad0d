// SPDX-License-Identifier: GPL-2.0-only
/* Compares the first IOs after pauses with all others: the device may have to wake up first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/quantile.h"
#include "report/findings_rules.h"
#include "util/cleanup.h"

#define IOS_LEAST 5
#define FACTOR 1.5
#define PARTS 1e6		/* of an IO, as bins hold whole numbers */

/*
 * The median of the first IOs, or of all others. The first ones are counted in coarse bins. Distributes those of each
 * coarse bin over its fine bins, in proportion to all IOs there. That is exact if the coarse bin has only first IOs,
 * and otherwise no less exact than the coarse bin itself.
 */
static int median_of(const struct op_frame *o, bool first, double *ret_ns)
{
	const struct hist *fine = &o->hist, *coarse = &o->after_idle;
	u32 n = BLKLAT_CELLS(fine->scale), shift = fine->scale - coarse->scale, to;
	CLEANUP(cleanup_free) u64 *cells = calloc(n, sizeof(*cells));
	struct hist parts = hist_on(cells, fine->scale);

	if (!cells)
		return -ENOMEM;
	for (u32 from = 0; from < n; from = to) {
		u32 c = from ? ((from - 1) >> shift) + 1 : 0;
		double all = 0;

		for (to = from; to < n && (to ? ((to - 1) >> shift) + 1 : 0) == c; to++)
			all += fine->cells[to];
		for (u32 i = from; all > 0 && i < to; i++) {
			double share = fmin(coarse->cells[c] / all, 1);

			hist_put(&parts, i, llround(PARTS * fine->cells[i] * (first ? share : 1 - share)));
		}
	}
	*ret_ns = quantile_ns(&parts, 0.5, o->min_ns, o->max_ns);
	return 0;
}

static void report(const struct inquiry *q, u32 op, double first_ns, double rest_ns)
{
	const struct op_frame *o = q->watch->ops[op].total;
	struct finding *f = finding_add(q, "after_pause", op);
	u64 gap_ns = q->run->origin.idle_gap_ns;

	finding_values(f, { "ios", o->after_idle_ios }, { "share", (double)o->after_idle_ios / o->ios },
		       { "first_p50_ns", first_ns }, { "rest_p50_ns", rest_ns },
		       { "first_mean_ns", (double)o->after_idle_sum_ns / o->after_idle_ios });
	finding_say(f, "%s IOs (%s) were the first after a pause%s%s: half of them took %s or more, of the others %s", UNITS(count, o->after_idle_ios),
		    UNITS(share, (double)o->after_idle_ios / o->ios), gap_ns ? " of at least " : "",
		    gap_ns ? UNITS(ns, gap_ns) : "", UNITS(ns, first_ns), UNITS(ns, rest_ns));
	finding_rule(f, "%d or more IOs that were issued after the device had been idle for the idle gap, whose median differs "
		     "from the others' by a factor of 1.5 or more", IOS_LEAST);
}

int find_after_pause(const struct inquiry *q)
{
	int err = 0;

	for (u32 op = 0; !err && op < BLKLAT_OPS; op++) {
		const struct op_frame *o = q->watch->ops[op].total;
		double first_ns, rest_ns;

		/* If nearly all IOs come after pauses, there is nothing to compare them with. */
		if (o->after_idle_ios < IOS_LEAST || o->after_idle_ios + IOS_LEAST > o->ios)
			continue;
		err = median_of(o, true, &first_ns) ?: median_of(o, false, &rest_ns);
		if (!err && (first_ns >= FACTOR * rest_ns || rest_ns >= FACTOR * first_ns))
			report(q, op, first_ns, rest_ns);
	}
	return err;
}
