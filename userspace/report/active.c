// SPDX-License-Identifier: GPL-2.0-only
#include "report/active.h"

#include <math.h>
#include <stdio.h>

#include "report/run.h"
#include "util/units.h"

#define ROUNDING 1e-9	/* a smaller difference, relative to what is compared, is a rounding error */

/* The thresholds that tell load from rest. */
struct load {
	u64 least_ios;		/* IOs that a watch must have to count */
	double least_iops;	/* of an interval */
};

/* IOPS or, if @depth, the mean number in flight: of @of, or if it is NULL, of all wholes together. */
static double amount_in(const struct run *r, const struct watch_run *of, u32 i, bool depth)
{
	double sum = 0;

	if (of)
		return depth ? of->queue_depth[i] : watch_run_ios_in(of, i) / r->length_s[i];
	run_for_each_whole(w, r)
		sum += amount_in(r, w, i, depth);
	return sum;
}

static struct load load_of(const struct run *r)
{
	double ios = 0, time = 0;

	for (u32 i = 0; i < r->n; i++) {
		double iops = amount_in(r, NULL, i, false);

		ios += iops * r->length_s[i];
		time += iops > 0 ? r->length_s[i] : 0;
	}
	return (struct load){ ios * ACTIVE_SHARE, time > 0 ? ios / time * ACTIVE_SHARE : 0 };
}

/* The age of the oldest IO in flight as interval @i ends, in ns; 0 if there is none. */
static u64 oldest_after(const struct run *r, const struct load *load, u32 i)
{
	u64 oldest_ns = 0;

	run_for_each_whole(w, r) {
		/* An IO whose end was missed seems to be in flight for ever. */
		if (w->in_flight[i] && !accounting_ends_missed(&w->total->accounting) &&
		    watch_run_ios(w) >= load->least_ios)
			oldest_ns = w->oldest_ns[i] > oldest_ns ? w->oldest_ns[i] : oldest_ns ?: 1;
	}
	return oldest_ns;
}

static bool is_active(const struct run *r, const struct load *load, u32 i)
{
	double iops = amount_in(r, NULL, i, false);

	return (iops > 0 && iops >= load->least_iops) || oldest_after(r, load, i);
}

/* What an op did in interval @i: the number of its IOs, or the time that they took. */
static double done_in(const struct series_run *s, u32 i, bool by_time)
{
	return !s->ios ? 0 : by_time ? s->sum_ns[i] : s->ios[i];
}

/*
 * How much of interval @i was load, in s, if each op of each device did as much in a second as it did in interval
 * @beside; at most all of the interval. The mean, weighted by what each did.
 */
static double as_beside(const struct run *r, u32 i, u32 beside, bool by_time)
{
	double all = 0, time = 0;

	run_for_each_whole(w, r) {
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			double done = done_in(&w->ops[op], i, by_time);
			double per_s = done_in(&w->ops[op], beside, by_time) / r->length_s[beside];

			all += done;
			time += done * (per_s > 0 ? fmin(done / per_s, r->length_s[i]) : r->length_s[i]);
		}
	}
	return all > 0 ? time / all : 0;
}

double depth_scatter(const struct run *r, const struct watch_run *w, u32 first, u32 end)
{
	double depths = 0, rates = 0;

	for (u32 i = first + 1; i < end; i++) {
		double depth = log(amount_in(r, w, i, true) / amount_in(r, w, i - 1, true));
		double rate = log(amount_in(r, w, i, false) / amount_in(r, w, i - 1, false));

		depths += isfinite(depth + rate) ? depth * depth : 0;
		rates += isfinite(depth + rate) ? rate * rate : 0;
	}
	return depths / rates;
}

/* How much of interval @i, at an end of a window, IOs span, in s; @beside: its neighbour in the window. */
static double spanned_s(const struct run *r, const struct load *load, u32 i, u32 beside, bool by_time)
{
	double s = fmax(as_beside(r, i, beside, by_time), oldest_after(r, load, i) / 1e9);

	return s < r->length_s[i] * (1 - ROUNDING) ? s : r->length_s[i];
}

/*
 * Chooses @n intervals from @first on. At either end, @estimate says whether only a part of the interval there may
 * count. An IO that is in flight where the window begins or ends shows that there was load up to that point.
 */
static struct active_window window_of(const struct run *r, const struct load *load, u32 first, u32 n,
				      const bool estimate[2])
{
	struct active_window w = { .first = first, .n = n };
	bool known = n > 1 && load->least_iops > 0;	/* there is an interval to compare with, and IO */
	u32 last = first + n - 1;
	bool by_time;
	double s;

	if (!n)
		return w;
	w.from_s = r->start_s[first];
	w.to_s = run_end_of(r, last);
	/* A load that keeps a number of IOs in flight is told by their time, one of a given rate by their number. */
	by_time = depth_scatter(r, NULL, first + 1, first + n - 1) < 1;
	if (known && estimate[0] && !(first && oldest_after(r, load, first - 1))) {
		s = spanned_s(r, load, first, first + 1, by_time);
		w.left_out += s < r->length_s[first];
		w.from_s += r->length_s[first] - s;
	}
	if (known && estimate[1] && !oldest_after(r, load, last)) {
		s = spanned_s(r, load, last, last - 1, by_time);
		w.left_out += s < r->length_s[last];
		w.to_s -= r->length_s[last] - s;
	}
	return w;
}

void active_windows_set(struct run *r)
{
	const struct load load = load_of(r);
	u32 first = 0, end = r->n;

	while (load.least_iops && !r->asked.from && first < end && !is_active(r, &load, first))
		first++;
	while (load.least_iops && !r->asked.to && end > first && !is_active(r, &load, end - 1))
		end--;
	r->active = window_of(r, &load, first, end - first, (bool[]){ !r->asked.from, !r->asked.to });
	for (u32 i = 0; i < r->phases.n; i++) {
		struct phase *p = &r->phases.p[i];

		p->active = window_of(r, &load, p->first, p->n, (bool[]){ !p->partial, !p->partial });
		if (p->n)
			p->length_s -= run_end_of(r, p->first + p->n - 1) - p->active.to_s + p->active.from_s -
				       r->start_s[p->first];
	}
}

const char *active_words(char ret[ACTIVE_TEXT], const char *lead, const struct run *r)
{
	bool asked = r->asked.from || r->asked.to, any = asked;

	run_for_each_whole(w, r)
		any |= watch_run_ios(w) > 0;
	snprintf(ret, ACTIVE_TEXT, any ? "%srates over %s to %s, %s" : "", lead, UNITS(seconds, r->active.from_s),
		 UNITS(seconds, r->active.to_s), asked ? "as asked" : "the active window");
	return ret;
}

u64 active_sum(const struct run *r, const u64 *of)
{
	u64 sum = 0;

	for (u32 i = r->active.first; of && i < r->active.first + r->active.n; i++)
		sum += of[i];
	return sum;
}

double active_time(const struct run *r, const struct watch_run *w)
{
	double time = 0;

	for (u32 i = max_u64(r->active.first, w->first_there); i < r->active.first + r->active.n && i < w->n_there; i++)
		time += fmin(run_end_of(r, i), r->active.to_s) - fmax(r->start_s[i], r->active.from_s);
	return time;
}
