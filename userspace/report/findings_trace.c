// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the levels of an op. They are searched in the logarithms of IOPS and of percentiles, only over intervals in
 * which the op was busy, since neither pauses of the workload nor stalls are levels.
 */
#include "report/findings_levels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/cleanup.h"

#define ALL 0.9			/* of a noisy rate */
#define SHORT 2			/* by how many steps latency rises for less than LEVEL_LEAST intervals, */
#define SHORT_IOS 20		/* and IOs beyond the percentile then; at least by */
#define SHORT_EDGE 2		/* at the run's begin and end */
#define SHORT_NOISE 5.0		/* standard deviations; the mean, which a few IOs move, by */
#define SHORT_MEAN_NOISE 3.0

void trace_uninit(struct trace *t)
{
	free(t->interval);
	free(t->y);
	free(t->room);
}

int trace_init(struct trace *t, const struct inquiry *q, u32 op)
{
	const struct run *r = q->run;
	double ios;

	t->q = q;
	t->op = op;
	t->s = &q->watch->ops[op];
	t->interval = calloc(r->n, sizeof(*t->interval));
	t->y = calloc(r->n, sizeof(*t->y));
	t->room = calloc(r->n, sizeof(*t->room));
	if (!t->interval || !t->y || !t->room)
		return -ENOMEM;
	for (u32 i = 0; i < r->n; i++) {
		if (!t->s->ios[i] || q->stalled_s[i] || r->length_s[i] < r->interval_s / 2)
			continue;
		t->room[t->n] = (struct weighted){ t->s->ios[i], 1 };
		t->interval[t->n++] = i;
	}
	ios = weighted_median(t->room, t->n);
	for (u32 p = 0; p < PERCENTILES_OVER_TIME; p++)
		t->backed[p] = p == RUN_P50 || ios * (1 - run_over_time.p[p].q) >= TAIL_IOS * (1 - 1e-9);
	return 0;
}

u32 trace_end_of(const struct trace *t, u32 cut)
{
	for (u32 k = 0; k < t->n_ramps; k++)
		if (t->ramps[k].from == cut)
			return t->ramps[k].to;
	return cut;
}

/* Whether one of the first @n cuts is near @from to @to, or @ramps one of their ramps. */
static bool near_a_cut(const struct trace *t, u32 n, u32 from, u32 to, bool ramps)
{
	for (const u32 *c = t->cuts; c < t->cuts + n; c++)
		if (to + SAME_CUT >= *c && from <= (ramps ? trace_end_of(t, *c) : *c) + SAME_CUT)
			return true;
	return false;
}

/*
 * The standard deviation of y, but for steps: for a normal distribution 0.6745 of it is the median
 * deviation.
 */
static double scatter_of(const struct trace *t)
{
	for (u32 i = 1; i < t->n; i++)
		t->room[i - 1] = (struct weighted){ fabs(t->y[i] - t->y[i - 1]), 1 };
	return weighted_median(t->room, t->n ? t->n - 1 : 0) / (0.6745 * M_SQRT2);
}

/* By how much the values from @place on differ from those before; 0: there are too few. */
static double move_at(const struct trace *t, u32 place)
{
	if (place < LEVEL_LEAST || (u64)place + LEVEL_LEAST > t->n)
		return 0;
	return median_near(t->y + place) - median_near(t->y + place - LEVEL_LEAST);
}

/*
 * The ramp that @cut is part of: values move on by more than @least, in one way, in more than LEVEL_LEAST intervals.
 * Else it is empty.
 */
static struct span ramp_at(const struct trace *t, u32 cut, double least)
{
	double way = move_at(t, cut) < 0 ? -1 : 1, most = 0, all = 0;
	struct span r = { cut, cut };

