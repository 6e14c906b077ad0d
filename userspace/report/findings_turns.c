// SPDX-License-Identifier: GPL-2.0-only
/* A load of two rates that take turns, each for as long every time: one statement in place of all the changes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings_levels.h"
#include "util/cleanup.h"

#define TURNS_LEAST 5		/* the run cuts off the first and the last */
#define LENGTH_LEAST 3		/* intervals; shorter turns may be noise, */
#define LENGTHS 1.2		/* as may those that differ by more than this factor and an interval */
#define APART 0.25		/* of the step between the rates: within a turn, none is farther from its own */

struct turns {
	double low, high;	/* IOPS */
	u32 n;
	struct {
		u32 n, least, most;
		double time_s;
	} side[2];		/* turns that the run does not cut off: of the low rate, and of the high one */
};

static bool is_high(const struct trace *t, const struct turns *s, u32 place)
{
	return t->y[place] > (s->low + s->high) / 2;
}

/* Whether the rate is the same before and after @place. */
static bool is_inside(const struct trace *t, const struct turns *s, u32 place)
{
	bool high = is_high(t, s, place);

	return (!place || is_high(t, s, place - 1) == high) && (place + 1 == t->n || is_high(t, s, place + 1) == high);
}

/* Returns whether they are even. */
static bool find_turns(const struct trace *t, struct turns *s)
{
	double apart = APART * (s->high - s->low);

	for (u32 from = 0, to; from < t->n; from = to) {
		bool high = is_high(t, s, from);
		typeof(&s->side[0]) of = &s->side[high];

		for (to = from + 1; to < t->n && is_high(t, s, to) == high; to++)
			if (is_inside(t, s, to) && fmin(fabs(t->y[to] - s->low), fabs(t->y[to] - s->high)) > apart)
				return false;
		s->n++;
		if (!from || to == t->n)
			continue;
		of->least = of->n && of->least < to - from ? of->least : to - from;
		of->most = max_u64(of->most, to - from);
		of->time_s += t->q->run->start_s[t->interval[to]] - t->q->run->start_s[t->interval[from]];
		of->n++;
	}
	for (u32 i = 0; i < 2; i++)
		if (s->side[i].least < LENGTH_LEAST || s->side[i].most > LENGTHS * s->side[i].least + 1)
			return false;
	return s->n >= TURNS_LEAST;
}

/* Figures of one of the two rates; @of_rate has room for its intervals. */
static struct level measure(const struct trace *t, const struct turns *s, bool high, u32 *of_rate)
{
	struct trace part = *t;

	part.interval = of_rate;
	part.n = 0;
	for (u32 i = 0; i < t->n; i++)
		if (is_inside(t, s, i) && is_high(t, s, i) == high)
			of_rate[part.n++] = t->interval[i];
	return figures_of(&part, t->s, (struct span){ 0, part.n });
}

int report_turns(const struct trace *op)
{
	const struct run *r = op->q->run;
	CLEANUP(cleanup_free) u32 *room = calloc(2 * r->n, sizeof(*room));
	struct trace t = *op;
	struct turns s = { 0 };
	struct level of[2];
	struct finding *f;
	u32 first = 1, last, slower;

	if (!room)
		return -ENOMEM;
	t.interval = room;
	t.n = 0;
	/* At no rate as well, while other ops take their turn. */
	for (u32 i = 0; i < r->n; i++)
		if (watch_run_ios_in(t.q->watch, i) && !t.q->stalled_s[i] && r->length_s[i] >= r->interval_s / 2)
			t.interval[t.n++] = i;
	if (t.n < TURNS_LEAST)
		return 0;
	for (u32 i = 0; i < t.n; i++)
		t.y[i] = run_iops(r, t.s->ios, t.interval[i]);
	trace_ends(&t, t.n / 20, &s.low, &s.high);
	if (s.high < FACTOR * s.low || !find_turns(&t, &s))
		return 0;
	for (last = t.n - 1; is_high(&t, &s, last) == is_high(&t, &s, last - 1);)
		last--;
	while (is_high(&t, &s, first) == is_high(&t, &s, first - 1))
		first++;
	for (u32 i = 0; i < 2; i++)
		of[i] = measure(&t, &s, i, room + r->n);
	/* Else the device is slower and faster in turn. */
	if (direction(depth_of(&of[0]), depth_of(&of[1]), FACTOR) <= 0)
		return 0;
	slower = of[1].mean_ns > of[0].mean_ns;
	f = report_levels(&t, s.n - 1, r->start_s[t.interval[first]], r->start_s[t.interval[last]],
			  &(struct level_extremes){ &of[0], &of[1], &of[!slower || !of[0].iops], &of[slower] });
	f->times_of = NULL;
	finding_say(f, "the load alternates (%u changes): ", s.n - 1);
	for (u32 i = 0; i < 2; i++) {
		finding_say(f, "%s%s IOPS for %s", i ? ", and " : "", UNITS(short, of[i].iops), UNITS(seconds, s.side[i].time_s / s.side[i].n));
		if (of[i].iops)
			finding_say(f, i && of[0].iops ? " with %s" : " with a p50 of %s", UNITS(ns, of[i].ns[RUN_P50]));
	}
	finding_rule(f, "%d or more turns, of %d intervals or more, at two rates that differ by a factor of %g or more, as does the queue "
		     "depth; all turns at a rate are as long, but for a factor of %g and an interval", TURNS_LEAST, LENGTH_LEAST, FACTOR, LENGTHS);
	return 1;
}
