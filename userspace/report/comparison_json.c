// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <math.h>

#include "core/json_parts.h"
#include "report/comparison.h"
#include "report/document.h"
#include "report/findings.h"
#include "report/noise.h"
#include "util/cleanup.h"
#include "util/json.h"
#include "util/units.h"

#define SCHEMA 1

static struct json_object *run(const struct run *r)
{
	struct json_object *to = json_new_object();
	char start[UNITS_TEXT];

	json_add_text(to, "file", r->origin.file);
	json_add_text(to, "label", r->origin.label);
	json_add_text(to, "host", r->origin.host);
	json_add_text(to, "start", units_utc(start, r->origin.start_wall_ns));
	json_add_decimal(to, "duration_s", r->duration_s, 3);
	json_add_count(to, "merged", r->merged);
	json_add(to, "active", document_active(r));
	json_add(to, "finished", json_new_boolean(r->origin.finished));
	return to;
}

static double none_is_nan(double value)
{
	return value < 0 ? NAN : value;
}

/* Adds figures under the keys of comparison_cells; latencies go into an object of their own. */
static void add_figures(struct json_object *to, const struct compared *c)
{
	struct json_object *latencies = json_new_object();

	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];

		json_add_decimal(cell->is_rate ? to : latencies, cell->key, none_is_nan(comparison_value(cell, c)), 1);
	}
	json_add(to, "latency_ns", latencies);
}

static struct json_object *ratios(const struct compared *base, const struct compared *c)
{
	struct json_object *to = json_new_object();

	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];
		double ratio = ratio_of(comparison_value(cell, base), comparison_value(cell, c));

		json_add_decimal(to, cell->key, none_is_nan(ratio), 6);
	}
	return to;
}

static struct json_object *compared(const struct compared *base, const struct compared *c, bool has_parts)
{
	struct json_object *to;

	if (!c->o)
		return NULL;
	to = json_new_object();
	json_add_text(to, "device", c->watch->watch->device->name);
	json_add_count(to, "ios", c->o->ios);
	json_add_count(to, "bytes", c->o->bytes);
	json_add_count(to, "errors", c->o->errors);
	add_figures(to, c);
	json_add(to, "ratio", base == c ? NULL : ratios(base, c));
	json_add_decimal(to, "ks", none_is_nan(c->ks), 6);
	if (has_parts)
		json_add_decimal(to, "mean_with_base_mix_ns", none_is_nan(c->mean_with_base_mix_ns), 1);
	return to;
}

static struct json_object *side(const struct noise_side *s, bool is_rate)
{
	struct json_object *to = json_new_object();

	json_add_count(to, "n", s->n);
	json_add_decimal(to, "median", none_is_nan(s->median), is_rate ? 3 : 1);
	json_add_decimal(to, "min", none_is_nan(s->min), is_rate ? 3 : 1);
	json_add_decimal(to, "max", none_is_nan(s->max), is_rate ? 3 : 1);
	return to;
}

static struct json_object *noise(const struct noise *n, bool is_rate)
{
	struct json_object *to = json_new_object();

	json_add(to, "base", side(&n->base, is_rate));
	json_add(to, "other", side(&n->other, is_rate));
	json_add_decimal(to, "ratio", none_is_nan(n->ratio), 6);
	json_add_decimal(to, "ratio_low", n->known ? n->low : NAN, 6);
	json_add_decimal(to, "ratio_high", n->known ? n->high : NAN, 6);
	json_add_decimal(to, "p", n->known ? n->p : NAN, 6);
	return to;
}

static struct json_object *noises(const struct comparison *c, const struct compared_group *g)
{
	struct json_object *to = json_new_object();

	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		struct noise n = comparison_noise(c, g, &comparison_cells[i]);

		json_add(to, comparison_cells[i].key, noise(&n, comparison_cells[i].is_rate));
	}
	return to;
}

/* Which runs are repeats of which side, and by which method they are judged. */
static struct json_object *repeats(const struct comparison *c)
{
	struct json_object *to = json_new_object();

	json_add_count(to, "base", c->n_base);
	json_add_count(to, "other", c->n_runs - c->n_base);
	json_add_text(to, "method", NOISE_METHOD);
	json_add_decimal(to, "confidence", NOISE_CONFIDENCE, 2);
	return to;
}

static struct json_object *group(const struct comparison *c, u32 at)
{
	const struct compared_group *g = &c->groups[at];
	const char *mapped = comparison_mapped(c, g);
	char pair[2 * DEVICE_NAME_MAX + 8];
	struct json_object *to = json_new_object(), *of = json_new_array(0);

