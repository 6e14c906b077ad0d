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
	struct json_object *to = json_new_object();

	json_add(to, "op", json_new_text(op_names[op]));
	document_total(to, r, w, op);
	json_add(to, "bins", json_bins(&w->total->ops[op].hist));
	return to;
}

static struct json_object *watch_figures(const struct run *r, const struct watch_run *w)
{
	struct json_object *to = json_new_object(), *ops = json_new_array(0);

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (w->total->ops[op].ios)
			json_append(ops, op_figures(r, w, op));
	json_add_text(to, "device", w->watch->device->name);
	json_add_text(to, "stage", stage_names[w->watch->stage]);
	if (w->watch->part)
		json_add(to, "part", json_part(w->watch->part));
	json_add_decimal(to, "queue_depth", w->total->queue_depth, 3);
	json_add(to, "ops", ops);
	return to;
}

/* The figures of watches with IO; none if the phase has no figures. */
static struct json_object *phase_watches(const struct run *r, const struct phase *p)
{
	struct json_object *to = json_new_array(0);
	struct run part;

	if (!p->n)
		return to;
	if (phase_run_make(r, p, &part)) {
		json_lacks_memory();
		return to;
	}
	for (u32 i = 0; i < part.n_watches; i++)
		if (frame_has_ios(part.watches[i].total))
			json_append(to, watch_figures(&part, &part.watches[i]));
	phase_run_free(&part);
	return to;
}

static struct json_object *phase(const struct run *r, const struct phase *p)
{
	struct json_object *to = json_new_object();

	json_add_text(to, "name", p->name);
	json_add_decimal(to, "from_s", p->from_s, 3);
	json_add_decimal(to, "to_s", p->to_s, 3);
	json_add_count(to, "intervals", p->n);
	json_add_decimal(to, "length_s", p->length_s, 6);
	json_add(to, "partial", json_new_boolean(p->partial));
	json_add(to, "watches", phase_watches(r, p));
	return to;
}

/* The document's part about the phases. */
static struct json_object *document_phases(const struct run *r)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < r->phases.n; i++)
		json_append(to, phase(r, &r->phases.p[i]));
	return to;
}

/* --- the slow IOs of one device and stage --- */

static struct json_object *slow_at(const void *of, u32 i)
{
	const struct slow_io *io = &(*(const struct slow_io *const *)of)[i];
	struct json_object *to = json_slow(io);

	json_add_decimal(to, "t_s", io->told.end_ns / 1e9, 6);
	return to;
}

static struct json_object *common(const struct slow_common *c)
{
	struct json_object *to = json_new_object();

	json_add_text(to, "by", c->by);
	json_add_text(to, "value", c->value);
	json_add_count(to, "ios", c->ios);
	json_add_count(to, "of", c->of);
	json_add_decimal(to, "share_of_all", c->share_of_all < 0 ? NAN : c->share_of_all, 6);
	json_add(to, "p", c->p < 0 ? NULL : json_new_double(c->p));
	return to;
}

static struct json_object *all_common(const struct run *r, u32 watch)
{
	struct slow_common all[SLOW_COMMON_MAX];
	int n = slow_common_of(r, watch, all);
	struct json_object *to;

	if (n < 0)
		return json_lacks_memory();
	to = json_new_array(n);
	for (int i = 0; i < n; i++)
		json_append(to, common(&all[i]));
	return to;
}

/* The document's part about the slow IOs of one whole; for document.c, if the run looked for slow IOs. */
static struct json_object *document_slow(const struct run *r, const struct watch_run *w)
{
	u32 watch = w - r->watches;
	const struct slow_of *of = &r->slow.of[watch];
	const struct slow_io *all = &r->slow.io[of->first];
	struct json_object *to = json_new_object();

	json_add_count(to, "found", of->found);
	json_add(to, "common", all_common(r, watch));
	json_add(to, "ios", json_values_later(of->n, slow_at, &all, sizeof(all)));
	return to;
}

struct json_object *document_active(const struct run *r)
{
	struct json_object *to = json_new_object();

	json_add_decimal(to, "from_s", r->active.from_s, 6);
	json_add_decimal(to, "to_s", r->active.to_s, 6);
	json_add_count(to, "left_out", r->active.left_out);
	json_add(to, "asked", json_new_boolean(r->asked.from || r->asked.to));
	return to;
}

