// SPDX-License-Identifier: GPL-2.0-only
/*
 * Findings about things that should not happen: lost IOs, counts that disagree, errors, IOs that hang,
 * a device that went away.
 */
#include <math.h>

#include "core/health.h"
#include "report/findings_rules.h"

#define HUNG_LATENCIES 100	/* median latencies; only an IO that is stuck takes that long */
#define HUNG_LEAST_NS (1 * NSEC_PER_SEC)
#define HUNG_MOST_NS (30 * NSEC_PER_SEC)	/* timeout of a command in the kernel's SCSI layer */

/* As the live page has it: a share of the IOs of an interval. */
static bool is_notable(const struct inquiry *q)
{
	const struct watch_run *w = q->watch;

	if (w->account.lost >= HEALTH_LOST_SHARE * (w->account.completed + w->account.lost))
		return true;
	for (u32 i = 0; i < q->run->n; i++) {
		double lost = (double)w->lost[i] - (i ? w->lost[i - 1] : 0);

		if (lost > 1 && lost >= HEALTH_LOST_SHARE * (watch_run_ios_in(w, i) + lost))
			return true;
	}
	return false;
}

int find_losses(const struct inquiry *q)
{
	const struct accounting *a = &q->watch->account;
	const char *separator = ": ";
	struct finding *f;
	double share;

	if (!a->lost)
		return 0;
	share = (double)a->lost / (a->completed + a->lost);
	f = finding_add(q, "losses", -1);
	f->grade = is_notable(q) ? FINDING_WRONG : FINDING_DIFFERS;
	finding_values(f, { "lost", a->lost }, { "share", share });
	finding_say(f, "%s IO%s lost from the figures (%s)", UNITS(count, a->lost),
		    a->lost == 1 ? " is" : "s are", UNITS(share, share));
	for (u32 i = 0; i < LOST_REASONS; i++) {
		if (!a->lost_by[i])
			continue;
		finding_value(f, lost_names[i], a->lost_by[i]);
		finding_say(f, "%s%s %s", separator, UNITS(count, a->lost_by[i]), lost_words[i]);
		separator = ", ";
	}
	finding_rule(f, "started = completed + in flight + lost, at the end of the run; something is wrong if %g %% of all are lost, or more than one IO of an interval and %g %% of its",
		     100 * HEALTH_LOST_SHARE, 100 * HEALTH_LOST_SHARE);
	return 0;
}

/* The kernel also counts IOs that were in flight at the start, and some that end in unusual ways. */
int find_kernel_count(const struct inquiry *q)
{
	const struct accounting *a = &q->watch->total->accounting;
	struct finding *f;

	if (!accounting_kernel_gap(a))
		return 0;
	f = finding_add(q, "kernel_count", -1);
	finding_values(f, { "kernel_ios", a->kernel_ios }, { "completed", a->completed });
	finding_say(f, "the kernel's statistics counted %s IOs, blklat %s",
		    UNITS(count, a->kernel_ios), UNITS(count, a->completed));
	finding_rule(f, "at the end of the run, when no IO started or ended, the two differ by more than the IOs that "
		     "were in flight at the start or at the end, were lost, failed before they were issued, or may be "
		     "left out by the kernel (op other)");
	return 0;
}

static void report_errors(const struct inquiry *q, u32 op)
{
	const struct series_run *s = &q->watch->ops[op];
	struct finding *f = finding_add(q, "errors", op);
	u32 first = 0, last = q->run->n - 1;

	while (first < last && !s->errors[first])
		first++;
	while (last > first && !s->errors[last])
		last--;
	f->from_s = q->run->start_s[first];
	f->to_s = run_end_of(q->run, last);
	finding_values(f, { "errors", s->total->errors }, { "ios", s->total->ios });
	finding_say(f, "%s of %s IOs failed, the first at %s",
		    UNITS(count, s->total->errors), UNITS(count, s->total->ios),
		    UNITS(seconds, f->from_s));
	finding_rule(f, "IOs that completed with an error");
}

int find_errors(const struct inquiry *q)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (q->watch->ops[op].total->errors)
			report_errors(q, op);
	return 0;
}

int find_hung(const struct inquiry *q)
{
	const struct watch_run *w = q->watch;
	const u64 *ages = w->oldest_ns;
	double p50_ns = w->ops[main_op(w)].total->percentile_ns[RUN_P50];
	u32 n = q->run->n, oldest = n;
	struct finding *f;

	for (u32 i = 0; i < n; i++) {
		double end_s = run_end_of(q->run, i), took_s = (double)ages[i] / NSEC_PER_SEC;

		/* If it gets older, it is looked at where it is oldest; not if it waited in a stall for most of it. */
		if (q->age_proven[i] && (oldest == n || ages[i] > ages[oldest]) &&
		    !(i + 1 < n && ages[i + 1] > ages[i] && q->age_proven[i + 1]) &&
		    stalled_time(q->run, q->told_s, i, &(struct stall){ end_s - took_s, end_s }) <= took_s / 2)
			oldest = i;
	}
	if (oldest == n || w->oldest_ns[oldest] < fmin(fmax(HUNG_LATENCIES * p50_ns, HUNG_LEAST_NS), HUNG_MOST_NS))
		return 0;
	f = finding_add(q, "hung", -1);
	f->to_s = run_end_of(q->run, oldest);
	f->from_s = fmax(f->to_s - (double)w->oldest_ns[oldest] / NSEC_PER_SEC, 0);
	finding_values(f, { "oldest_ns", w->oldest_ns[oldest] }, { "at_s", f->to_s },
		       { "in_flight", w->in_flight[oldest] }, { "pending", oldest == n - 1 });
	finding_say(f, "an IO hung: at %s it had been in flight for %s%s",
		    UNITS(seconds, f->to_s), UNITS(ns, w->oldest_ns[oldest]),
		    oldest == n - 1 ? q->run->asked.to ? ", and it still was when the window ended" : ", and it still was when the run ended" : "");
	finding_rule(f, "an IO that at an interval's end has been in flight for 100 times the median latency, but at least 1 s "
		     "and at most 30 s; one that waited in a stall is not told again");
	return 0;
}

int find_gone(const struct inquiry *q)
{
	const struct run *r = q->run;
	struct finding *f;

	if (!q->watch->gone)
		return 0;
	f = finding_add(q, "gone", -1);
	f->from_s = q->watch->n_there ? run_end_of(r, q->watch->n_there - 1) : 0;
	finding_value(f, "at_s", f->from_s);
	finding_say(f, "the device went away at %s", UNITS(seconds, f->from_s));
	finding_rule(f, "the device was no longer there");
	return 0;
}
