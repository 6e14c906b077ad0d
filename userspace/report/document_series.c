// SPDX-License-Identifier: GPL-2.0-only
/* The part of the report's document about one op of one device. */
#include <math.h>

#include "core/json_parts.h"
#include "report/active.h"
#include "report/document.h"
#include "util/json.h"

static struct json_object *maximum_at(const void *of, u32 i)
{
	const struct series_run *s = *(const struct series_run *const *)of;

	return s->ios[i] ? json_count(s->max_ns[i]) : NULL;
}

/* The total time of the IOs that ended in the interval. */
static struct json_object *time_at(const void *of, u32 i)
{
	u64 ns = (*(const struct series_run *const *)of)->sum_ns[i];

	return ns ? json_decimal(ns / 1e9, 6) : json_count(0);
}

struct percentile_over_time {
	const struct percentiles_run *ps;
	u32 which;
};

static struct json_object *percentile_at(const void *of, u32 i)
{
	const struct percentile_over_time *p = of;
	double ns = percentiles_run_ns(p->ps, i, p->which);

	return ns < 0 ? NULL : json_decimal(ns, 0);
}

struct json_object *document_percentiles(const struct run *r, const struct percentiles_run *ps)
{
	struct json_object *to = json_new_object();

	for (u32 p = 0; p < run_over_time.n; p++) {
		const struct percentile_over_time of = { ps, p };

		json_add(to, run_over_time.p[p].name, json_values_later(r->n, percentile_at, &of, sizeof(of)));
	}
	return to;
}

/* With enough digits that rounding them to the three shown gives the same as rounding the exact figure. */
static struct json_object *iops(double value)
{
	return json_decimal(value, value < 1000 ? 4 : 1);
}

static struct json_object *add_consistency(struct json_object *to, const struct consistency *c)
{
	bool known = c->worst >= 0;

	return JSON_ADD(to, { "iops_deviation", iops(c->deviation) }, { "iops_worst", known ? iops(c->worst) : NULL },
			{ "iops_worst_at_s", known ? json_decimal(c->worst_at_s, 6) : NULL },
			{ "intervals_at_0", json_count(c->intervals_at_0) });
}

void document_total(struct json_object *to, const struct run *r, const struct watch_run *w, u32 op)
{
	const struct op_frame *o = w->ops[op].total;
	double time = active_time(r, w);
	const struct steady_window active = steady_window_active(r);
	const struct consistency c = consistency_of(r, w, op, &active);

	JSON_ADD(to, { "ios", json_count(o->ios) }, { "bytes", json_count(o->bytes) },
		 { "errors", json_count(o->errors) }, { "iops", iops(o->iops) },
		 { "bytes_per_s", json_decimal(o->bytes_per_s, 0) }, { "time_s", json_decimal(o->sum_ns / 1e9, 9) },
		 { "queue_depth", time > 0 ? json_decimal(active_sum(r, w->ops[op].sum_ns) / 1e9 / time, 3) : NULL },
		 { "latency_ns", json_latencies(o, &run_of_total) },
		 { "shares", json_shares(&r->total, w - r->watches, op) });
	add_consistency(to, &c);
}

static struct json_object *steady(const struct run *r, const struct watch_run *w, u32 op,
				  const struct steady_window *window)
{
	const struct consistency c = consistency_of(r, w, op, window);
	const struct steady_state state = steady_state_of(r, w, op, window);

	return !window->n ? NULL :
	       add_consistency(JSON({ "from_s", json_decimal(window->from_s, 3) },
				    { "to_s", json_decimal(window->to_s, 3) }, { "rule", json_text(window->rule) },
				    { "reached", state.known ? json_bool(state.reached) : NULL },
				    { "iops_mean", iops(c.mean) }), &c);
}

static struct json_object *after_idle(const struct op_frame *o)
{
	if (!o->after_idle_ios)
		return NULL;
	return JSON({ "ios", json_count(o->after_idle_ios) },
		    { "mean_ns", json_decimal((double)o->after_idle_sum_ns / o->after_idle_ios, 1) },
		    { "bins", json_bins(&o->after_idle) });
}

