// SPDX-License-Identifier: GPL-2.0-only
/* Judges a comparison whose first runs are repeats of one side and whose others are repeats of the other side. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/comparison.h"
#include "util/array.h"
#include "util/units.h"

struct noise comparison_noise(const struct comparison *c, const struct compared_group *g,
			      const struct comparison_cell *cell)
{
	double value[2][REPEATS_MAX];
	u32 n[2] = { 0 };
	double resolution = 1;

	for (u32 i = 0; i < c->n_runs; i++) {
		double v = comparison_value(cell, g->of[i].o);
		bool other = i >= c->n_base;

		if (v < 0)
			continue;
		value[other][n[other]++] = v;
		if (cell->q && cell->q < 1)
			resolution = fmax(resolution, quantile_resolution(g->of[i].o->hist.scale, v));
	}
	return noise_of(value[0], n[0], value[1], n[1], resolution);
}

const char *change_text(char text[UNITS_TEXT], double ratio)
{
	if (ratio < 0)
		return "-";
	if (ratio - 1 >= 9.9995)
		return ratio_text(text, ratio);
	snprintf(text, UNITS_TEXT, "%+.1f%%", 100 * (ratio - 1));
	return text;
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

static int judge(const struct comparison *c, const struct condition *condition, const struct compared_group *g,
		 struct judgement *ret, struct problem *p)
{
	const struct compared *first = &g->of[c->n_base];
	struct judgement made = {
		.condition = condition,
		.judged = { .run = first->run, .watch = first->watch, .base = g->of[0].run, .base_watch = g->of[0].watch },
	};
	struct verdict *v = &made.verdict;
	double value[2][REPEATS_MAX];
	u32 n[2] = { 0 };
	double resolution = 1;

	for (u32 i = condition->relative ? 0 : c->n_base; i < c->n_runs; i++) {
		struct judged j = made.judged;
		bool other = i >= c->n_base;
		int err;

		j.run = g->of[i].run;
		j.watch = g->of[i].watch;
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
	if (condition->beyond_noise)
		v->holds &=
			noise_beyond(&made.noise, condition->comparison == ABOVE || condition->comparison == AT_LEAST);
	condition_explain(condition, made.judged.watch->watch, v, &made.sentence);
	if (condition->relative)
		explain_noise(condition, &made.noise, &made.sentence);
	*ret = made;
	return 0;
}

/* Whether the group stands for its watch: the group of op @op or, for total, the first one of the watch. */
static bool is_meant(const struct comparison *c, u32 at, int op)
{
	const struct compared_group *g = &c->groups[at];

	if (g->part || (op >= 0 && g->op != (u32)op))
		return false;
	for (u32 i = 0; op < 0 && i < at; i++)
		if (c->groups[i].of[0].watch == g->of[0].watch)
			return false;
	return true;
}

/* Whether some run of each side has it. As without repeats, a group that only one side has is not judged. */
static bool on_both_sides(const struct comparison *c, const struct compared_group *g)
{
	bool other = false;

	for (u32 i = c->n_base; i < c->n_runs; i++)
		other |= !!g->of[i].watch;
	return other;
}

int comparison_judge_repeats(struct comparison *c, const struct condition *condition, struct problem *p)
{
	u32 before = c->n_judgements;

	if (array_grow(&c->judgements, sizeof(*c->judgements), before + c->n_groups + 1))
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 g = 0; g < c->n_groups; g++) {
		struct judgement *made = &c->judgements[c->n_judgements];
		int err;

		if (!is_meant(c, g, condition->op) || !on_both_sides(c, &c->groups[g]))
			continue;
		err = judge(c, condition, &c->groups[g], made, p);
		if (err)
			return err;
		c->n_judgements++;
		c->any_holds |= made->verdict.holds;
	}
	if (c->n_judgements == before)
		return problem_set(p, -ENODATA, "--fail-if '%s': the recordings have no such IO on a device to compare", condition->text);
	return 0;
}