	while (fmax(way * move_at(t, r.from - 1), way * move_at(t, r.from - 2)) > least)
		r.from--;
	while (fmax(way * move_at(t, r.to + 1), way * move_at(t, r.to + 2)) > least)
		r.to++;
	/* A step is seen by twice as many medians, and lies between two. */
	if (t->q->run->phases.n || r.to - r.from <= 2 * LEVEL_LEAST)
		return (struct span){ cut, cut };
	r.from = r.from > LEVEL_LEAST ? r.from + LEVEL_LEAST / 2 : LEVEL_LEAST / 2;
	r.to = r.to + LEVEL_LEAST < t->n ? r.to - LEVEL_LEAST / 2 : t->n;
	for (u32 k = r.from + 1; k <= r.to && k + LEVEL_LEAST / 2 < t->n; k++) {
		const double *around = t->y + k - LEVEL_LEAST / 2;
		double by = way * (median_near(around) - median_near(around - 1));

		all += by;
		most = fmax(most, by);
	}
	return most > all / 2 ? (struct span){ cut, cut } : r;
}

/* Adds the cuts of @t->y that differ from those found before. */
static int add_cuts(struct trace *t, double step)
{
	CLEANUP(cleanup_free) u32 *more = calloc(LEVEL_CUTS_MAX, sizeof(*more));
	u32 before = t->n_cuts, last = 0;
	int n = more ? levels_find(t->y, t->n, step, more) : -ENOMEM;
	double least = n > 0 ? fmax(log(FALLS), 1.5 * scatter_of(t)) : 0;

	for (int i = 0; i < n && t->n_cuts < LEVEL_CUTS_MAX; i++) {
		struct span ramp = ramp_at(t, more[i], least);

		if (more[i] <= last || near_a_cut(t, before, more[i], more[i], true))
			continue;
		if (ramp.to > ramp.from && !near_a_cut(t, before, ramp.from, ramp.to, true)) {
			t->ramps[t->n_ramps++] = ramp;
			more[i] = ramp.from;
			last = ramp.to;
		}
		t->cuts[t->n_cuts++] = more[i];
	}
	return n < 0 ? n : 0;
}

/* Of a percentile, or the LEVEL_MEAN. */
double trace_log_ns(const struct trace *t, u32 place, u32 p)
{
	u32 i = t->interval[place];
	double ns = p == LEVEL_MEAN ? (double)t->s->sum_ns[i] / t->s->ios[i]
				    : percentiles_run_ns(&t->s->percentiles, i, p);

	return log(fmax(ns, 1));
}

void trace_set(const struct trace *t, u32 p)
{
	for (u32 i = 0; i < t->n; i++)
		t->y[i] = trace_log_ns(t, i, p);
}

void trace_ends(const struct trace *t, u32 out, double *ret_low, double *ret_high)
{
	for (u32 i = 0; i < t->n; i++)
		t->room[i] = (struct weighted){ t->y[i], 1 };
	qsort(t->room, t->n, sizeof(*t->room), compare_double);
	*ret_low = t->room[out].value;
	*ret_high = t->room[t->n - 1 - out].value;
}

int trace_find_levels(struct trace *t)
{
	int err;

	for (u32 i = 0; i < t->n; i++)
		t->y[i] = log(run_iops(t->q->run, t->s->ios, t->interval[i]));
	err = add_cuts(t, log(FACTOR));
	for (u32 p = 0; !err && p < PERCENTILES_OVER_TIME; p++) {
		if (!t->backed[p])
			continue;
		trace_set(t, p);
		err = add_cuts(t, log(STEP(p)));
	}
	qsort(t->cuts, t->n_cuts, sizeof(*t->cuts), compare_u32);
	return err;
}

const struct handover *trace_handover(const struct trace *t, u32 cut)
{
	for (u32 k = 0; k < t->n_handovers; k++)
		if (t->handovers[k].cut == cut)
			return &t->handovers[k];
	return NULL;
}

