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

	return s->ios[i] ? json_new_count(s->max_ns[i]) : NULL;
}

/* The total time of the IOs that ended in the interval. */
static struct json_object *time_at(const void *of, u32 i)
{
	u64 ns = (*(const struct series_run *const *)of)->sum_ns[i];

	return ns ? json_decimal(ns / 1e9, 6) : json_new_count(0);
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
static void add_iops(struct json_object *to, const char *key, double iops)
{
	json_add_decimal(to, key, iops, iops < 1000 ? 4 : 1);
}

static void add_consistency(struct json_object *to, const struct consistency *c)
{
	add_iops(to, "iops_deviation", c->deviation);
	add_iops(to, "iops_worst", c->worst < 0 ? NAN : c->worst);
	json_add_decimal(to, "iops_worst_at_s", c->worst < 0 ? NAN : c->worst_at_s, 6);
	json_add_count(to, "intervals_at_0", c->intervals_at_0);
}

void document_total(struct json_object *to, const struct run *r, const struct watch_run *w, u32 op)
{
	const struct op_frame *o = w->ops[op].total;
	double time = active_time(r, w);
	struct steady_window active;
	struct consistency c;

	steady_window_active(r, &active);
	consistency_of(r, w->ops[op].ios, &active, &c);
	json_add_count(to, "ios", o->ios);
	json_add_count(to, "bytes", o->bytes);
	json_add_count(to, "errors", o->errors);
	add_iops(to, "iops", o->iops);
	json_add_decimal(to, "bytes_per_s", o->bytes_per_s, 0);
	json_add_decimal(to, "time_s", o->sum_ns / 1e9, 9);
	json_add_decimal(to, "queue_depth", time > 0 ? active_sum(r, w->ops[op].sum_ns) / 1e9 / time : NAN, 3);
	json_add(to, "latency_ns", json_latencies(o, &run_of_total));
	add_consistency(to, &c);
}

static struct json_object *steady(const struct run *r, const struct watch_run *w, u32 op, const struct steady_window *window)
{
	struct json_object *to;
	struct steady_state state;
	struct consistency c;

	if (!window->n)
		return NULL;
	to = json_new_object();
	consistency_of(r, w->ops[op].ios, window, &c);
	steady_state_of(r, w, op, window, &state);
	json_add_decimal(to, "from_s", window->from_s, 3);
	json_add_decimal(to, "to_s", window->to_s, 3);
	json_add(to, "rule", json_new_text(window->rule));
	json_add(to, "reached", state.known ? json_new_boolean(state.reached) : NULL);
	add_iops(to, "iops_mean", c.mean);
	add_consistency(to, &c);
	return to;
}

static struct json_object *after_idle(const struct op_frame *o)
{
	struct json_object *to;

	if (!o->after_idle_ios)
		return NULL;
	to = json_new_object();
	json_add_count(to, "ios", o->after_idle_ios);
	json_add_decimal(to, "mean_ns", (double)o->after_idle_sum_ns / o->after_idle_ios, 1);
	json_add(to, "bins", json_bins(&o->after_idle));
	return to;
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
		json_append(to, json_new_int(cell - 1));
		json_append(to, json_new_count(ios));
	}
	return to;
}

static struct json_object *heat(const struct heat *h)
{
	struct json_object *to = json_new_object();

	json_add_count(to, "per_column", h->per_column);
	json_add_count(to, "scale", h->scale);
	json_add_decimal(to, "first_ns", 1e9 * 0x1p-26, 6);
	json_add(to, "columns", json_values_later(h->n, heat_column_at, &h, sizeof(h)));
	return to;
}

struct moving {
	const struct run *r;
	const u64 *ios;
	struct steady_window active;
	bool deviation;		/* else mean */
};

static struct json_object *moving_at(const void *of, u32 i)
{
	const struct moving *m = of;
	struct consistency c;

	if (!consistency_around(m->r, m->ios, &m->active, i, &c))
		return NULL;
	return json_decimal(m->deviation ? c.deviation : c.mean, c.mean < 1000 ? 4 : 1);
}

static struct json_object *moving(const struct run *r, const struct series_run *s)
{
	struct json_object *to = json_new_object();
	struct moving of = { .r = r, .ios = s->ios };

	steady_window_active(r, &of.active);
	json_add(to, "mean", json_values_later(r->n, moving_at, &of, sizeof(of)));
	of.deviation = true;
	json_add(to, "deviation", json_values_later(r->n, moving_at, &of, sizeof(of)));
	return to;
}

struct json_object *document_series(const struct run *r, const struct watch_run *w, u32 op, const struct steady_window *window)
{
	const struct series_run *s = &w->ops[op];
	struct json_object *to = json_new_object(), *total = json_new_object();

	document_total(total, r, w, op);
	json_add(to, "op", json_new_text(op_names[op]));
	json_add(to, "ios", json_counts(s->ios, r->n));
	json_add(to, "bytes", json_counts(s->bytes, r->n));
	json_add(to, "max_ns", json_values_later(r->n, maximum_at, &s, sizeof(s)));
	json_add(to, "percentiles_ns", document_percentiles(r, &s->percentiles));
	json_add(to, "total", total);
	if (!w->watch->part) {
		json_add(to, "iops_moving", moving(r, s));
		json_add(to, "steady", steady(r, w, op, window));
	}
	json_add(to, "bins", json_bins(&s->total->hist));
	json_add(to, "after_idle", after_idle(s->total));
	if (w->watch->part) {
		json_add(to, "time_s", json_values_later(r->n, time_at, &s, sizeof(s)));
		document_of_part(to, r, w, op);
	} else {
		json_add(to, "heat", heat(&s->heat));
	}
	return to;
}
