// SPDX-License-Identifier: GPL-2.0-only
/* Compares the first IOs after pauses with all others: the device may have to wake up first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings_rules.h"
#include "util/cleanup.h"

#define IOS_LEAST 5
#define FACTOR 1.5

/*
 * The first IOs are counted in coarse bins. Distributes those of each coarse bin over its fine bins, in
 * proportion to all IOs there. That is exact if the coarse bin has only first IOs, and otherwise no
 * less exact than the coarse bin itself.
 */
static void share_out(const struct op_frame *o, bool first, double *cells)
{
	const struct hist *fine = &o->hist, *coarse = &o->after_idle;
	u32 n = BLKLAT_CELLS(fine->scale), shift = fine->scale - coarse->scale, to;

	for (u32 from = 0; from < n; from = to) {
		u32 c = from ? ((from - 1) >> shift) + 1 : 0;
		double all = 0;

		for (to = from; to < n && (to ? ((to - 1) >> shift) + 1 : 0) == c; to++)
			all += fine->cells[to];
		for (u32 i = from; all > 0 && i < to; i++) {
			double share = fmin(coarse->cells[c] / all, 1);

			cells[i] = fine->cells[i] * (first ? share : 1 - share);
		}
	}
}

/* Like quantile_ns(), for counts that are not integers. */
static double median_of(const struct op_frame *o, const double *cells)
{
	u32 scale = o->hist.scale, n = BLKLAT_CELLS(scale), cell = 0;
	double all = 0, before = 0, lower, upper;

	for (u32 i = 0; i < n; i++)
		all += cells[i];
	while (cell < n - 1 && before + cells[cell] < all / 2)
		before += cells[cell++];
	lower = fmax(hist_lower_ns(scale, cell), o->min_ns);
	upper = fmin(hist_upper_ns(scale, cell), o->max_ns);
	if (!(lower > 0) || upper <= lower || !(cells[cell] > 0))
		return fmax(upper, o->min_ns);
	return lower * pow(upper / lower, (all / 2 - before) / cells[cell]);
}

static int measure(const struct op_frame *o, double *ret_first, double *ret_rest)
{
	CLEANUP(cleanup_free) double *cells = calloc(BLKLAT_CELLS(o->hist.scale), sizeof(*cells));

	if (!cells)
		return -ENOMEM;
	share_out(o, true, cells);
	*ret_first = median_of(o, cells);
	share_out(o, false, cells);
	*ret_rest = median_of(o, cells);
	return 0;
}

static void report(const struct inquiry *q, u32 op, double first_ns, double rest_ns)
{
	const struct op_frame *o = q->watch->ops[op].total;
	struct finding *f = finding_add(q, "after_pause", op);
	char ios[UNITS_TEXT], share[UNITS_TEXT], gap[UNITS_TEXT], first[UNITS_TEXT], rest[UNITS_TEXT];
	u64 gap_ns = q->run->origin.idle_gap_ns;

	finding_values(f, { "ios", o->after_idle_ios }, { "share", (double)o->after_idle_ios / o->ios },
		       { "first_p50_ns", first_ns }, { "rest_p50_ns", rest_ns },
		       { "first_mean_ns", (double)o->after_idle_sum_ns / o->after_idle_ios });
	finding_say(f, "%s IOs (%s) were the first after a pause%s%s: half of them took %s or more, of the others %s", units_count(ios, o->after_idle_ios),
		    units_share(share, (double)o->after_idle_ios / o->ios), gap_ns ? " of at least " : "",
		    gap_ns ? units_ns(gap, gap_ns) : "", units_ns(first, first_ns), units_ns(rest, rest_ns));
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
		err = measure(o, &first_ns, &rest_ns);
		if (!err && (first_ns >= FACTOR * rest_ns || rest_ns >= FACTOR * first_ns))
			report(q, op, first_ns, rest_ns);
	}
	return err;
}