bool run_has_mark_at(const struct run *r, double at_s)
{
	for (u32 i = 0; i < r->phases.n; i++)
		if (fmin(fabs(r->phases.p[i].from_s - at_s), fabs(r->phases.p[i].to_s - at_s)) <=
		    SAME_CUT * r->interval_s)
			return true;
	return false;
}

/*
 * Where a rise of percentile @p at @from that is too short for a level ends; 0: there is none. All SHORT_APART values
 * before and after are lower by @step, and by @mean_step of the mean, since a percentile between two peaks flickers.
 * Behind a rise that goes on at the run's end, which takes two intervals, there are none.
 */
static u32 end_of_short(const struct trace *t, u32 p, double step, double mean_step, u32 from)
{
	double most = -HUGE_VAL, most_mean = -HUGE_VAL;
	u32 to = from;

	for (u32 i = max_u64(from, SHORT_APART) - SHORT_APART; i < from; i++) {
		most = fmax(most, trace_log_ns(t, i, p));
		most_mean = fmax(most_mean, trace_log_ns(t, i, LEVEL_MEAN));
	}
	while (to < t->n && trace_log_ns(t, to, p) >= most + step &&
	       trace_log_ns(t, to, LEVEL_MEAN) >= most_mean + mean_step &&
	       t->s->ios[t->interval[to]] * (1 - run_over_time.p[p].q) >= SHORT_IOS)
		to++;
	for (u32 i = to; i < t->n && i < to + SHORT_APART; i++)
		if (trace_log_ns(t, i, p) > most + step / 2)
			return 0;
	return to - from < LEVEL_LEAST && (to + SHORT_EDGE <= t->n || (to == t->n && to - from > 1)) ? to : 0;
}

/* By how much all values before place @to are above the SHORT_APART behind it; negative: below; 0: neither. */
static double gap_at(const struct trace *t, u32 p, u32 to)
{
	double least[] = { HUGE_VAL, HUGE_VAL }, most[] = { -HUGE_VAL, -HUGE_VAL };

	for (u32 i = 0; i < to + SHORT_APART; i++) {
		least[i >= to] = fmin(least[i >= to], trace_log_ns(t, i, p));
		most[i >= to] = fmax(most[i >= to], trace_log_ns(t, i, p));
	}
	return fmax(least[0] - most[1], 0) ?: fmin(most[0] - least[1], 0);
}

/*
 * Where the first intervals end, if they are too few for a level and slower or faster than those behind by as much;
 * 0: they are not.
 */
static u32 end_of_start(const struct trace *t, u32 p, double step, double mean_step)
{
	for (u32 to = 1; to < LEVEL_LEAST && to + SHORT_APART <= t->n; to++) {
		double gap = gap_at(t, p, to), mean_gap = gap_at(t, LEVEL_MEAN, to);

		if (t->s->ios[t->interval[to - 1]] * (1 - run_over_time.p[p].q) < SHORT_IOS)
			break;
		if (gap * mean_gap > 0 && fabs(gap) >= step && fabs(mean_gap) >= mean_step)
			return to;
	}
	return 0;
}

void trace_add_short(struct trace *t)
{
	double mean_step, step;

	trace_set(t, LEVEL_MEAN);
	mean_step = fmax(log(FACTOR), SHORT_MEAN_NOISE * scatter_of(t));
	for (u32 p = 0; p < PERCENTILES_OVER_TIME; p++) {
		u32 start;

		trace_set(t, p);
		step = fmax(SHORT * log(STEP(p)), SHORT_NOISE * scatter_of(t));
		start = t->backed[p] && t->n_cuts < LEVEL_CUTS_MAX ? end_of_start(t, p, step, mean_step) : 0;
		if (start && !near_a_cut(t, t->n_cuts, start, start, false) &&
		    !run_has_mark_at(t->q->run, t->q->run->start_s[t->interval[start]]))
			t->cuts[t->n_cuts++] = start;
		for (u32 i = SHORT_EDGE; t->backed[p] && i < t->n && t->n_cuts + 2 <= LEVEL_CUTS_MAX; i++) {
			u32 to = end_of_short(t, p, step, mean_step, i);

			if (to <= i || near_a_cut(t, t->n_cuts, i, to, false) ||
			    run_has_mark_at(t->q->run, t->q->run->start_s[t->interval[i]]))
				continue;
			for (struct span *r = t->ramps; r < t->ramps + t->n_ramps; r++)
				r->to = r->from < i && r->to > i ? i : r->to;
			t->cuts[t->n_cuts++] = i;
			if (to == t->n)
				continue;
			t->cuts[t->n_cuts++] = to;
			t->shorts[t->n_shorts++] = i;
		}
	}
	qsort(t->cuts, t->n_cuts, sizeof(*t->cuts), compare_u32);
}

