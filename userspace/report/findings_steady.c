// SPDX-License-Identifier: GPL-2.0-only
/* Says for each op that matters whether it reached a steady state. */
#include <errno.h>
#include <math.h>

#include "report/findings_rules.h"

static void say_unknown(const struct inquiry *q, struct finding *f, const struct steady_state *s)
{
	const struct steady_window *w = q->window;
	char from[UNITS_TEXT], to[UNITS_TEXT], excursion[UNITS_TEXT];

	if (s->known)
		finding_say(f, "IOPS scatter too much to tell whether it reached a steady state: by %s from interval to interval; rounds of %s may "
			    "differ by %s by chance", units_share(from, s->scatter), units_seconds(to, s->round_s), units_share(excursion, s->excursion));
	else if (s->few)
		finding_say(f, "too few IOs to tell whether it reached a steady state (%s in each round of %s)", units_short(from, s->mean * s->round_s),
			    units_seconds(to, s->round_s));
	else if (q->run->n >= STEADY_INTERVALS && w->n >= STEADY_ROUNDS)
		finding_say(f, "no IO from %s to %s, where the steady state is looked for",
			    units_seconds(from, w->from_s), units_seconds(to, w->to_s));
	else
		finding_say(f, "run too short to tell whether it reached a steady state (%u interval%s)",
			    q->run->active.n, q->run->active.n == 1 ? "" : "s");
}

/* The share of the window's time for which the device stalled. */
static double stalled_share(const struct inquiry *q)
{
	const struct steady_window *w = q->window;
	double stalled_s = 0;

	for (u32 i = w->first; i < w->first + w->n; i++)
		stalled_s += q->stalled_s[i];
	return stalled_s / (w->to_s - w->from_s);
}

static bool stalled_within(const struct inquiry *q, double from_s, double to_s)
{
	for (u32 i = 0; i < q->run->n; i++)
		if (q->stalled_s[i] && q->run->start_s[i] < to_s && run_end_of(q->run, i) > from_s)
			return true;
	return false;
}

/* For how long of the window the device had nothing to do. */
static double rest_of(const struct inquiry *q)
{
	const struct steady_window *w = q->window;
	double rest_s = 0;

	for (u32 i = w->first; i < w->first + w->n; i++)
		rest_s += watch_run_ios_in(q->watch, i) || q->watch->in_flight[i] || q->stalled_s[i] ? 0 : q->run->length_s[i];
	return rest_s;
}

static void say(struct finding *f, const struct steady_state *s, double stalled, double rest_s)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], round[UNITS_TEXT], iops[UNITS_TEXT];
	char excursion[UNITS_TEXT], slope[UNITS_TEXT], share[UNITS_TEXT];

	finding_say(f, "steady state %sreached %sfrom %s to %s: five rounds of %s %saverage %s IOPS and differ by %s", s->reached ? "" : "not ",
		    s->while_busy ? "while busy, " : "", units_seconds(from, f->from_s), units_seconds(to, f->to_s),
		    units_seconds(round, s->round_s), s->while_busy ? "of load " : "", units_short(iops, s->mean), units_share(excursion, s->excursion));
	if (!s->reached)
		finding_say(f, " (limit 20 %%), %s by %s from first to last (limit 10 %%)", s->slope < 0 ? "falling" : "rising",
			    units_share(slope, fabs(s->slope)));
	if (!s->reached && !s->while_busy && rest_s > 0)
		finding_say(f, "; the load rested for %s of that time", units_seconds(from, rest_s));
	if (stalled > 0)
		finding_say(f, "; %sthe device stalled for %s of that time", s->reached ? "steady on average only: " : "",
			    units_share(share, stalled));
}

int find_steady_state(const struct inquiry *q, u32 op)
{
	const u64 *ios = q->watch->ops[op].ios;
	struct finding *f;
	char first[UNITS_TEXT];
	struct steady_state s;
	double first_s;
	bool scatters;

	steady_state_of(q->run, q->watch, op, q->window, &s);
	/* A sweep changes the load, so there is nothing to be steady; nor is a rate known of bursts that are too short. */
	if (*q->sweeps & 1U << op || !s.there || duty_of(q->run, q->watch).at_least)
		return 0;
	f = finding_add(q, "steady_state", op);
	finding_rule(f, "SNIA PTS 2.0: five rounds, each a fifth of the window (%s), whose largest and smallest average "
		     "differ by at most 20 %% of the mean, and the least-squares line through them by at most 10 %% "
		     "from first to last; pauses of a duty cycle are left out", q->window->rule);
	scatters = s.known && !stalled_share(q) && steady_by_chance(&s, s.error);
	finding_value(f, "known", s.known && !scatters);
	if (!s.known || scatters) {
		say_unknown(q, f, &s);
		return 0;
	}
	f->from_s = q->window->from_s;
	f->to_s = q->window->to_s;
	say(f, &s, stalled_share(q), rest_of(q));
	if (s.reached && !stalled_share(q))
		f->grade = FINDING_WELL;
	finding_values(f, { "reached", s.reached }, { "iops", s.mean }, { "round_s", s.round_s },
		       { "excursion_share", s.excursion }, { "slope_share", s.slope },
		       { "stalled_share", stalled_share(q) });
	if (s.while_busy)
		return 0;
	if (steady_state_first(q->run, ios, s.round_s, &first_s))
		return -ENOMEM;
	if (first_s < 0)
		return 0;
	finding_value(f, "first_reached_s", first_s);
	if (!s.reached)
		finding_say(f, "; five such rounds from %s on were steady%s", units_seconds(first, first_s),
			    stalled_within(q, first_s, first_s + STEADY_ROUNDS * s.round_s) ? ", in the mean only: the device stalled in them" : "");
	return 0;
}

int find_duty_cycle(const struct inquiry *q)
{
	const struct duty d = duty_of(q->run, q->watch);
	char a[UNITS_TEXT], b[UNITS_TEXT], share[UNITS_TEXT], pause[UNITS_TEXT];
	struct finding *f;

	if (!d.bursts)
		return 0;
	f = finding_add(q, "duty_cycle", op_named(q->watch, -1));
	f->from_s = d.from_s;
	finding_values(f, { "bursts", d.bursts }, { "period_s", d.period_s }, { "share", d.share },
		       { "busy_iops", d.busy_iops }, { "overall_iops", d.overall_iops });
	finding_say(f, "a duty cycle of %s%s: %s of load and %s of pause, %u times", d.at_least ? "at most " : "", units_share(share, d.share),
		    units_seconds(a, d.share * d.period_s), units_seconds(pause, (1 - d.share) * d.period_s), d.bursts);
	finding_say(f, "; %s%s IOPS while busy, %s overall", d.at_least ? "at least " : "", units_short(a, d.busy_iops),
		    units_short(b, d.overall_iops));
	finding_rule(f, "five bursts or more of 100 IOs or more, at distances that deviate by at most 25 %%; between them intervals below "
		     "1 %% of the mean rate with no IO in flight at their ends; the share is the rate of all whole periods over that while busy, "
		     "which is of the intervals inside of bursts, or if there are none, of the ends that are not far below the other one");
	return 0;
}
