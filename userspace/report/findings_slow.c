// SPDX-License-Identifier: GPL-2.0-only
/* Findings about what slow IOs have in common, more often than IOs in general. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "report/findings.h"
#include "report/findings_rules.h"
#include "report/noise.h"
#include "util/cleanup.h"
#include "util/units.h"

#define REGIONS 16

/* A value in one respect: a text or a number. */
struct key {
	const char *text;
	u64 n;
};

enum { RESPECT_OP, RESPECT_PART };

/* Of the others, the names of the slow IOs' fields. */
static const char *const respects[SLOW_COMMON_MAX] = {
	"op", NULL /* the name of the part's division */, "flags", "beside", "error", "bytes", "comm", "cgroup", "hw_queue", "region",
};

/* Returns false if the value is not known for this IO. @f: the field; NULL: it is none. */
static bool key_of(u32 by, const struct slow_field *f, const struct device *d, const struct slow_io *io,
		   struct key *ret)
{
	u64 sectors = d->size_bytes / 512;
	struct slow_value v = { 0 };

	if (f)
		v = slow_value(io, f);
	else if (by == RESPECT_PART)
		v = (struct slow_value){ io->part, 0, io->part ? io->part->label : NULL };
	/* Sectors count from the start of the disk, so for a partition its size does not tell the region. */
	else if (io->told.known & BLKLAT_SLOW_SECTOR && !device_is_partition(d) && io->told.sector < sectors)
		v = (struct slow_value){ true, (unsigned __int128)io->told.sector * REGIONS / sectors, NULL };
	*ret = (struct key){ v.text, v.n };
	return v.known;
}

static void say_key(u32 by, const struct device *d, const struct key *k, char ret[SLOW_COMMON_TEXT])
{
	if (k->text)
		snprintf(ret, SLOW_COMMON_TEXT, "%s", k->text);
	else if (respects[by] && !strcmp(respects[by], "region"))
		snprintf(ret, SLOW_COMMON_TEXT, "%s to %s", UNITS(capacity, d->size_bytes / REGIONS * k->n),
			 UNITS(capacity, d->size_bytes / REGIONS * (k->n + 1)));
	else
		snprintf(ret, SLOW_COMMON_TEXT, "%llu", k->n);
}

static int by_key(const void *of_a, const void *of_b)
{
	const struct key *a = of_a, *b = of_b;

	if (a->text)
		return strcmp(a->text, b->text);
	return a->n < b->n ? -1 : a->n > b->n;
}

/* The value's share of all IOs; negative: not counted. */
static double share_of_all(const struct run *r, u32 watch, u32 by, const struct key *k)
{
	const struct watch_run *w = &r->watches[watch];
	u64 ios = 0;

	for (u32 i = 0; by == RESPECT_OP && i < BLKLAT_OPS; i++)
		ios += strcmp(k->text, op_names[i]) ? 0 : w->ops[i].total->ios;
	for (u32 i = 1; by == RESPECT_PART && i <= run_parts(r, watch); i++)
		ios += strcmp(k->text, r->copies[watch + i].part->label) ? 0 : watch_run_ios(&w[i]);
	return ios ? (double)ios / watch_run_ios(w) : -1;
}

/* @keys are sorted. */
static void choose(const struct run *r, u32 watch, u32 by, const struct key *keys, u32 n, struct slow_common *ret)
{
	const struct device *d = r->copies[watch].device;
	u32 values = 0;

	*ret = (struct slow_common){ .by = respects[by], .p = -1 };
	for (u32 from = 0, to; from < n; from = to) {
		struct slow_common one = { .by = respects[by], .of = n, .p = -1 };

		for (to = from + 1; to < n && !by_key(&keys[from], &keys[to]); to++)
			;
		values++;
		one.ios = to - from;
		one.share_of_all = share_of_all(r, watch, by, &keys[from]);
		if (one.share_of_all >= 0)
			one.p = binomial_at_least(one.ios, n, one.share_of_all);
		if (!ret->ios || (one.p >= 0 && ret->p >= 0 && one.p != ret->p ? one.p < ret->p : one.ios > ret->ios)) {
			say_key(by, d, &keys[from], one.value);
			*ret = one;
		}
	}
	if (ret->p >= 0)
		ret->p = ret->p * values < 1 ? ret->p * values : 1;
}

int slow_common_of(const struct run *r, u32 watch, struct slow_common ret[SLOW_COMMON_MAX])
{
	const struct slow_of *of = &r->slow.of[watch];
	const struct slow_io *io = &r->slow.io[of->first];
	struct key *keys CLEANUP(cleanup_free) = calloc(of->n ?: 1, sizeof(*keys));
	u32 n = 0;

	if (!keys)
		return -ENOMEM;
	for (u32 i = 0; i < SLOW_COMMON_MAX; i++) {
		const struct slow_field *f = respects[i] ? slow_field_named(respects[i]) : NULL;
		u32 known = 0;

		/* What divides the watch is reported only once, by the part: its share of all IOs is known. */
		if (respects[i] && of->n && io->part && !strcmp(io->part->by, respects[i]))
			continue;
		for (u32 k = 0; k < of->n; k++)
			known += key_of(i, f, r->copies[watch].device, &io[k], &keys[known]);
		if (!known)
			continue;
		qsort(keys, known, sizeof(*keys), by_key);
		choose(r, watch, i, keys, known, &ret[n]);
		ret[n].by = ret[n].by ?: io->part->by;
		n++;
	}
	return n;
}

#define IOS_LEAST 20
#define SURE 0.001
#define FACTOR 2

static void report(const struct inquiry *q, const struct slow_common *c)
{
	const struct slow_of *of = &q->run->slow.of[q->watch - q->run->watches];
	struct finding *f = finding_add(q, "slow_common", -1);

	finding_values(f, { "slow", c->of }, { "share", (double)c->ios / c->of }, { "share_of_all", c->share_of_all },
		       { "p_value", c->p });
	finding_say(f, "of %s slow IOs", UNITS(count, c->of));
	if (of->found > of->n)
		finding_say(f, " (%s were found)", UNITS(count, of->found));
	finding_say(f, " %s are %s%s %.128s, of all IOs %s", UNITS(share, (double)c->ios / c->of),
		    strcmp(c->by, by_names[BLKLAT_BY_BESIDE]) ? "of " : "", c->by, c->value, UNITS(share, c->share_of_all));
	finding_rule(f, "%d or more slow IOs, at least %d times as frequent as among all IOs, or all others at most "
		     "half as frequent; p < %g (%s; it takes IOs for independent, which those of one burst are not)", IOS_LEAST, FACTOR, SURE, SLOW_COMMON_METHOD);
}

int find_slow_common(const struct inquiry *q)
{
	struct slow_common all[SLOW_COMMON_MAX];
	int n;

	if (!q->run->slow.most)
		return 0;
	n = slow_common_of(q->run, q->watch - q->run->watches, all);
	for (const struct slow_common *c = all; c < all + n; c++) {
		double share = (double)c->ios / c->of;

		if (c->of >= IOS_LEAST && c->p >= 0 && c->p < SURE &&
		    (share >= FACTOR * c->share_of_all || 1 - share <= (1 - c->share_of_all) / FACTOR))
			report(q, c);
	}
	return n < 0 ? n : 0;
}
