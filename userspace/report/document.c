// SPDX-License-Identifier: GPL-2.0-only
#include "report/document.h"

#include <math.h>

#include "core/json_parts.h"
#include "report/comparison.h"
#include "report/findings.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/units.h"

/* --- the phases --- */

static struct json_object *op_figures(const struct run *r, const struct watch_run *w, u32 op)
{
	struct json_object *to;

	if (!w->total->ops[op].ios)
		return json_absent;
	to = JSON({ "op", json_text(op_names[op]) });
	document_total(to, r, w, op);
	return JSON_ADD(to, { "bins", json_bins(&w->total->ops[op].hist) });
}

static struct json_object *watch_figures(const struct run *r, const struct watch_run *w)
{
	return !frame_has_ios(w->total) ? json_absent : JSON({ "device", json_text(w->watch->device->name) },
		    { "stage", json_text(stage_names[w->watch->stage]) }, { "part", json_part(w->watch->part) },
		    { "queue_depth", json_decimal(w->total->queue_depth, 3) },
		    { "busy", w->total->busy_known ? json_decimal(w->total->busy, 6) : json_absent },
		    { "ops", JSON_LIST(op, BLKLAT_OPS, op_figures(r, w, op)) });
}

/* The figures of watches with IO; none if the phase has no figures. */
static struct json_object *phase_watches(const struct run *r, const struct phase *p)
{
	struct json_object *to;
	struct run part;

	if (!p->n)
		return json_new_array(0);
	if (phase_run_make(r, p, &part))
		return json_lacks_memory();
	to = JSON_LIST(i, part.n_watches, watch_figures(&part, &part.watches[i]));
	phase_run_free(&part);
	return to;
}

static struct json_object *phase(const struct run *r, const struct phase *p)
{
	return JSON({ "name", json_text(p->name) }, { "from_s", json_decimal(p->from_s, 3) },
		    { "to_s", json_decimal(p->to_s, 3) }, { "intervals", json_count(p->n) },
		    { "length_s", json_decimal(p->length_s, 6) }, { "partial", json_bool(p->partial) },
		    { "watches", phase_watches(r, p) });
}

/* --- the slow IOs of one device and stage --- */

static struct json_object *slow_at(const void *of, u32 i)
{
	const struct slow_io *io = &(*(const struct slow_io *const *)of)[i];

	return JSON_ADD(json_slow(io), { "t_s", json_decimal(io->told.end_ns / 1e9, 6) });
}

static struct json_object *common(const struct slow_common *c)
{
	return JSON({ "by", json_text(c->by) }, { "value", json_text(c->value) }, { "ios", json_count(c->ios) },
		    { "of", json_count(c->of) },
		    { "share_of_all", c->share_of_all < 0 ? NULL : json_decimal(c->share_of_all, 6) },
		    { "p", c->p < 0 ? NULL : json_double(c->p) });
}

static struct json_object *all_common(const struct run *r, u32 watch)
{
	struct slow_common all[SLOW_COMMON_MAX];
	int n = slow_common_of(r, watch, all);

	return n < 0 ? json_lacks_memory() : JSON_LIST(i, (u32)n, common(&all[i]));
}

/* The document's part about the slow IOs of one watch; absent if the run did not look for them. */
static struct json_object *document_slow(const struct run *r, const struct watch_run *w)
{
	u32 watch = w - r->watches;
	const struct slow_of *of = &r->slow.of[watch];
	const struct slow_io *all;

	if (w->watch->part || !r->slow.most)
		return json_absent;
	all = &r->slow.io[of->first];
	return JSON({ "found", json_count(of->found) }, { "common", all_common(r, watch) },
		    { "ios", json_values_later(of->n, slow_at, &all, sizeof(all)) });
}

struct json_object *document_active(const struct run *r)
{
	return JSON({ "from_s", json_decimal(r->active.from_s, 6) }, { "to_s", json_decimal(r->active.to_s, 6) },
		    { "left_out", json_count(r->active.left_out) },
		    { "asked", json_bool(r->asked.from || r->asked.to) });
}

