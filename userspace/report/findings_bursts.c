// SPDX-License-Identifier: GPL-2.0-only
/* Slow now and then, maybe for too short a time for levels, but always and only when another load is there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings_levels.h"
#include "util/cleanup.h"

#define BURSTS_LEAST 2
#define GONE 0.4		/* of the way from absent to there; it is there from half of it on */

/* A copy of a trace in which the fast intervals come first. */
struct sorted {
	struct trace t;
	u32 slow;
	double middle;			/* logarithm of the percentile, between fast and slow */
	u32 bursts, n_ends;		/* of the load */
	double ends_s[LEVEL_CUTS_MAX];	/* where it comes and goes, in turn */
	bool from_start;		/* it is there first */
};

/* Returns whether percentile @p is high for a part of the time. */
static bool sort_by(const struct trace *t, u32 p, u32 *room, struct sorted *ret)
{
	double low, high;
	u32 n = 0;

	trace_set(t, p);
	trace_ends(t, min_u64(t->n / 20, LEVEL_LEAST - 1), &low, &high);
	*ret = (struct sorted){ .t = *t, .middle = (low + high) / 2 };
	ret->t.interval = room;
	for (u32 i = 0; i < t->n; i++)
		if (t->y[i] <= ret->middle)
			room[n++] = t->interval[i];
	ret->t.n_cuts = 1;
	ret->t.n_ramps = 0;
	ret->t.cuts[0] = n;
	ret->slow = t->n - n;
	for (u32 i = 0; i < t->n; i++)
		if (t->y[i] > ret->middle)
			room[n++] = t->interval[i];
	return high - low >= log(STEP(p)) && ret->slow >= LEVEL_LEAST && t->n - ret->slow >= LEVEL_LEAST;
}

/* Returns whether the load comes in bursts in which it is slow. It may be slow by chance in between. */
static bool find_bursts(const struct trace *t, const struct other *load, struct sorted *ret)
{
	double gone = (1 - GONE) * rate_in(load, &load->before) + GONE * rate_in(load, &load->after);
	bool was_there = false;

	for (u32 i = 0; i < t->n; i++) {
		bool there = was_there ? run_iops(t->q->run, counts_of(load), t->interval[i]) > gone
				       : is_there(t, load, t->interval[i]) && t->y[i] > ret->middle;

		ret->bursts += there && !was_there;
		ret->from_start |= there && !i;
		if (i && there != was_there && ret->n_ends < LEVEL_CUTS_MAX)
			ret->ends_s[ret->n_ends++] = t->q->run->start_s[t->interval[i]];
		was_there = there;
	}
	return ret->bursts >= BURSTS_LEAST && ret->n_ends < LEVEL_CUTS_MAX;
}

int report_bursts(const struct trace *t)
{
	CLEANUP(cleanup_free) u32 *room = calloc(t->n + 1, sizeof(*room));
	CLEANUP(cleanup_free) struct change *all = calloc(LEVEL_CUTS_MAX, sizeof(*all));
	CLEANUP(cleanup_free) struct sorted *s = calloc(1, sizeof(*s));

	if (!room || !all || !s)
		return -ENOMEM;
	for (u32 p = 0; p < PERCENTILES_OVER_TIME && t->n >= 2 * LEVEL_LEAST && !t->q->run->phases.n; p++) {
		if (!t->backed[p] || !sort_by(t, p, room, s))
			continue;
		all[0] = change_at(&s->t, 0);
		all[0].cause.sure = cause_is_sure(&s->t, all, 0);
		if (!change_has_culprit(all) || !find_bursts(t, &all[0].cause, s))
			continue;
		all[0].first_until_s = s->from_start ? s->ends_s[0] : 0;
		all[0].rest_s = all[0].lasts_s = 0;
		for (u32 i = s->from_start; i < s->n_ends; i++)
			all[i - s->from_start].at_s = s->ends_s[i];
		all[0].cause.at_s = all[0].at_s;
		all[0].share = 0;
		for (u32 i = 0; i < t->n && t->q->run->start_s[t->interval[i]] < all[0].at_s; i++)
			all[0].share += (double)t->s->ios[t->interval[i]] / t->s->total->ios;
		report_change(&s->t, all, s->n_ends - s->from_start);
		return 1;
	}
	return 0;
}
