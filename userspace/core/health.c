// SPDX-License-Identifier: GPL-2.0-only
#include "core/health.h"

#include <math.h>
#include <stdio.h>

#include "util/units.h"

void frame_merge_ops(const struct frame *f, struct op_frame *ret)
{
	const struct hist hist = ret->hist;

	*ret = (struct op_frame){ .hist = hist };
	hist_clear(&ret->hist);
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_frame_merge(ret, &f->ops[op]);
}

static void past_add(struct health_past *past, double log2_ns)
{
	if (past->intervals < HEALTH_INTERVALS)
		past->intervals++;
	past->log2_ns += (log2_ns - past->log2_ns) / past->intervals;
}

struct health health_judge(struct health_past *past, const struct frame *f, const struct op_frame *all)
{
	bool waits = f->in_flight && !accounting_ends_missed(&f->accounting);
	struct health h = { .errors = all->errors, .waited_ns = waits ? f->oldest_ns : 0 };

	if (all->ios) {
		double p99_ns = quantile_ns(&all->hist, 0.99, all->min_ns, all->max_ns), log2_ns = log2(fmax(p99_ns, 1));

		h.p99_ns = p99_ns;
		if (past->intervals >= HEALTH_INTERVALS_MIN && all->ios >= HEALTH_IOS_MIN)
			h.times = exp2(log2_ns - past->log2_ns);
		past_add(past, log2_ns);
	}
	if (waits && frame_seems_stalled(f))
		h.ailment = AILMENT_STALLED;
	else if (all->errors)
		h.ailment = AILMENT_ERRORS;
	else if (h.waited_ns > f->interval_s * NSEC_PER_SEC)
		h.ailment = AILMENT_OLD;
	else if (h.times >= HEALTH_TIMES)
		h.ailment = AILMENT_SLOW;
	return h;
}

const char *health_text(char text[HEALTH_TEXT], const struct health *h)
{
	char part[UNITS_TEXT];

	text[0] = '\0';
	switch (h->ailment) {
	case AILMENT_STALLED:
		sprintf(text, "stalled: nothing ends, an IO waits for %s", units_ns(part, h->waited_ns));
		break;
	case AILMENT_ERRORS:
		sprintf(text, "%s IO%s failed", units_count(part, h->errors), h->errors == 1 ? "" : "s");
		break;
	case AILMENT_OLD:
		sprintf(text, "an IO waits for %s", units_ns(part, h->waited_ns));
		break;
	case AILMENT_SLOW:
		sprintf(text, "slow: p99 is %s times its past", units_short(part, h->times));
		break;
	case AILMENT_NONE:
		break;
	}
	return text;
}
