// SPDX-License-Identifier: GPL-2.0-only
/* Judges a comparison by conditions: each run against the baseline, or repeats against repeats. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/comparison.h"
#include "util/array.h"
#include "util/units.h"

/* Runs from @from to before @to are judged, against the first @n_base; 0: there is no baseline. */
struct sides {
	u32 n_base, from, to;
};

/* Whether a run that is judged has the device, and any run of either side such IO of it. */
static bool is_judged(const struct comparison *c, const struct sides *s, u32 watch, int op)
{
	bool there = false, ios = false;

	for (u32 i = 0; i < s->to; i++) {
		const struct watch_run *w = i < s->n_base || i >= s->from ? comparison_partner(c, i, watch) : NULL;

		there |= w && i >= s->from;
		ios |= w && (op < 0 ? watch_run_ios(w) : w->ops[op].total->ios);
	}
	return there && ios;
}

/* Appends the result of the repeats to the sentence of a relative condition. */
static void explain_noise(const struct condition *condition, const struct noise *n, struct problem *sentence)
{
	const size_t used = strlen(sentence->text), room = sizeof(sentence->text) - used;
	char low[UNITS_TEXT], high[UNITS_TEXT];
	const char *what;

	if (!n->known) {
		snprintf(sentence->text + used, room, "; medians of %u and %u, without an interval", n->base.n, n->other.n);
		return;
	}
	what = n->low > 1 || n->high < 1 ? "beyond noise" : "within noise";
	snprintf(sentence->text + used, room, "; medians of %u and %u, 95 %% interval of the change %s to %s%s%s", n->base.n,
		 n->other.n, change_text(low, n->low), change_text(high, n->high), condition->beyond_noise ? ": " : "",
		 condition->beyond_noise ? what : "");
}

/* Judges a device by the medians of both sides, each of which may be a single run. */
static int judge(const struct comparison *c, const struct condition *condition, const struct sides *s, u32 watch,
		 struct judgement *ret, struct problem *p)
{
	const struct run *runs = c->runs;
	struct judgement made = {
		.condition = condition,
		.judged = { .run = &runs[s->from], .watch = comparison_partner(c, s->from, watch), .base = s->n_base ? runs : NULL,
			    .base_watch = s->n_base ? &runs[0].watches[watch] : NULL },
	};
	struct verdict *v = &made.verdict;
	double value[2][REPEATS_MAX], resolution = 1;
	u32 n[2] = { 0 };

	for (u32 i = condition->relative ? 0 : s->from; i < s->to; i++) {
		struct judged j = made.judged;
		bool other = i >= s->from;
		int err;

		if (i >= s->n_base && !other)
			continue;
		j.run = &runs[i];
		j.watch = comparison_partner(c, i, watch);
		if (!j.watch)
			return problem_set(p, -ENODATA, "--fail-if '%s': %s has no such IO on a device to compare",
					   condition->text, j.run->origin.file);
		err = condition_evaluate(condition, &j, v, p);
		if (err)
			return err;
		value[other][n[other]++] = v->value;
		if (condition->metric == METRIC_PERCENTILE)
			resolution = fmax(resolution, quantile_resolution(j.watch->total->ops[0].hist.scale, v->value));
	}
	made.noise = noise_of(value[0], n[0], value[1], n[1], resolution);
	v->value = made.noise.other.median;
	if (condition->relative) {
		v->base = made.noise.base.median;
		v->limit = v->base * (100 + condition->limit) / 100;
	}
	v->holds = condition_compare(condition, v->value, v->limit);
	if (c->n_base && condition->beyond_noise)
		v->holds &=
			noise_beyond(&made.noise, condition->comparison == ABOVE || condition->comparison == AT_LEAST);
	condition_explain(condition, made.judged.watch->watch, v, &made.sentence);
	if (c->n_base && condition->relative)
		explain_noise(condition, &made.noise, &made.sentence);
	*ret = made;
	return 0;
}

static int judge_sides(struct comparison *c, const struct condition *condition, const struct sides *s,
		       struct problem *p)
{
	u32 before = c->n_judgements;

	for (u32 w = 0; w < c->runs[0].n_watches; w += 1 + run_parts(&c->runs[0], w)) {
		struct judgement made;
		int err;

		if (!is_judged(c, s, w, condition->op))
			continue;
		err = judge(c, condition, s, w, &made, p);
		if (!err && array_grow(&c->judgements, sizeof(made), c->n_judgements + 1))
			err = problem_set(p, -ENOMEM, "out of memory");
		if (err)
			return err;
		c->judgements[c->n_judgements++] = made;
		c->any_holds |= made.verdict.holds;
	}
	if (c->n_judgements > before)
		return 0;
	if (c->n_base)
		return problem_set(p, -ENODATA, "--fail-if '%s': the recordings have no such IO on a device to compare", condition->text);
	return problem_set(p, -ENODATA, "--fail-if '%s': %s has no such IO on a device to compare", condition->text,
			   c->runs[s->from].origin.file);
}

/* Repeats are judged together, other runs one by one; a single run has no baseline. */
static int judge_whole(struct comparison *c, const struct condition *condition, struct problem *p)
{
	struct sides s = { .n_base = c->n_base ?: c->n_runs > 1 };
	int err = 0;

	for (s.from = s.n_base; !err && s.from < c->n_runs; s.from = s.to) {
		s.to = c->n_base ? c->n_runs : s.from + 1;
		err = judge_sides(c, condition, &s, p);
	}
	return err;
}

/* Takes over the last judgements of a phase, and makes them refer to the runs that it belongs to. */
static int take_judgements(struct comparison *c, const struct compared_phase *of, u32 from, struct problem *p)
{
	u32 n = of->c.n_judgements - from;

	if (n && array_grow(&c->judgements, sizeof(*c->judgements), c->n_judgements + n))
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < n; i++) {
		struct judgement *j = &c->judgements[c->n_judgements++];

		*j = of->c.judgements[from + i];
		j->judged.run = &c->runs[j->judged.run - of->runs];
		problem_set(&j->sentence, 0, "%s: %s", of->name, of->c.judgements[from + i].sentence.text);
	}
	c->any_holds |= of->c.any_holds;
	return 0;
}

static int judge_phases(struct comparison *c, const struct condition *condition, struct problem *p)
{
	bool found = false;
	int err = 0;

	for (u32 i = 0; !err && i < c->n_phases; i++) {
		struct compared_phase *of = &c->phases[i];
		u32 before = of->c.n_judgements;

		if (strcmp(of->name, condition->phase))
			continue;
		found = true;
		err = judge_whole(&of->c, condition, p) ?: take_judgements(c, of, before, p);
	}
	return found ? err : problem_set(p, -ENODATA, "--fail-if '%s': there is no phase '%s' with IO in %s", condition->text,
					 condition->phase, c->n_runs > 1 ? "all of them" : c->runs[0].origin.file);
}

int comparison_judge(struct comparison *c, const struct condition *conditions, u32 n, struct problem *p)
{
	int err = 0;

	for (u32 i = 0; !err && i < n; i++)
		err = conditions[i].phase[0] ? judge_phases(c, &conditions[i], p) : judge_whole(c, &conditions[i], p);
	return err;
}
