// SPDX-License-Identifier: GPL-2.0-only
/* A sweep: phases with more and more load, in any order. Says from which on the device gives no more. */
#include <math.h>

#include "report/findings_rules.h"

#define PHASES_LEAST 3
#define MORE 1.05		/* a rise of IOPS by a smaller factor is none */
#define WAITS 1.5		/* least factor by which the mean latency rises meanwhile */

static const struct op_frame *of_phase(const struct inquiry *q, u32 op, u32 i)
{
	return &q->run->phases.p[i].of[q->watch - q->run->watches]->ops[op];
}

/* The mean number of IOs in flight. */
static double depth_in(const struct inquiry *q, u32 op, u32 i)
{
	return of_phase(q, op, i)->iops * of_phase(q, op, i)->mean_ns;
}

static void report(const struct inquiry *q, u32 op, u32 from, u32 last)
{
	const struct op_frame *a = of_phase(q, op, from), *b = of_phase(q, op, last);
	const struct phase *p = q->run->phases.p;
	struct finding *f = finding_add(q, "saturated", op);

	f->from_s = fmin(p[from].from_s, p[last].from_s);
	f->to_s = fmax(p[from].to_s, p[last].to_s);
	finding_values(f, { "from_iops", a->iops }, { "to_iops", b->iops }, { "from_mean_ns", a->mean_ns },
		       { "to_mean_ns", b->mean_ns });
	finding_say(f, "saturated from phase '%.64s' on: %s IOPS there and %s in '%.64s', while the mean latency rose from %s to %s",
		    p[from].name, UNITS(short, a->iops), UNITS(short, b->iops), p[last].name, UNITS(ns, a->mean_ns),
		    UNITS(ns, b->mean_ns));
	finding_rule(f, "of %d or more phases between which the load changes, by their queue depths, the first behind which none has 5 %% more IOPS, "
		     "if the mean latency rises by a factor of 1.5 or more until the last; in that one IOPS vary more than the queue depth does", PHASES_LEAST);
}

int find_saturated(const struct inquiry *q, u32 op)
{
	const struct phases *ph = &q->run->phases;
	const struct phase *deepest;
	u32 by_depth[PHASES_MAX], n = 0, from = 0;
	double most = 0;

	for (u32 i = 0; i < ph->n; i++) {
		u32 at = n;

		if (!ph->p[i].n || !ph->p[i].of[q->watch - q->run->watches] || !of_phase(q, op, i)->ios)
			continue;
		for (n++; at && depth_in(q, op, by_depth[at - 1]) > depth_in(q, op, i); at--)
			by_depth[at] = by_depth[at - 1];
		by_depth[at] = i;
	}
	/* It is not yet saturated where more load gives more. */
	for (u32 i = n; i--; most = fmax(most, of_phase(q, op, by_depth[i])->iops))
		if (most <= MORE * of_phase(q, op, by_depth[i])->iops)
			from = i;
	if (!q->sweeps[op] || n < PHASES_LEAST)
		return 0;
	/* Where the load has a rate of its own, a deeper queue is no larger load. Its ends may be in intervals. */
	deepest = &ph->p[by_depth[n - 1]];
	if (!(depth_scatter(q->run, q->watch, deepest->first + 1, deepest->first + deepest->n - 1) >= KEEPS_DEPTH) &&
	    of_phase(q, op, by_depth[n - 1])->mean_ns >= WAITS * of_phase(q, op, by_depth[from])->mean_ns)
		report(q, op, by_depth[from], by_depth[n - 1]);
	return 0;
}
