// SPDX-License-Identifier: GPL-2.0-only
#include "report/active.h"

static u64 ios_in(const struct watch_run *w, u32 i)
{
	u64 ios = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		ios += w->ops[op].ios ? w->ops[op].ios[i] : 0;
	return ios;
}

/* The thresholds that tell load from rest. */
struct load {
	u64 least_ios;		/* IOs that a watch must have to count */
	double least_iops;	/* of an interval */
};

static double iops_in(const struct run *r, u32 i)
{
	u64 ios = 0;

	for (u32 w = 0; w < r->n_watches; w += 1 + run_parts(r, w))
		ios += ios_in(&r->watches[w], i);
	return ios / r->length_s[i];
}

static struct load load_of(const struct run *r)
{
	double ios = 0, time = 0;

	for (u32 i = 0; i < r->n; i++) {
		double iops = iops_in(r, i);

		ios += iops * r->length_s[i];
		time += iops > 0 ? r->length_s[i] : 0;
	}
	return (struct load){ ios * ACTIVE_SHARE, time > 0 ? ios / time * ACTIVE_SHARE : 0 };
}

static bool is_active(const struct run *r, const struct load *load, u32 i)
{
	double iops = iops_in(r, i);

	if (iops > 0 && iops >= load->least_iops)
		return true;
	for (u32 at = 0; at < r->n_watches; at += 1 + run_parts(r, at)) {
		const struct watch_run *w = &r->watches[at];

		/* An IO whose end was missed seems to be in flight for ever. */
		if (w->in_flight[i] && !accounting_ends_missed(&w->total->accounting) && watch_run_ios(w) >= load->least_ios)
			return true;
	}
	return false;
}

struct active_window active_window_of(const struct run *r)
{
	const struct load load = load_of(r);
	u32 first = 0, end = r->n, edges = !r->asked.from + !r->asked.to;
	struct active_window w = { 0 };

	while (load.least_iops && !r->asked.from && first < end && !is_active(r, &load, first))
		first++;
	while (load.least_iops && !r->asked.to && end > first && !is_active(r, &load, end - 1))
		end--;
	if (load.least_iops && end - first >= ACTIVE_LEAST + edges) {
		w.left_out = edges;
		first += !r->asked.from;
		end -= !r->asked.to;
	}
	w.first = first;
	w.n = end - first;
	if (w.n) {
		w.from_s = r->start_s[first];
		w.to_s = run_end_of(r, end - 1);
	}
	return w;
}

const char *active_words(const struct run *r)
{
	return r->asked.from || r->asked.to ? "as asked" : "the active window";
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

	for (u32 i = r->active.first; i < r->active.first + r->active.n && i < w->n_there; i++)
		time += r->length_s[i];
	return time;
}
