// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/cleanup.h"

/* Why two watches are paired, the best reason last. */
enum reason { NO_REASON, SAME_NAME, SAME_NAME_PERHAPS_DRIVE, SAME_DRIVE, SAME_DRIVE_AND_NAME, MAPPED, REASONS };

static enum reason reason_of(const struct watch *base, const struct watch *other, const struct device_maps *maps)
{
	const struct device *a = base->device, *b = other->device;
	const char *mapped = device_maps_other(maps, a->name);
	enum device_likeness likeness = device_compare(a, b);
	bool same_name = !strcmp(mapped ?: a->name, b->name);

	if (base->stage != other->stage || (!mapped && device_maps_has_other(maps, b->name)))
		return NO_REASON;
	if (mapped)
		return same_name ? MAPPED : NO_REASON;
	if (likeness == DEVICE_SAME)
		return same_name ? SAME_DRIVE_AND_NAME : SAME_DRIVE;
	return !same_name ? NO_REASON : likeness == DEVICE_OTHER ? SAME_NAME : SAME_NAME_PERHAPS_DRIVE;
}

static bool pair_has(const struct pair *p, u32 n, u32 base, u32 other)
{
	for (u32 i = 0; i < n; i++)
		if (p[i].base == base || p[i].other == other)
			return true;
	return false;
}

/* The only whole of a stage that is in no pair and not in @maps; -1 if there is none or more than one. */
static int only_one(const struct run *r, enum blklat_stage stage, const struct device_maps *maps, const struct pair *p,
		    u32 n, bool base)
{
	int found = -1;

	for (u32 i = 0; i < r->n_watches; i += 1 + run_parts(r, i)) {
		const struct watch *w = r->watches[i].watch;

		if (w->stage != stage || pair_has(p, n, base ? i : ~0u, base ? ~0u : i) ||
		    (base ? !!device_maps_other(maps, w->device->name) : device_maps_has_other(maps, w->device->name)))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

/* Adds the parts of pair @of. Returns the new number of pairs. */
static u32 pair_parts(const struct run *base, const struct run *other, struct pair *ret, u32 of, u32 n)
{
	u32 parts = run_parts(base, ret[of].base), beside = run_parts(other, ret[of].other);

	for (u32 i = ret[of].base + 1; i <= ret[of].base + parts; i++)
		for (u32 j = ret[of].other + 1; j <= ret[of].other + beside; j++)
			if (base->watches[i].watch->part == other->watches[j].watch->part && !pair_has(ret, n, i, j))
				ret[n++] = (struct pair){ i, j };
	return n;
}

u32 comparison_pairs(const struct run *base, const struct run *other, const struct device_maps *maps, struct pair *ret)
{
	u32 n = 0;

	for (enum reason reason = REASONS - 1; reason > NO_REASON; reason--)
		for (u32 i = 0; i < base->n_watches; i += 1 + run_parts(base, i))
			for (u32 j = 0; j < other->n_watches; j += 1 + run_parts(other, j))
				if (reason_of(base->watches[i].watch, other->watches[j].watch, maps) == reason &&
				    !pair_has(ret, n, i, j))
					ret[n++] = (struct pair){ i, j };
	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++) {
		int i = only_one(base, stage, maps, ret, n, true), j = only_one(other, stage, maps, ret, n, false);

		if (i >= 0 && j >= 0)
			ret[n++] = (struct pair){ i, j };
	}
	for (u32 i = 0, wholes = n; i < wholes; i++)
		n = pair_parts(base, other, ret, i, n);
	return n;
}

/* Which watch of a run is compared with a watch of the baseline; -1: none. */
static int beside(const struct comparison *c, u32 run, u32 watch)
{
	return c->beside[run * c->runs[0].n_watches + watch];
}

const struct watch_run *comparison_partner(const struct comparison *c, u32 run, u32 watch)
{
	int other = beside(c, run, watch);

	return other < 0 ? NULL : &c->runs[run].watches[other];
}

static int beside_make(struct comparison *c)
{
	static const struct device_maps none;
	const struct run *runs = c->runs;
	u32 watches = runs[0].n_watches;
	struct pair *pairs CLEANUP(cleanup_free) = calloc(watches, sizeof(*pairs));

	c->beside = calloc(c->n_runs * watches, sizeof(*c->beside));
	if (!pairs || !c->beside)
		return -ENOMEM;
	for (u32 r = 0; r < c->n_runs; r++) {
		int *watch = c->beside + r * watches;
		u32 n = r ? comparison_pairs(&runs[0], &runs[r], r < c->n_base ? &none : c->maps, pairs) : 0;

		for (u32 w = 0; w < watches; w++)
			watch[w] = r ? -1 : (int)w;
		for (u32 i = 0; i < n; i++)
			watch[pairs[i].base] = pairs[i].other;
	}
	return 0;
}

static int compared_make(const struct run *r, int watch, u32 op, const struct compared *base, struct compared *ret)
{
	*ret = (struct compared){ .run = r, .ks = -1, .mean_with_base_mix_ns = -1 };
	if (watch < 0)
		return 0;
	ret->watch = &r->watches[watch];
	ret->o = ret->watch->ops[op].total;
	if (!base || !base->o->ios || !ret->o->ios)
		return 0;
	return ks_distance(&base->o->hist, &ret->o->hist, &ret->ks);
}

static int group_make(const struct comparison *c, u32 watch, u32 op, struct compared_group *ret)
{
	struct compared *of CLEANUP(cleanup_free) = calloc(c->n_runs, sizeof(*of));

	if (!of)
		return -ENOMEM;
	for (u32 r = 0; r < c->n_runs; r++) {
		int err = compared_make(&c->runs[r], beside(c, r, watch), op, r ? of : NULL, &of[r]);

		if (err)
			return err;
	}
	*ret = (struct compared_group){ .op = op, .part = c->runs[0].watches[watch].watch->part, .of = TAKE(of) };
	return 0;
}

/*
 * Whether there is anything to show. For a part there must also be something to compare: a run whose
 * IOs were not divided in the same way has none.
 */
static bool worth_showing(const struct compared_group *g, u32 n_runs)
{
	bool any_ios = false, compares = !g->part;

	for (u32 r = 0; r < n_runs; r++) {
		any_ios |= g->of[r].o && g->of[r].o->ios;
		compares |= r && g->of[r].o;
	}
	return any_ios && compares;
}

static int add_group(struct comparison *c, u32 watch, u32 op)
{
	struct compared_group *g = &c->groups[c->n_groups];
	int err = group_make(c, watch, op, g);

	if (err)
		return err;
	if (worth_showing(g, c->n_runs))
		c->n_groups++;
	else
		free(g->of);
	return 0;
}

const char *comparison_mapped(const struct comparison *c, const struct compared_group *g)
{
	const char *other = device_maps_other(c->maps, g->of[0].watch->watch->device->name);

	for (u32 i = c->n_base ?: 1; other && i < c->n_runs; i++)
		if (g->of[i].watch)
			return other;
	return NULL;
}

u32 comparison_parts(const struct comparison *c, u32 whole)
{
	u32 parts = 0;

	while (whole + 1 + parts < c->n_groups && c->groups[whole + 1 + parts].part)
		parts++;
	return parts;
}

/* Direct standardization: each part's mean in @run, weighted by the part's share in the baseline. */
static double mean_with_base_mix(const struct comparison *c, u32 whole, u32 run)
{
	const struct op_frame *base = c->groups[whole].of[0].o;
	double sum = 0;

	for (u32 i = whole + 1; i <= whole + comparison_parts(c, whole); i++) {
		const struct compared *of = c->groups[i].of;

		if (of[0].o->ios && !(of[run].o && of[run].o->ios))
			return -1;
		if (of[0].o->ios)
			sum += of[0].o->ios * of[run].o->mean_ns;
	}
	return base->ios && sum > 0 ? sum / base->ios : -1;
}

/* Adds the groups of one watch and its parts. */
static int add_groups(struct comparison *c, u32 watch)
{
	u32 parts = run_parts(&c->runs[0], watch);

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		u32 whole = c->n_groups;

		for (u32 i = watch; i <= watch + parts; i++) {
			int err = add_group(c, i, op);

			if (err)
				return err;
		}
		for (u32 run = 1; whole < c->n_groups && run < c->n_runs; run++)
			c->groups[whole].of[run].mean_with_base_mix_ns = mean_with_base_mix(c, whole, run);
	}
	return 0;
}

