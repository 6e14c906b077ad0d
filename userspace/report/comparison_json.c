// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

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
	return JSON({ "file", json_text(r->origin.file) }, { "label", json_text(r->origin.label) },
		    { "host", json_text(r->origin.host) },
		    { "start", json_text(UNITS(utc, r->origin.start_wall_ns)) },
		    { "duration_s", json_decimal(r->duration_s, 3) }, { "merged", json_count(r->merged) },
		    { "active", document_active(r) }, { "finished", json_bool(r->origin.finished) });
}

/* Null if there is none. */
static struct json_object *unless_negative(double value, int digits)
{
	return value < 0 ? NULL : json_decimal(value, digits);
}

/* Adds figures under the keys of comparison_cells; latencies go into an object of their own. */
static void add_figures(struct json_object *to, const struct compared *c)
{
	struct json_object *latencies = json_new_object();

	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];

		json_add(cell->is_rate ? to : latencies, cell->key, unless_negative(comparison_value(cell, c->o), 1));
	}
	json_add(to, "latency_ns", latencies);
}

static struct json_object *ratios(const struct compared *base, const struct compared *c)
{
	struct json_object *to = json_new_object();

	for (u32 i = 0; i < COMPARISON_CELLS; i++) {
		const struct comparison_cell *cell = &comparison_cells[i];
		double ratio = ratio_of(comparison_value(cell, base->o), comparison_value(cell, c->o));

		json_add(to, cell->key, unless_negative(ratio, 6));
	}
	return to;
}

static struct json_object *compared(const struct compared *base, const struct compared *c, bool has_parts)
{
	struct json_object *to;

	if (!c->o)
		return NULL;
	to = JSON({ "device", json_text(c->watch->watch->device->name) }, { "ios", json_count(c->o->ios) },
		  { "bytes", json_count(c->o->bytes) }, { "errors", json_count(c->o->errors) });
	add_figures(to, c);
	return JSON_ADD(to, { "ratio", base == c ? NULL : ratios(base, c) }, { "ks", unless_negative(c->ks, 6) },
			{ "mean_with_base_mix_ns",
			  has_parts ? unless_negative(c->mean_with_base_mix_ns, 1) : json_absent });
}

static struct json_object *side(const struct noise_side *s, int digits)
{
	return JSON({ "n", json_count(s->n) }, { "median", unless_negative(s->median, digits) },
		    { "min", unless_negative(s->min, digits) }, { "max", unless_negative(s->max, digits) });
}

static struct json_object *noise(const struct noise *n, bool is_rate)
{
	return JSON({ "base", side(&n->base, is_rate ? 3 : 1) }, { "other", side(&n->other, is_rate ? 3 : 1) },
		    { "ratio", unless_negative(n->ratio, 6) },
		    { "ratio_low", n->known ? json_decimal(n->low, 6) : NULL },
		    { "ratio_high", n->known ? json_decimal(n->high, 6) : NULL },
		    { "p", n->known ? json_decimal(n->p, 6) : NULL });
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
	return JSON({ "base", json_count(c->n_base) }, { "other", json_count(c->n_runs - c->n_base) },
		    { "method", json_text(NOISE_METHOD) }, { "confidence", json_decimal(NOISE_CONFIDENCE, 2) });
}

static struct json_object *group(const struct comparison *c, u32 at)
{
	const struct compared_group *g = &c->groups[at];
	const struct watch *base = g->of[0].watch->watch;
	const char *mapped = comparison_mapped(c, g);
	char pair[2 * DEVICE_NAME_MAX + 8];
	bool has_parts = comparison_parts(c, at) && !g->part;

	if (mapped)
		snprintf(pair, sizeof(pair), "%s -> %s", base->device->name, mapped);
	return JSON({ "pair", mapped ? json_text(pair) : json_absent }, { "op", json_text(op_names[g->op]) },
		    { "stage", json_text(stage_names[base->stage]) }, { "part", json_part(g->part) },
		    { "runs", JSON_LIST(i, c->n_runs, compared(&g->of[0], &g->of[i], has_parts)) },
		    { "repeats", c->n_base ? noises(c, g) : json_absent });
}

static struct json_object *judgement(const struct comparison *c, const struct judgement *j)
{
	const struct watch *w = j->judged.watch->watch;
	bool repeated = c->n_base && j->condition->relative;

	return JSON({ "condition", json_text(j->condition->text) }, { "run", json_count(j->judged.run - c->runs) },
		    { "device", json_text(w->device->name) }, { "stage", json_text(stage_names[w->stage]) },
		    { "holds", json_bool(j->verdict.holds) }, { "value", json_decimal(j->verdict.value, 4) },
		    { "base", unless_negative(j->verdict.base, 4) }, { "limit", json_decimal(j->verdict.limit, 4) },
		    { "repeats", repeated ? noise(&j->noise, true) : json_absent },
		    { "text", json_text(j->sentence.text) });
}

static void add_unpaired(void *to, const struct run *r, const struct watch *watch)
{
	json_append(to, JSON({ "file", json_text(r->origin.file) }, { "device", json_text(watch->device->name) },
			     { "stage", json_text(stage_names[watch->stage]) }));
}

static struct json_object *groups(const struct comparison *c)
{
	return JSON_LIST(i, c->n_groups, group(c, i));
}

static struct json_object *phase(const struct compared_phase *p)
{
	return JSON({ "name", json_text(p->name) }, { "groups", groups(&p->c) });
}

static void add_unpaired_phase(void *to, const struct run *r, const struct phase *p)
{
	json_append(to, JSON({ "file", json_text(r->origin.file) }, { "name", json_text(p->name) }));
}

static struct json_object *document(const struct comparison *c)
{
	struct json_object *unpaired = json_new_array(0), *unpaired_phases = json_new_array(0);
	CLEANUP(findings_uninit) struct findings found = { 0 };
	int err = findings_compare(c, true, &found);

	comparison_unpaired(c, add_unpaired, unpaired);
	comparison_phases_unpaired(c, add_unpaired_phase, unpaired_phases);
	return JSON({ "schema", json_count(SCHEMA) }, { "runs", JSON_LIST(i, c->n_runs, run(&c->runs[i])) },
		    { "repeats", c->n_base ? repeats(c) : json_absent },
		    { "findings", err ? json_lacks_memory() : document_findings(&found) }, { "groups", groups(c) },
		    { "phases", JSON_LIST(i, c->n_phases, phase(&c->phases[i])) }, { "unpaired", unpaired }, { "unpaired_phases", unpaired_phases },
		    { "fail_if", JSON_LIST(i, c->n_judgements, judgement(c, &c->judgements[i])) }, { "failed", json_bool(c->any_holds) });
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