struct level rates_of(const struct trace *t, const struct series_run *s, struct span in)
{
	double ios = 0, bytes = 0, sum_ns = 0, time = 0;

	for (u32 i = in.from; s->ios && i < in.to; i++) {
		u32 at = t->interval[i];

		ios += s->ios[at];
		bytes += s->bytes[at];
		sum_ns += s->sum_ns[at];
		time += t->q->run->length_s[at];
	}
	if (!(ios > 0))
		return (struct level){ 0 };
	return (struct level){ .iops = ios / time, .bytes_per_s = bytes / time, .mean_ns = fmax(sum_ns / ios, 1) };
}

struct level figures_of(const struct trace *t, const struct series_run *s, struct span in)
{
	struct level l = rates_of(t, s, in);
	double time = 0;

	for (u32 i = in.from; i < in.to; i++) {
		time += t->q->run->length_s[t->interval[i]];
		l.queue_depth += t->q->watch->queue_depth[t->interval[i]] * t->q->run->length_s[t->interval[i]];
	}
	l.queue_depth /= time;
	for (u32 p = 0; l.iops > 0 && p < PERCENTILES_OVER_TIME; p++) {
		u32 n = 0;

		for (u32 i = in.from; i < in.to; i++)
			if (s->ios[t->interval[i]])
				t->room[n++] = (struct weighted){ percentiles_run_ns(&s->percentiles, t->interval[i], p), s->ios[t->interval[i]] };
		l.ns[p] = fmax(weighted_median(t->room, n), 1);
	}
	return l;
}

struct span fifth_of(struct span in, u32 i)
{
	u32 n = in.to - in.from;

	return (struct span){ in.from + i * n / FIFTHS, in.from + (i + 1) * n / FIFTHS };
}

struct span trace_span(const struct trace *t, u32 level)
{
	u32 begin = level ? t->cuts[level - 1] : 0;
	struct span s = { begin, level < t->n_cuts ? t->cuts[level] : t->n };

	if (level)	/* between two ramps there may be none but for their ends */
		s.from = min_u64(trace_end_of(t, begin), max_u64(s.to, begin + LEVEL_LEAST) - LEVEL_LEAST);
	if (s.to - s.from > LEVEL_LEAST) {
		s.from += level > 0;
		s.to -= level < t->n_cuts;
	}
	return s;
}

double moment_of(const struct trace *t, const u64 *counts, u32 cut, double before, double after)
{
	const struct run *r = t->q->run;
	u32 a = t->interval[cut - 1], b = t->interval[cut];
	double least = fmin(before, after), most = fmax(before, after), at_first = 0;

	/* What a load makes up for in one of them says nothing of the other. */
	for (u32 i = a; i <= b; i++)
		at_first += (fmin(fmax(run_iops(r, counts, i), least), most) - after) * r->length_s[i];
	/* After a rest, it came with the load. What is nearly all there in the first interval began with it. */
	return b > a + 1 || before == after || (!counts[a] && run_iops(r, counts, b) >= ALL * after)
		       ? r->start_s[b]
		       : r->start_s[a] + at_first / (before - after);
}