int comparison_without_phases(const struct run *runs, u32 n, u32 n_base, const struct device_maps *maps,
			      struct comparison *ret)
{
	struct comparison c CLEANUP(comparison_uninit) = {
		.runs = runs, .n_runs = n, .n_base = n_base, .maps = maps,
	};
	int err = beside_make(&c);

	c.groups = calloc((size_t)runs[0].n_watches * BLKLAT_OPS + 1, sizeof(*c.groups));
	if (err || !c.groups)
		return -ENOMEM;
	for (u32 i = 0; !err && i < runs[0].n_watches; i += 1 + run_parts(&runs[0], i))
		err = add_groups(&c, i);
	if (err)
		return err;
	*ret = c;
	c = (struct comparison){ 0 };
	return 0;
}

int comparison_make(const struct run *runs, u32 n, u32 n_base, const struct device_maps *maps, struct comparison *ret)
{
	int err = comparison_without_phases(runs, n, n_base, maps, ret) ?: comparison_phases_make(ret);

	if (err)
		comparison_uninit(ret);
	return err;
}

void comparison_uninit(struct comparison *c)
{
	for (u32 i = 0; i < c->n_groups; i++)
		free(c->groups[i].of);
	free(c->groups);
	free(c->beside);
	free(c->judgements);
	comparison_phases_uninit(c);
	*c = (struct comparison){ 0 };
}

void comparison_unpaired(const struct comparison *c,
			 void (*tell)(void *to, const struct run *run, const struct watch *watch), void *to)
{
	for (u32 r = 1; r < c->n_runs; r++) {
		for (u32 w = 0; w < c->runs[r].n_watches; w += 1 + run_parts(&c->runs[r], w)) {
			bool paired = false;

			for (u32 i = 0; i < c->runs[0].n_watches; i++)
				paired |= beside(c, r, i) == (int)w;
			if (!paired)
				tell(to, &c->runs[r], c->runs[r].watches[w].watch);
		}
	}
}