static struct json_object *mark(const struct run *r, const struct mark *m)
{
	double at_s = mark_s(&r->origin, m);

	if ((r->asked.from && at_s < r->asked.from_s) || (r->asked.to && at_s > r->asked.to_s))
		return json_absent;
	return JSON({ "t_s", json_decimal(at_s, 3) }, { "text", json_text(m->text) });
}

static struct json_object *watch(const struct run *r, const struct watch_run *w, const struct steady_window *steady)
{
	const struct steady_window there = steady_window_there(r, w, &(const struct steady_window){ .n = r->n });
	const struct part *part = w->watch->part;

	return JSON({ "device", json_text(w->watch->device->name) },
		    { "stage", json_text(stage_names[w->watch->stage]) }, { "part", json_part(part) },
		    { "all_ops", part ? document_all_ops(r, w) : json_absent }, { "gone", json_bool(w->gone) },
		    { "there_from_s", json_decimal(there.from_s, 6) }, { "there_to_s", json_decimal(there.to_s, 6) },
		    { "queue_depth", json_decimals(w->queue_depth, r->n, 3) },
		    { "busy", w->total->busy_known ? json_decimals(w->busy, r->n, 6) : json_absent },
		    { "busy_mean", w->total->busy_known ? json_decimal(w->total->busy, 6) : json_absent },
		    { "in_flight", json_counts(w->in_flight, r->n) }, { "oldest_ns", json_counts(w->oldest_ns, r->n) },
		    { "accounting", part ? json_absent : json_accounting(&w->account) },
		    { "slow", document_slow(r, w) }, { "partial", json_partial(w->total) },
		    { "ops", JSON_LIST(op, BLKLAT_OPS, document_series(r, w, op, steady)) });
}

/* Mean number of IOs in flight while the device was there. */
static void add_queue_depth(struct json_object *to, const struct watch_run *w)
{
	json_add(to, w->watch->device->name, json_decimal(w->total->queue_depth, 3));
}

static struct json_object *overhead(const struct stack_op *o)
{
	struct json_object *to = JSON({ "mean", json_decimal(o->overhead_mean_ns, 1) });

	for (u32 i = 0; i < run_over_time.n; i++)
		json_add(to, run_over_time.p[i].name, json_decimal(o->overhead_ns[i], 1));
	return to;
}

static struct json_object *stack_op(const struct stack_op *o, u32 op)
{
	return !o->upper_ios || !o->member_ios ? json_absent :
	       JSON({ "op", json_text(op_names[op]) }, { "overhead_ns", overhead(o) },
		    { "upper_ios", json_count(o->upper_ios) }, { "member_ios", json_count(o->member_ios) });
}

static struct json_object *stack(const struct stack *s)
{
	struct json_object *depths = json_new_object();
	const struct watch *upper = s->upper->watch;

	add_queue_depth(depths, s->upper);
	for (u32 i = 0; i < s->n_members; i++)
		add_queue_depth(depths, s->members[i]);
	return JSON({ "upper", json_text(upper->device->name) },
		    { "upper_stage", json_text(stage_names[upper->stage]) },
		    { "members", JSON_LIST(i, s->n_members, json_text(s->members[i]->watch->device->name)) },
		    { "queue_depth", depths }, { "ops", JSON_LIST(op, BLKLAT_OPS, stack_op(&s->ops[op], op)) });
}

/* NULL when there is no memory. */
static struct json_object *stacks(const struct run *r)
{
	CLEANUP(stacks_uninit) struct stacks all = { 0 };

	return stacks_make(r, &all) ? json_lacks_memory() : JSON_LIST(i, all.n, stack(&all.s[i]));
}

static struct json_object *finding(const struct finding *f)
{
	struct json_object *values = json_new_object();

	for (u32 i = 0; i < f->n; i++)
		json_add(values, f->values[i].name, json_decimal(f->values[i].value, 6));
	return JSON({ "kind", json_text(f->kind) }, { "grade", json_text(finding_grades[f->grade]) },
		    { "device", json_text(f->watch->device->name) },
		    { "stage", json_text(stage_names[f->watch->stage]) },
		    { "op", f->op < 0 ? NULL : json_text(op_names[f->op]) }, { "from_s", json_decimal(f->from_s, 3) },
		    { "to_s", json_decimal(f->to_s, 3) }, { "text", json_text(f->text) },
		    { "rule", json_text(f->rule) }, { "values", values });
}

