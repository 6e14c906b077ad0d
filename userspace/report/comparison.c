// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/distance.h"
#include "util/cleanup.h"

static bool same_watch(const struct watch *a, const struct watch *b)
{
	return a->stage == b->stage && !strcmp(a->device->name, b->device->name);
}

static bool pair_has(const struct pair *p, u32 n, u32 base, u32 other)
{
	for (u32 i = 0; i < n; i++)
		if (p[i].base == base || p[i].other == other)
			return true;
	return false;
}

/* The only watch of a stage that no pair has yet, or -1 when there is none or more than one. */
static int only_one(const struct run *r, enum blklat_stage stage, const struct pair *p, u32 n, bool base)
{
	int found = -1;

	for (u32 i = 0; i < r->n_watches; i++) {
		if (r->watches[i].watch->stage != stage || pair_has(p, n, base ? i : ~0u, base ? ~0u : i))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

u32 comparison_pairs(const struct run *base, const struct run *other, struct pair *ret)
{
	u32 n = 0;

	for (u32 i = 0; i < base->n_watches; i++)
		for (u32 j = 0; j < other->n_watches; j++)
			if (same_watch(base->watches[i].watch, other->watches[j].watch) && !pair_has(ret, n, i, j))
				ret[n++] = (struct pair){ i, j };
	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++) {
		int i = only_one(base, stage, ret, n, true), j = only_one(other, stage, ret, n, false);

		if (i >= 0 && j >= 0)
			ret[n++] = (struct pair){ i, j };
	}
	return n;
}

/* Which watch of each run is compared with each of the baseline's; -1: none. */
struct beside {
	u32 n_runs, n_watches;
	int *watch;			/* [run][baseline's watch] */
};

static void beside_uninit(struct beside *b)
{
	free(b->watch);
}

static int beside_make(const struct run *runs, u32 n, struct beside *ret)
{
	u32 watches = runs[0].n_watches;
	struct pair *pairs CLEANUP(cleanup_free) = calloc(watches, sizeof(*pairs));
	int *watch CLEANUP(cleanup_free) = calloc(n * watches, sizeof(*watch));

	if (!pairs || !watch)
		return -ENOMEM;
	for (u32 r = 0; r < n; r++) {
		u32 n_pairs = r ? comparison_pairs(&runs[0], &runs[r], pairs) : 0;

		for (u32 w = 0; w < watches; w++)
			watch[r * watches + w] = r ? -1 : (int)w;
		for (u32 i = 0; i < n_pairs; i++)
			watch[r * watches + pairs[i].base] = pairs[i].other;
	}
	*ret = (struct beside){ .n_runs = n, .n_watches = watches, .watch = TAKE(watch) };
	return 0;
}

static int compared_make(const struct run *r, int watch, u32 op, const struct compared *base,
			 struct compared *ret)
{
	*ret = (struct compared){ .run = r, .ks = -1 };
	if (watch < 0)
		return 0;
	ret->watch = &r->watches[watch];
	ret->o = ret->watch->ops[op].total;
	if (!base || !base->o->ios || !ret->o->ios)
		return 0;
	return ks_distance(&base->o->hist, &ret->o->hist, &ret->ks);
}

static int group_make(const struct comparison *c, const struct beside *b, u32 watch, u32 op,
		      struct compared_group *ret)
{
	struct compared *of CLEANUP(cleanup_free) = calloc(c->n_runs, sizeof(*of));

	if (!of)
		return -ENOMEM;
	for (u32 r = 0; r < c->n_runs; r++) {
		int err = compared_make(&c->runs[r], b->watch[r * b->n_watches + watch], op, r ? of : NULL, &of[r]);

		if (err)
			return err;
	}
	*ret = (struct compared_group){ .op = op, .of = TAKE(of) };
	return 0;
}

static bool any_ios(const struct compared_group *g, u32 n_runs)
{
	for (u32 r = 0; r < n_runs; r++)
		if (g->of[r].o && g->of[r].o->ios)
			return true;
	return false;
}

int comparison_make(const struct run *runs, u32 n, struct comparison *ret)
{
	struct comparison c CLEANUP(comparison_uninit) = { .runs = runs, .n_runs = n };
	struct beside b CLEANUP(beside_uninit) = { 0 };
	int err = beside_make(runs, n, &b);

	c.groups = calloc((size_t)b.n_watches * BLKLAT_OPS + 1, sizeof(*c.groups));
	if (err || !c.groups)
		return -ENOMEM;
	for (u32 i = 0; i < b.n_watches * BLKLAT_OPS; i++) {
		struct compared_group *g = &c.groups[c.n_groups];

		err = group_make(&c, &b, i / BLKLAT_OPS, i % BLKLAT_OPS, g);
		if (err)
			return err;
		if (any_ios(g, n))
			c.n_groups++;
		else
			free(g->of);
	}
	*ret = c;
	c = (struct comparison){ 0 };
	return 0;
}

void comparison_uninit(struct comparison *c)
{
	for (u32 i = 0; i < c->n_groups; i++)
		free(c->groups[i].of);
	free(c->groups);
	free(c->judgements);
	*c = (struct comparison){ 0 };
}

static u64 ios_of(const struct watch_run *w, int op)
{
	u64 ios = 0;

	for (u32 i = 0; i < BLKLAT_OPS; i++)
		if (op < 0 || i == (u32)op)
			ios += w->ops[i].total->ios;
	return ios;
}

/* Judges one device of one run, unless neither side has IOs of the op. */
static int judge(struct comparison *c, const struct condition *condition, const struct judged *j,
		 struct problem *p)
{
	struct judgement *more;
	struct judgement made = { .condition = condition, .judged = *j };
	int err;

	if (!ios_of(j->watch, condition->op) && !(j->base && ios_of(j->base_watch, condition->op)))
		return 0;
	err = condition_evaluate(condition, j, &made.verdict, p);
	if (err)
		return err;
	more = realloc(c->judgements, (c->n_judgements + 1) * sizeof(*more));
	if (!more)
		return problem_set(p, -ENOMEM, "out of memory");
	condition_explain(condition, j, &made.verdict, &made.sentence);
	c->judgements = more;
	c->judgements[c->n_judgements++] = made;
	c->any_holds |= made.verdict.holds;
	return 0;
}

static int judge_run(struct comparison *c, const struct condition *condition, u32 run, const struct beside *b,
		     struct problem *p)
{
	for (u32 w = 0; w < b->n_watches; w++) {
		int watch = b->watch[run * b->n_watches + w];
		const struct judged j = {
			.run = &c->runs[run],
			.watch = &c->runs[run].watches[watch < 0 ? 0 : watch],
			.base = run ? &c->runs[0] : NULL,
			.base_watch = run ? &c->runs[0].watches[w] : NULL,
		};
		int err = watch < 0 ? 0 : judge(c, condition, &j, p);

		if (err)
			return err;
	}
	return 0;
}

int comparison_judge(struct comparison *c, const struct condition *conditions, u32 n, struct problem *p)
{
	struct beside b CLEANUP(beside_uninit) = { 0 };

	if (beside_make(c->runs, c->n_runs, &b))
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < n; i++) {
		for (u32 run = c->n_runs > 1; run < c->n_runs; run++) {
			u32 before = c->n_judgements;
			int err = judge_run(c, &conditions[i], run, &b, p);

			if (err)
				return err;
			if (c->n_judgements == before)
				return problem_set(p, -ENODATA, "--fail-if '%s': %s has no such IO on a device to "
						   "compare", conditions[i].text, c->runs[run].origin.file);
		}
	}
	return 0;
}

void comparison_unpaired(const struct comparison *c,
			 void (*tell)(void *to, const struct run *run, const struct watch *watch), void *to)
{
	struct beside b CLEANUP(beside_uninit) = { 0 };

	if (beside_make(c->runs, c->n_runs, &b))
		return;
	for (u32 r = 1; r < c->n_runs; r++) {
		for (u32 w = 0; w < c->runs[r].n_watches; w++) {
			bool paired = false;

			for (u32 i = 0; i < b.n_watches; i++)
				paired |= b.watch[r * b.n_watches + i] == (int)w;
			if (!paired)
				tell(to, &c->runs[r], c->runs[r].watches[w].watch);
		}
	}
}
