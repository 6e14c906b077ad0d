// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>

#include "report/steady.h"

#define BURSTS_LEAST 5
#define IOS_LEAST 100		/* of a burst, on average */
#define LOW 0.01		/* an interval below this share of the mean rate is a pause */
#define DEVIATION 0.25		/* limit of the standard deviation of the periods, over their mean */
/*
 * an end of a burst with this share of the other's rate is all busy; so are all bursts if this share of their
 * intervals is
 */
#define ALL_BUSY 0.9
#define SHARE_MOST 0.95		/* a load with fewer pauses is none with a duty cycle */

/* Else there is nothing to do, as far as can be told: no IO was in flight at either end. */
static bool is_busy(const struct duty *d, const struct run *r, const struct watch_run *w, s64 i)
{
	return i >= d->first && i < d->end && (watch_run_ios_in(w, i) >= d->low_iops * r->length_s[i] ||
					       w->in_flight[i] || (i && w->in_flight[i - 1]));
}

/* Of a burst the load may have begun within the first interval and ended within the last. */
static bool is_end(const struct duty *d, const struct run *r, const struct watch_run *w, u32 i)
{
	return !is_busy(d, r, w, (s64)i - 1) || !is_busy(d, r, w, (s64)i + 1);
}

static double rate(const struct run *r, const struct watch_run *w, u32 i)
{
	return watch_run_ios_in(w, i) / r->length_s[i];
}

bool duty_leaves_out(const struct duty *d, const struct run *r, const struct watch_run *w, u32 i)
{
	double most = 0;

	if (!d->bursts || !is_busy(d, r, w, i))
		return d->bursts;
	/* Without intervals in between, an end far below the other one. */
	if (!d->has_inner && is_busy(d, r, w, (s64)i - 1))
		most = rate(r, w, i - 1);
	if (!d->has_inner && is_busy(d, r, w, i + 1))
		most = fmax(most, rate(r, w, i + 1));
	return is_end(d, r, w, i) && (d->has_inner || rate(r, w, i) < ALL_BUSY * most);
}

static bool has_inner(const struct duty *d, const struct run *r, const struct watch_run *w)
{
	u32 inner = 0;

	for (u32 i = d->first; i < d->end; i++)
		inner += is_busy(d, r, w, i) && !is_end(d, r, w, i);
	return inner >= BURSTS_LEAST;
}

/* The rate of the intervals that are not left out; it may be more if these may be ends of bursts as well. */
static void set_busy_iops(struct duty *d, const struct run *r, const struct watch_run *w)
{
	double ios = 0, time = 0;
	u32 n = 0, busy = 0;

	for (u32 i = d->first; i < d->end; i++) {
		busy += is_busy(d, r, w, i);
		if (duty_leaves_out(d, r, w, i))
			continue;
		ios += watch_run_ios_in(w, i);
		time += r->length_s[i];
		n++;
	}
	d->busy_iops = time > 0 ? ios / time : 0;
	d->at_least = !d->has_inner && (n < ALL_BUSY * busy || busy < 2 * ALL_BUSY * d->bursts);
}

struct duty duty_of(const struct run *r, const struct watch_run *w)
{
	struct duty d = { .first = r->active.first, .end = r->active.first + r->active.n };
	double all = 0, ios = 0, last_s = 0, squares = 0, pause_s = 0, rest_s = 0, n;

	for (u32 i = d.first; i < d.end; i++)
		all += watch_run_ios_in(w, i);
	d.low_iops = LOW * all / (r->active.to_s - r->active.from_s);
	for (u32 i = d.first; i < d.end; i++) {
		if (is_busy(&d, r, w, i) && !is_busy(&d, r, w, (s64)i - 1)) {
			if (!d.bursts++)
				d.from_s = last_s = r->start_s[i];
			squares += pow(r->start_s[i] - last_s, 2);
			last_s = r->start_s[i];
			d.overall_iops = ios / (last_s - d.from_s);
		}
		pause_s = is_busy(&d, r, w, i) ? 0 : pause_s + r->length_s[i];
		rest_s += d.bursts && is_busy(&d, r, w, i + 1LL) ? pause_s : 0;
		ios += watch_run_ios_in(w, i);
	}
	if (all < IOS_LEAST * d.bursts)
		return (struct duty){ 0 };
	n = d.bursts - 1;
	d.period_s = (last_s - d.from_s) / n;
	d.has_inner = has_inner(&d, r, w);
	set_busy_iops(&d, r, w);
	if (d.bursts < BURSTS_LEAST) {
		all /= r->active.to_s - r->active.from_s;
		return (struct duty){ .few = d.has_inner && all <= SHARE_MOST * d.busy_iops ? d.bursts : 0, .from_s = d.from_s,
				      .rest_s = rest_s, .busy_iops = d.busy_iops, .overall_iops = all };
	}
	d.share = d.overall_iops / d.busy_iops;
	if (sqrt(fmax(squares / n - d.period_s * d.period_s, 0)) > DEVIATION * d.period_s || !(d.share <= SHARE_MOST))
		return (struct duty){ 0 };
	return d;
}