	for (u32 i = 0; i < c->n_runs; i++)
		json_append(of, compared(&g->of[0], &g->of[i], comparison_parts(c, at) && !g->part));
	if (mapped) {
		snprintf(pair, sizeof(pair), "%s -> %s", g->of[0].watch->watch->device->name, mapped);
		json_add_text(to, "pair", pair);
	}
	json_add(to, "op", json_new_text(op_names[g->op]));
	json_add(to, "stage", json_new_text(stage_names[g->of[0].watch->watch->stage]));
	if (g->part)
		json_add(to, "part", json_part(g->part));
	json_add(to, "runs", of);
	if (c->n_base)
		json_add(to, "repeats", noises(c, g));
	return to;
}

static struct json_object *judgement(const struct comparison *c, const struct judgement *j)
{
	struct json_object *to = json_new_object();

	json_add_text(to, "condition", j->condition->text);
	json_add_count(to, "run", j->judged.run - c->runs);
	json_add_text(to, "device", j->judged.watch->watch->device->name);
	json_add(to, "stage", json_new_text(stage_names[j->judged.watch->watch->stage]));
	json_add(to, "holds", json_new_boolean(j->verdict.holds));
	json_add_decimal(to, "value", j->verdict.value, 4);
	json_add_decimal(to, "base", none_is_nan(j->verdict.base), 4);
	json_add_decimal(to, "limit", j->verdict.limit, 4);
	if (c->n_base && j->condition->relative)
		json_add(to, "repeats", noise(&j->noise, true));
	json_add_text(to, "text", j->sentence.text);
	return to;
}

static void add_unpaired(void *to, const struct run *r, const struct watch *watch)
{
	struct json_object *one = json_new_object();

	json_add_text(one, "file", r->origin.file);
	json_add_text(one, "device", watch->device->name);
	json_add(one, "stage", json_new_text(stage_names[watch->stage]));
	json_append(to, one);
}

static struct json_object *groups_of(const struct comparison *c)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < c->n_groups; i++)
		json_append(to, group(c, i));
	return to;
}

static struct json_object *phases_of(const struct comparison *c)
{
	struct json_object *to = json_new_array(0);

	for (u32 i = 0; i < c->n_phases; i++) {
		struct json_object *one = json_new_object();

		json_add_text(one, "name", c->phases[i].name);
		json_add(one, "groups", groups_of(&c->phases[i].c));
		json_append(to, one);
	}
	return to;
}

static void add_unpaired_phase(void *to, const struct run *r, const struct phase *p)
{
	struct json_object *one = json_new_object();

	json_add_text(one, "file", r->origin.file);
	json_add_text(one, "name", p->name);
	json_append(to, one);
}

static struct json_object *document(const struct comparison *c)
{
	struct json_object *to = json_new_object(), *runs = json_new_array(0);
	struct json_object *unpaired = json_new_array(0), *judgements = json_new_array(0);
	struct json_object *unpaired_phases = json_new_array(0);
	CLEANUP(findings_uninit) struct findings found = { 0 };

	for (u32 i = 0; i < c->n_runs; i++)
		json_append(runs, run(&c->runs[i]));
	for (u32 i = 0; i < c->n_judgements; i++)
		json_append(judgements, judgement(c, &c->judgements[i]));
	comparison_unpaired(c, add_unpaired, unpaired);
	comparison_phases_unpaired(c, add_unpaired_phase, unpaired_phases);
	json_add_count(to, "schema", SCHEMA);
	json_add(to, "runs", runs);
	if (c->n_base)
		json_add(to, "repeats", repeats(c));
	json_add(to, "findings", findings_compare(c, true, &found) ? json_lacks_memory() : document_findings(&found));
	json_add(to, "groups", groups_of(c));
	json_add(to, "phases", phases_of(c));
	json_add(to, "unpaired", unpaired);
	json_add(to, "unpaired_phases", unpaired_phases);
	json_add(to, "fail_if", judgements);
	json_add(to, "failed", json_new_boolean(c->any_holds));
	return to;
}

int comparison_json(const struct comparison *c, const struct look *look)
{
	struct json_object *o CLEANUP(cleanup_json) = document(c);
	const char *text = json_line(o);

	if (!text)
		return -ENOMEM;
	fprintf(look->out, "%s\n", text);
	return 0;
}
