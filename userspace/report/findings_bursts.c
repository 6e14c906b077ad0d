// SPDX-License-Identifier: GPL-2.0-only
/* Slow now and then, maybe for too short a time for levels, but always and only when another load is there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings_levels.h"
#include "util/cleanup.h"

#define BURSTS_LEAST 2

/* A copy of a trace in which the fast intervals come first. */
struct sorted {
	struct trace t;
	u32 bursts, slow;
	u32 n_ends;
	double ends_s[LEVEL_CUTS_MAX];	/* where it becomes slow and fast, in turn */
	bool from_start;		/* it is slow first */
};

/* Returns whether percentile @p is high in bursts. */
static bool sort_by(const struct trace *t, u32 p, u32 *room, struct sorted *ret)
{
	double low, high, middle;
	u32 n = 0;

	for (u32 i = 0; i < t->n; i++)
		t->y[i] = trace_log_ns(t, i, p);
	trace_ends(t, &low, &high);
	middle = (low + high) / 2;
	*ret = (struct sorted){ .t = *t, .from_start = t->y[0] > middle };
	ret->t.interval = room;
	for (u32 i = 0; i < t->n; i++) {
		bool slow = t->y[i] > middle, was_slow = i && t->y[i - 1] > middle;

		ret->slow += slow;
		ret->bursts += slow && !was_slow;
		if (i && slow != was_slow && ret->n_ends < LEVEL_CUTS_MAX)
			ret->ends_s[ret->n_ends++] = t->q->run->start_s[t->interval[i]];
		if (!slow)
			room[n++] = t->interval[i];
	}
	ret->t.n_cuts = 1;
	ret->t.cuts[0] = n;
	for (u32 i = 0; i < t->n; i++)
		if (t->y[i] > middle)
			room[n++] = t->interval[i];
	return high - low >= log(STEP(p)) && ret->bursts >= BURSTS_LEAST && ret->slow >= LEVEL_LEAST &&
	       t->n - ret->slow >= LEVEL_LEAST && ret->n_ends < LEVEL_CUTS_MAX;
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
		if (!change_has_culprit(all))
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
