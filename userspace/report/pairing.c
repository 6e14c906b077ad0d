// SPDX-License-Identifier: GPL-2.0-only
#include "report/pairing.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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

u32 pairs_make(const struct run *base, const struct run *other, struct pair *ret)
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

int merged_make(const struct frame *total, struct op_frame *ret)
{
	struct op_frame m = { 0 };
	int err = hist_init(&m.hist, total->ops[0].hist.scale);

	if (err)
		return err;
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &total->ops[op];

		m.bytes += o->bytes;
		m.errors += o->errors;
		if (!o->ios)
			continue;
		if (!m.ios || o->min_ns < m.min_ns)
			m.min_ns = o->min_ns;
		if (!m.ios || o->max_ns > m.max_ns)
			m.max_ns = o->max_ns;
		m.ios += o->ios;
		m.sum_ns += o->sum_ns;
		hist_add(&m.hist, &o->hist);
	}
	if (total->interval_s > 0) {
		m.iops = m.ios / total->interval_s;
		m.bytes_per_s = m.bytes / total->interval_s;
	}
	m.mean_ns = m.ios ? (double)m.sum_ns / m.ios : 0;
	for (u32 i = 0; i < run_of_total.n; i++)
		m.percentile_ns[i] = quantile_ns(&m.hist, run_of_total.p[i].q, m.min_ns, m.max_ns);
	*ret = m;
	return 0;
}

void merged_uninit(struct op_frame *o)
{
	hist_uninit(&o->hist);
}

double ratio_of(double base, double other)
{
	return base > 0 && other >= 0 ? other / base : -1;
}

/* Both of one scale. */
static double distance(const struct hist *a, const struct hist *b)
{
	double n_a = hist_count(a), n_b = hist_count(b), most = 0;
	u64 up_to_a = 0, up_to_b = 0;

	for (u32 i = 0; i < BLKLAT_CELLS(a->scale); i++) {
		up_to_a += a->cells[i];
		up_to_b += b->cells[i];
		most = fmax(most, fabs(up_to_a / n_a - up_to_b / n_b));
	}
	return most;
}

int ks_distance(const struct hist *a, const struct hist *b, double *ret)
{
	const struct hist *fine = a->scale > b->scale ? a : b, *coarse = fine == a ? b : a;
	struct hist merged;
	int err;

	if (!hist_count(a) || !hist_count(b))
		return -ENODATA;
	err = hist_init(&merged, coarse->scale);
	if (err)
		return err;
	hist_add(&merged, fine);
	*ret = distance(&merged, coarse);
	hist_uninit(&merged);
	return 0;
}