/* Rows with IOs and their counts: [row, count, row, count, ...]. Row 0 includes the cell below the grid. */
static struct json_object *heat_column_at(const void *of, u32 i)
{
	const struct hist h = heat_column(*(const struct heat *const *)of, i);
	struct json_object *to = json_new_array(0);
	u32 first, last;

	if (!hist_range(&h, &first, &last))
		return to;
	for (u32 cell = first ? first : 1; cell == 1 || cell <= last; cell++) {
		u64 ios = h.cells[cell] + (cell == 1 ? h.cells[0] : 0);

		if (!ios)
			continue;
		json_append(to, json_count(cell - 1));
		json_append(to, json_count(ios));
	}
	return to;
}

struct heat_of {
	const struct run *r;
	const struct series_run *s;
};

/* The total time of a column's IOs. */
static struct json_object *heat_time_at(const void *of, u32 i)
{
	const struct heat_of *h = of;
	u32 per = h->s->heat.per_column;
	u64 ns = 0;

	for (u32 k = i * per; k < (i + 1) * per && k < h->r->n; k++)
		ns += h->s->sum_ns[k];
	return ns ? json_decimal(ns / 1e9, 9) : json_count(0);
}

static struct json_object *heat(const struct run *r, const struct series_run *s)
{
	const struct heat *h = &s->heat;
	const struct heat_of of = { r, s };

	return JSON({ "per_column", json_count(h->per_column) }, { "scale", json_count(h->scale) },
		    { "first_ns", json_decimal(1e9 * 0x1p-26, 6) },
		    { "columns", json_values_later(h->n, heat_column_at, &h, sizeof(h)) },
		    { "time_s", json_values_later(h->n, heat_time_at, &of, sizeof(of)) });
}

struct moving {
	const struct run *r;
	const struct watch_run *w;
	u32 op;
	struct steady_window active;
	bool deviation;		/* else mean */
};

static struct json_object *moving_at(const void *of, u32 i)
{
	const struct moving *m = of;
	struct consistency c;

	if (!consistency_around(m->r, m->w, m->op, &m->active, i, &c))
		return NULL;
	return json_decimal(m->deviation ? c.deviation : c.mean, c.mean < 1000 ? 4 : 1);
}

static struct json_object *moving(const struct run *r, const struct watch_run *w, u32 op)
{
	struct moving mean = { .r = r, .w = w, .op = op, .active = steady_window_active(r) }, deviation = mean;

	deviation.deviation = true;
	return JSON({ "mean", json_values_later(r->n, moving_at, &mean, sizeof(mean)) },
		    { "deviation", json_values_later(r->n, moving_at, &deviation, sizeof(deviation)) });
}

struct json_object *document_series(const struct run *r, const struct watch_run *w, u32 op,
				    const struct steady_window *window)
{
	const struct series_run *s = &w->ops[op];
	bool part = w->watch->part;
	struct json_object *total, *to;

	if (!s->total->ios)
		return json_absent;
	total = json_new_object();
	document_total(total, r, w, op);
	to = JSON({ "op", json_text(op_names[op]) }, { "ios", json_counts(s->ios, r->n) },
		  { "bytes", json_counts(s->bytes, r->n) },
		  { "errors", s->total->errors ? json_counts(s->errors, r->n) : json_absent },
		  { "max_ns", json_values_later(r->n, maximum_at, &s, sizeof(s)) },
		  { "percentiles_ns", document_percentiles(r, &s->percentiles) }, { "total", total },
		  { "iops_moving", part ? json_absent : moving(r, w, op) },
		  { "steady", part ? json_absent : steady(r, w, op, window) }, { "bins", json_bins(&s->total->hist) },
		  { "after_idle", after_idle(s->total) },
		  { "time_s", part ? json_values_later(r->n, time_at, &s, sizeof(s)) : json_absent },
		  { "heat", heat(r, s) });
	if (part)
		document_of_part(to, r, w, op);
	return to;
}
