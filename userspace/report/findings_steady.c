// SPDX-License-Identifier: GPL-2.0-only
/* Says for each op that matters whether it reached a steady state. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/health.h"
#include "report/findings_rules.h"
#include "util/cleanup.h"

static void say_unknown(const struct inquiry *q, struct finding *f, const struct steady_state *s)
{
	if (s->known)
		finding_say(f, "IOPS scatter too much to tell whether it reached a steady state: by %s from interval to interval; rounds of %s may "
			    "differ by %s by chance", UNITS(share, s->scatter), UNITS(seconds, s->round_s), UNITS(share, s->excursion));
	else if (s->few)
		finding_say(f, "too few IOs to tell whether it reached a steady state (%s in each round of %s)", UNITS(short, s->mean * s->round_s),
			    UNITS(seconds, s->round_s));
	else if (q->run->active.n < q->run->n)
		finding_say(f, "load too short to tell whether it reached a steady state (%u of %u intervals)",
			    q->run->active.n, q->run->n);
	else
		finding_say(f, "run too short to tell whether it reached a steady state (%u interval%s)",
			    q->run->active.n, q->run->active.n == 1 ? "" : "s");
}

bool stalled_within(const struct inquiry *q, double from_s, double to_s)
{
	for (u32 i = 0; i < q->run->n; i++)
		if (q->stalled_s[i] && q->run->start_s[i] < to_s && run_end_of(q->run, i) > from_s)
			return true;
	return false;
}

static void say(struct finding *f, const struct steady_state *s, double stalled, double rest_s)
{
	finding_say(f, "steady state %sreached %sfrom %s to %s: five rounds of %s %saverage %s IOPS and differ by %s", s->reached ? "" : "not ",
		    s->while_busy ? "while busy, " : "", UNITS(seconds, f->from_s), UNITS(seconds, f->to_s),
		    UNITS(seconds, s->round_s), s->while_busy ? "of load " : "", UNITS(short, s->mean), UNITS(share, s->excursion));
	if (!s->reached)
		finding_say(f, " of that (limit 20 %%)");
	if (!s->reached && fabs(s->slope) > STEADY_SLOPE)
		finding_say(f, ", %s by %s of it from first to last (limit 10 %%)", s->slope < 0 ? "falling" : "rising", UNITS(share, fabs(s->slope)));
	if (!s->reached && !s->while_busy && rest_s > 0)
		finding_say(f, "; the load rested for %s of that time", UNITS(seconds, rest_s));
	if (stalled > 0)
		finding_say(f, "; %sthe device stalled for %s of that time", s->reached ? "steady on average only: " : "",
			    UNITS(share, stalled));
}

/* Whether the load came or went: without a stall it rests for half of the window, or half a round at an end of it. */
static bool comes_or_goes(const struct inquiry *q, u32 op, const struct steady_state *s)
{
	const struct steady_window *w = q->window;
	double first_s = 0, last_s = 0, away_s = 0;
	bool came = false;

	for (u32 i = w->first; i < w->first + w->n; i++) {
		double absent_s = q->run->length_s[i] - q->stalled_s[i];

		came |= q->watch->ops[op].ios[i];
		first_s += came ? 0 : absent_s;
		last_s = q->watch->ops[op].ios[i] ? 0 : last_s + absent_s;
		away_s += q->watch->ops[op].ios[i] ? 0 : absent_s;
	}
	return !s->few && !(s->known && s->while_busy) &&
	       (2 * away_s > w->to_s - w->from_s || (!s->reached && fmax(first_s, last_s) >= s->round_s / 2));
}

int find_steady_state(const struct inquiry *q, u32 op)
{
	const u64 *ios = q->watch->ops[op].ios;
	struct finding *f;
	const struct steady_state s = steady_state_of(q->run, q->watch, op, q->window);
	const struct steady_window *w = q->window;
	double stalled = 0, rest_s = 0, first_s, end_s;
	bool scatters;

	/*
	 * A sweep changes the load, so there is nothing to be steady; nor is there in one that came or went, and no
	 * rate is known of bursts that are too short.
	 */
	if (q->sweeps[op] || !s.there || duty_of(q->run, q->watch).at_least || comes_or_goes(q, op, &s))
		return 0;
	for (u32 i = w->first; i < w->first + w->n; i++) {
		bool rests = !watch_run_ios_in(q->watch, i) && !q->watch->in_flight[i] && !q->stalled_s[i];

		stalled += q->stalled_s[i] / (w->to_s - w->from_s);
		rest_s += rests ? q->run->length_s[i] : 0;
	}
	f = finding_add(q, "steady_state", op);
	finding_rule(f, "SNIA PTS 2.0: five rounds, each a fifth of the window (%s), whose largest and smallest average "
		     "differ by at most 20 %% of the mean, and the least-squares line through them by at most 10 %% "
		     "from first to last; pauses of a duty cycle are left out", w->rule);
	scatters = s.known && !stalled && rest_s < s.round_s / 2 && steady_by_chance(&s, s.error) &&
		   !levels_are_told(q, op, w->from_s, w->to_s, false);
	finding_value(f, "known", s.known && !scatters);
	if (s.known || s.few) {
		f->from_s = w->from_s;
		f->to_s = w->to_s;
		finding_values(f, { "iops", s.mean }, { "round_s", s.round_s }, { "excursion_share", s.excursion }, { "slope_share", s.slope });
	}
	if (!s.known || scatters) {
		say_unknown(q, f, &s);
		return 0;
	}
	say(f, &s, stalled, rest_s);
	if (s.reached && !stalled)
		f->grade = FINDING_WELL;
	finding_values(f, { "reached", s.reached }, { "stalled_share", stalled });
	if (s.while_busy)
		return 0;
	if (steady_state_first(q->run, ios, s.round_s, &first_s))
		return -ENOMEM;
	if (first_s < 0)
		return 0;
	finding_value(f, "first_reached_s", first_s);
	/* Of levels that take turns, only the means may be. */
	end_s = first_s + STEADY_ROUNDS * s.round_s;
	if (!s.reached && !levels_are_told(q, op, first_s, end_s, false))
		finding_say(f, "; five such rounds from %s on were steady%s", UNITS(seconds, first_s),
			    stalled_within(q, first_s, end_s) ? ", in the mean only: the device stalled in them" : "");
	return 0;
}