struct json_object *document_findings(const struct findings *all)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < all->n; i += 1 + all->f[i].also) {
		const struct finding *f = &all->f[i];

		json_append(to, JSON_ADD(finding(f), { "also", JSON_LIST(k, f->also, finding(f + 1 + k)) }));
	}
	return to;
}

/* NULL when there is no memory. */
static struct json_object *findings(const struct run *r, const struct steady_window *steady)
{
	CLEANUP(findings_uninit) struct findings all = { 0 };

	return findings_make(r, steady, &all) ? json_lacks_memory() : document_findings(&all);
}

int document_compare(const struct run *runs, u32 n, struct findings *ret)
{
	static const struct device_maps none;
	CLEANUP(comparison_uninit) struct comparison c = { 0 };

	return n < 2 ? 0 : comparison_without_phases(runs, n, 0, &none, &c) ?: findings_compare(&c, false, ret);
}

static struct json_object *origin(const struct run *r)
{
	const struct origin *o = &r->origin;

	return JSON({ "file", json_text(o->file) }, { "label", json_text(o->label) }, { "host", json_text(o->host) },
		    { "kernel", json_text(o->kernel) }, { "version", json_text(o->version) },
		    { "command", json_text(o->command) }, { "engine", json_text(r->engine) },
		    { "start", json_text(UNITS(utc, o->start_wall_ns)) }, { "finished", json_bool(o->finished) },
		    { "dropped", json_count(o->dropped) }, { "idle_gap_s", json_decimal(o->idle_gap_ns / 1e9, 3) });
}

struct steady_window document_steady(const struct run *r, const struct document_window *wanted)
{
	return isnan(wanted->from_s) ? steady_window_default(r) : steady_window_set(r, wanted->from_s, wanted->to_s);
}

static struct json_object *run(const struct run *runs, u32 n, const struct run *r, const struct document_window *wanted)
{
	const struct steady_window steady = document_steady(r, wanted);
	char name[RUN_NAME];

	run_name(runs, n, r - runs, name, sizeof(name));
	/* length_s has ns digits: the page divides by it, and must get the same figures for intervals of some ms. */
	return JSON_ADD(origin(r), { "name", json_text(name) }, { "interval_s", json_decimal(r->interval_s, 3) },
			{ "merged", json_count(r->merged) }, { "scale", json_count(r->scale) },
			{ "duration_s", json_decimal(r->duration_s, 3) }, { "active", document_active(r) },
			{ "skipped_unexplained", json_count(r->skipped_unexplained) },
			{ "start_s", json_decimals(r->start_s, r->n, 6) },
			{ "length_s", json_decimals(r->length_s, r->n, 9) },
			{ "marks", JSON_LIST(i, r->origin.n_marks, mark(r, &r->origin.marks[i])) },
			{ "phases", JSON_LIST(i, r->phases.n, phase(r, &r->phases.p[i])) },
			{ "phases_left_out", json_count(r->phases.left_out) },
			{ "devices", JSON_LIST(i, r->devices.n, json_device(&r->devices.d[i], &r->devices, &r->devices.d[i])) },
			{ "watches", JSON_LIST(i, r->n_watches, watch(r, &r->watches[i], &steady)) }, { "stacks", stacks(r) },
			{ "findings", findings(r, &steady) });
}

struct json_object *document_make(const struct run *runs, u32 n, const struct document_window *window)
{
	CLEANUP(findings_uninit) struct findings found = { 0 };
	int err = document_compare(runs, n, &found);

	return JSON({ "schema", json_count(DOCUMENT_SCHEMA) }, { "generator", json_text("blklat " BLKLAT_VERSION) },
		    { "runs", JSON_LIST(i, n, run(runs, n, &runs[i], window)) },
		    { "findings", err ? json_lacks_memory() : document_findings(&found) });
}
