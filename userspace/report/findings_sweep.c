// SPDX-License-Identifier: GPL-2.0-only
/* A sweep: phases with more and more load. Says from which on the device gives no more. */
#include "report/findings_rules.h"

#define PHASES_LEAST 3
#define MORE 1.05		/* a rise of IOPS by a smaller factor is none */
#define WAITS 1.5		/* least factor by which the mean latency rises meanwhile */

/* The next phase from @i on in which the op had IOs; phases.n: there is none. */
static u32 next_phase(const struct inquiry *q, u32 op, u32 i)
{
	const struct phases *ph = &q->run->phases;

	while (i < ph->n && !(ph->p[i].n && ph->p[i].of[q->watch - q->run->watches] && ph->p[i].of[q->watch - q->run->watches]->ops[op].ios))
		i++;
	return i;
}

static const struct op_frame *of_phase(const struct inquiry *q, u32 op, u32 i)
{
	return &q->run->phases.p[i].of[q->watch - q->run->watches]->ops[op];
}

static void report(const struct inquiry *q, u32 op, u32 from, u32 last)
{
	const struct op_frame *a = of_phase(q, op, from), *b = of_phase(q, op, last);
	const struct phase *p = q->run->phases.p;
	struct finding *f = finding_add(q, "saturated", op);
	char at[UNITS_TEXT], to[UNITS_TEXT], first[UNITS_TEXT], end[UNITS_TEXT];

	f->from_s = p[from].from_s;
	f->to_s = p[last].to_s;
	finding_values(f, { "from_iops", a->iops }, { "to_iops", b->iops }, { "from_mean_ns", a->mean_ns },
		       { "to_mean_ns", b->mean_ns });
	finding_say(f, "saturated from phase '%.64s' on: %s IOPS there and %s in '%.64s', while the mean latency rose from %s to %s",
		    p[from].name, units_short(at, a->iops), units_short(to, b->iops), p[last].name, units_ns(first, a->mean_ns), units_ns(end, b->mean_ns));
	finding_rule(f, "of %d or more phases between which the load changes, the first behind which none has 5 %% more IOPS, if the mean "
		     "latency rises by a factor of 1.5 or more until the last", PHASES_LEAST);
}

int find_saturated(const struct inquiry *q, u32 op)
{
	u32 n = 0, last = 0, end = q->run->phases.n, from = next_phase(q, op, 0);

	for (u32 i = from; i < end; i = next_phase(q, op, i + 1)) {
		/* It is not yet saturated where a later phase has more. */
		if (of_phase(q, op, i)->iops > MORE * of_phase(q, op, from)->iops)
			from = i;
		last = i;
		n++;
	}
	if (*q->sweeps & 1U << op && n >= PHASES_LEAST && of_phase(q, op, last)->mean_ns >= WAITS * of_phase(q, op, from)->mean_ns)
		report(q, op, from, last);
	return 0;
}