#define RANGE_OF_ROUNDS 2.326	/* expected of five values from a normal distribution, in standard deviations */
#define LIKE 1.5

bool steady_is_like(const struct finding *a, const struct finding *b)
{
	const struct watch *v = a->watch, *w = b->watch;
	double x = finding_get(a, "iops"), y = finding_get(b, "iops");

	return !strcmp(a->kind, "steady_state") && !strcmp(b->kind, "steady_state") && a->op == b->op &&
	       v->stage == w->stage && !strcmp(v->device->kind, w->device->kind) &&
	       !strcmp(v->device->model, w->device->model) && a->from_s == b->from_s &&
	       fmax(x, y) <= LIKE * fmin(x, y) && !a->sick && !b->sick;
}

int steady_mark_chance(struct findings *fs)
{
	CLEANUP(cleanup_free) struct weighted *excursions = calloc(fs->n ?: 1, sizeof(*excursions));

	if (!excursions)
		return -ENOMEM;
	for (u32 i = 0; i < fs->n; i++) {
		struct finding *f = &fs->f[i];
		u32 n = 0;

		for (u32 k = 0; k < fs->n; k++)
			if (steady_is_like(f, &fs->f[k]))
				excursions[n++] = (struct weighted){ finding_get(&fs->f[k], "excursion_share"), 1 };
		f->by_chance = n >= HEALTH_LIKE_MIN && (!finding_get(f, "known") ||
			       steady_by_chance(&(struct steady_state){ .excursion = finding_get(f, "excursion_share"), .slope = finding_get(f, "slope_share") },
						weighted_median(excursions, n) / RANGE_OF_ROUNDS));
	}
	for (u32 i = 0; i < fs->n; i++) {
		u32 n = 0, reached = 0;

		for (u32 k = 0; fs->f[i].by_chance && k < fs->n; k++)
			if (fs->f[k].by_chance && steady_is_like(&fs->f[i], &fs->f[k])) {
				n++;
				reached += finding_get(&fs->f[k], "reached") == 1;
			}
		excursions[i].value = !reached || reached == n ? -1 : 2 * reached > n ? FINDING_WELL : FINDING_DIFFERS;
	}
	for (u32 i = 0; i < fs->n; i++) {
		fs->f[i].by_chance = excursions[i].value >= 0;
		fs->f[i].grade = fs->f[i].by_chance ? excursions[i].value : fs->f[i].grade;
	}
	return 0;
}

int find_duty_cycle(const struct inquiry *q)
{
	const struct duty d = duty_of(q->run, q->watch);
	const char *most = d.at_least ? "at most " : "", *least = d.at_least ? "at least " : "";
	struct finding *f;

	if (!d.bursts && d.few < 2)
		return 0;
	f = finding_add(q, "duty_cycle", op_named(q->watch, -1));
	f->from_s = d.from_s;
	if (d.few) {
		finding_values(f, { "bursts", d.few }, { "busy_iops", d.busy_iops }, { "overall_iops", d.overall_iops });
		finding_say(f, "the load came %u times, with %s of pause%s between: %s IOPS while busy, %s over the run", d.few,
			    UNITS(seconds, d.rest_s), d.few > 2 ? "s" : "", UNITS(short, d.busy_iops), UNITS(short, d.overall_iops));
		finding_rule(f, "two to four bursts of 100 IOs or more, as by a duty cycle");
		return 0;
	}
	finding_values(f, { "bursts", d.bursts }, { "period_s", d.period_s }, { "share", d.share },
		       { "busy_iops", d.busy_iops }, { "overall_iops", d.overall_iops });
	finding_say(f, "a duty cycle of %s%s: %s of load and %s%s of pause, %u times; %s%s IOPS while busy, %s over %u whole periods", most,
		    UNITS(share, d.share), UNITS(seconds, d.share * d.period_s), least,
		    UNITS(seconds, (1 - d.share) * d.period_s), d.bursts, least, UNITS(short, d.busy_iops),
		    UNITS(short, d.overall_iops), d.bursts - 1);
	finding_rule(f, "five bursts or more of 100 IOs or more, at distances that deviate by at most 25 %%; between them intervals below "
		     "1 %% of the mean rate with no IO in flight at their ends; the share is the rate of all whole periods over that while busy, "
		     "which is of the intervals inside of bursts, or if there are none, of the ends that are not far below the other one");
	return 0;
}