static struct json_object *marks(const struct run *r)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < r->origin.n_marks; i++) {
		double at_s = mark_s(&r->origin, &r->origin.marks[i]);
		struct json_object *mark;

		if ((r->asked.from && at_s < r->asked.from_s) || (r->asked.to && at_s > r->asked.to_s))
			continue;
		mark = json_new_object();
		json_add_decimal(mark, "t_s", at_s, 3);
		json_add_text(mark, "text", r->origin.marks[i].text);
		json_append(to, mark);
	}
	return to;
}

static struct json_object *devices(const struct run *r)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < r->devices.n; i++)
		json_append(to, json_device(&r->devices.d[i], &r->devices, &r->devices.d[i]));
	return to;
}

static struct json_object *watch(const struct run *r, const struct watch_run *w, const struct steady_window *steady)
{
	struct json_object *to = json_new_object(), *ops = json_new_array(0);
	struct json_object *partial = json_partial(w->total);

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (w->ops[op].total->ios)
			json_append(ops, document_series(r, w, op, steady));
	json_add_text(to, "device", w->watch->device->name);
	json_add_text(to, "stage", stage_names[w->watch->stage]);
	if (w->watch->part) {
		json_add(to, "part", json_part(w->watch->part));
		json_add(to, "all_ops", document_all_ops(r, w));
	}
	json_add(to, "gone", json_new_boolean(w->gone));
	json_add(to, "queue_depth", json_decimals(w->queue_depth, r->n, 3));
	json_add(to, "in_flight", json_counts(w->in_flight, r->n));
	json_add(to, "oldest_ns", json_counts(w->oldest_ns, r->n));
	if (!w->watch->part)
		json_add(to, "accounting", json_accounting(&w->account));
	if (!w->watch->part && r->slow.most)
		json_add(to, "slow", document_slow(r, w));
	if (partial)
		json_add(to, "partial", partial);
	json_add(to, "ops", ops);
	return to;
}

/* Mean number of IOs in flight while the device was there. */
static void add_queue_depth(struct json_object *to, const struct watch_run *w)
{
	json_add_decimal(to, w->watch->device->name, w->total->queue_depth, 3);
}

static struct json_object *overhead(const struct stack_op *o)
{
	struct json_object *to = json_new_object();

	json_add_decimal(to, "mean", o->overhead_mean_ns, 1);
	for (u32 i = 0; i < run_over_time.n; i++)
		json_add_decimal(to, run_over_time.p[i].name, o->overhead_ns[i], 1);
	return to;
}

static struct json_object *stack_ops(const struct stack *s)
{
	struct json_object *to = json_new_array(0);

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct stack_op *o = &s->ops[op];
		struct json_object *one;

		if (!o->upper_ios || !o->member_ios)
			continue;
		one = json_new_object();
		json_add(one, "op", json_new_text(op_names[op]));
		json_add(one, "overhead_ns", overhead(o));
		json_add_count(one, "upper_ios", o->upper_ios);
		json_add_count(one, "member_ios", o->member_ios);
		json_append(to, one);
	}
	return to;
}

static struct json_object *stack(const struct stack *s)
{
	struct json_object *to = json_new_object(), *members = json_new_array(0);
	struct json_object *depths = json_new_object();

	add_queue_depth(depths, s->upper);
	for (u32 i = 0; i < s->n_members; i++) {
		json_append(members, json_clean_text(s->members[i]->watch->device->name));
		add_queue_depth(depths, s->members[i]);
	}
	json_add_text(to, "upper", s->upper->watch->device->name);
	json_add_text(to, "upper_stage", stage_names[s->upper->watch->stage]);
	json_add(to, "members", members);
	json_add(to, "queue_depth", depths);
	json_add(to, "ops", stack_ops(s));
	return to;
}

/* NULL when there is no memory. */
static struct json_object *stacks(const struct run *r)
{
	CLEANUP(stacks_uninit) struct stacks all = { 0 };
	struct json_object *to;

	if (stacks_make(r, &all))
		return json_lacks_memory();
	to = json_new_array(0);
	for (u32 i = 0; i < all.n; i++)
		json_append(to, stack(&all.s[i]));
	return to;
}

