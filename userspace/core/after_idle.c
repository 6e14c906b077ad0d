// SPDX-License-Identifier: GPL-2.0-only
#include "core/frame.h"

#include <math.h>

struct bounds {
	u64 min_ns, max_ns;
};

/* The bounds of the bins, narrowed by the extremes of all IOs of the op. False: there are no IOs. */
static bool bounds_of(const struct op_frame *o, struct bounds *ret)
{
	const struct hist *h = &o->after_idle;
	u32 first, last;

	if (!hist_range(h, &first, &last))
		return false;
	/* The lower bound is exclusive, but 0 ns has no cell of its own. */
	*ret = (struct bounds){ first ? hist_lower_ns(h->scale, first) + 1 : 0, hist_upper_ns(h->scale, last) };
	/* In this histogram an IO may be counted an interval earlier or later than in the other. */
	if (o->ios && o->min_ns > ret->min_ns && o->min_ns <= hist_upper_ns(h->scale, first))
		ret->min_ns = o->min_ns;
	if (o->ios && o->max_ns < ret->max_ns && o->max_ns > hist_lower_ns(h->scale, last))
		ret->max_ns = o->max_ns;
	return true;
}

double after_idle_mean_ns(const struct op_frame *o)
{
	struct bounds b;

	if (!bounds_of(o, &b))
		return NAN;
	/* The sum may be an IO ahead of the bins. */
	return fmin(fmax((double)o->after_idle_sum_ns / hist_count(&o->after_idle), b.min_ns), b.max_ns);
}

double after_idle_quantile_ns(const struct op_frame *o, double q)
{
	struct bounds b;

	if (!bounds_of(o, &b))
		return NAN;
	/* With a single IO the sum says more than its bin. */
	if (hist_count(&o->after_idle) == 1)
		return after_idle_mean_ns(o);
	return quantile_ns(&o->after_idle, q, b.min_ns, b.max_ns);
}