static struct json_object *finding(const struct finding *f)
{
	struct json_object *to = json_new_object(), *values = json_new_object();

	for (u32 i = 0; i < f->n; i++)
		json_add(values, f->values[i].name, json_decimal(f->values[i].value, 6));
	json_add(to, "kind", json_new_text(f->kind));
	json_add(to, "grade", json_new_text(finding_grades[f->grade]));
	json_add_text(to, "device", f->watch->device->name);
	json_add(to, "stage", json_new_text(stage_names[f->watch->stage]));
	json_add(to, "op", f->op < 0 ? NULL : json_new_text(op_names[f->op]));
	json_add_decimal(to, "from_s", f->from_s, 3);
	json_add_decimal(to, "to_s", f->to_s, 3);
	json_add_text(to, "text", f->text);
	json_add_text(to, "rule", f->rule);
	json_add(to, "values", values);
	return to;
}

struct json_object *document_findings(const struct findings *all)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < all->n; i += 1 + all->f[i].also) {
		struct json_object *one = finding(&all->f[i]), *also = json_new_array(0);

		for (u32 k = 1; k <= all->f[i].also; k++)
			json_append(also, finding(&all->f[i + k]));
		json_add(one, "also", also);
		json_append(to, one);
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

static void add_origin(struct json_object *to, const struct run *r)
{
	const struct origin *o = &r->origin;
	char start[UNITS_TEXT];

	json_add_text(to, "file", o->file);
	json_add_text(to, "label", o->label);
	json_add_text(to, "host", o->host);
	json_add_text(to, "kernel", o->kernel);
	json_add_text(to, "version", o->version);
	json_add_text(to, "command", o->command);
	json_add_text(to, "engine", r->engine);
	json_add_text(to, "start", units_utc(start, o->start_wall_ns));
	json_add(to, "finished", json_new_boolean(o->finished));
	json_add_count(to, "dropped", o->dropped);
	json_add_decimal(to, "idle_gap_s", o->idle_gap_ns / 1e9, 3);
}

void document_steady(const struct run *r, const struct document_window *wanted, struct steady_window *ret)
{
	if (isnan(wanted->from_s))
		steady_window_default(r, ret);
	else
		steady_window_set(r, wanted->from_s, wanted->to_s, ret);
}

static struct json_object *run(const struct run *r, const struct document_window *wanted)
{
	struct json_object *to = json_new_object(), *watches = json_new_array(0);
	struct steady_window steady;

	document_steady(r, wanted, &steady);
	for (u32 i = 0; i < r->n_watches; i++)
		json_append(watches, watch(r, &r->watches[i], &steady));
	add_origin(to, r);
	json_add_decimal(to, "interval_s", r->interval_s, 3);
	json_add_count(to, "merged", r->merged);
	json_add_count(to, "scale", r->scale);
	json_add_decimal(to, "duration_s", r->duration_s, 3);
	json_add(to, "active", document_active(r));
	json_add_count(to, "skipped_unexplained", r->skipped_unexplained);
	json_add(to, "start_s", json_decimals(r->start_s, r->n, 6));
	/* With ns digits: the page divides by it, and must get the same figures even for intervals of some ms. */
	json_add(to, "length_s", json_decimals(r->length_s, r->n, 9));
	json_add(to, "marks", marks(r));
	json_add(to, "phases", document_phases(r));
	json_add_count(to, "phases_left_out", r->phases.left_out);
	json_add(to, "devices", devices(r));
	json_add(to, "watches", watches);
	json_add(to, "stacks", stacks(r));
	json_add(to, "findings", findings(r, &steady));
	return to;
}

struct json_object *document_make(const struct run *runs, u32 n, const struct document_window *window)
{
	struct json_object *to = json_new_object(), *list = json_new_array(0);
	CLEANUP(findings_uninit) struct findings found = { 0 };

	for (u32 i = 0; i < n; i++)
		json_append(list, run(&runs[i], window));
	json_add_count(to, "schema", DOCUMENT_SCHEMA);
	json_add(to, "generator", json_new_text("blklat " BLKLAT_VERSION));
	json_add(to, "runs", list);
	json_add(to, "findings", document_compare(runs, n, &found) ? json_lacks_memory() : document_findings(&found));
	return to;
}
