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

struct respect {
	const char *by;		/* NULL: the name of the part's division */
	/* Returns false if the value is not known for this IO. */
	bool (*key)(const struct device *d, const struct slow_io *io, struct key *ret);
	void (*say)(const struct device *d, const struct key *k, char ret[SLOW_COMMON_TEXT]);
};

static bool op_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = op_names[io->told.op] };
	return true;
}

static bool part_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = io->part ? io->part->label : NULL };
	return io->part;
}

static bool flags_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = slow_part_label(BLKLAT_BY_FLAGS, io->told.flags) };
	return ret->text;
}

static bool beside_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = slow_part_label(BLKLAT_BY_BESIDE, io->told.beside) };
	return ret->text;
}

static bool error_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = slow_error(io->told.error) };
	return ret->text;
}

static bool bytes_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .n = io->told.bytes };
	return true;
}

static bool comm_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = io->told.comm };
	return io->told.known & BLKLAT_SLOW_SUBMITTER;
}

static bool cgroup_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .text = io->cgroup };
	return io->cgroup;
}

static bool queue_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	(void)d;
	*ret = (struct key){ .n = io->told.hw_queue };
	return io->told.known & BLKLAT_SLOW_QUEUE;
}

/* Sectors count from the start of the disk, so for a partition its size does not tell the region. */
static bool region_key(const struct device *d, const struct slow_io *io, struct key *ret)
{
	u64 sectors = d->size_bytes / 512;

	*ret = (struct key){ .n = sectors ? (unsigned __int128)io->told.sector * REGIONS / sectors : 0 };
	return io->told.known & BLKLAT_SLOW_SECTOR && !device_is_partition(d) && io->told.sector < sectors;
}

static void say_text(const struct device *d, const struct key *k, char ret[SLOW_COMMON_TEXT])
{
	(void)d;
	snprintf(ret, SLOW_COMMON_TEXT, "%s", k->text);
}

static void say_number(const struct device *d, const struct key *k, char ret[SLOW_COMMON_TEXT])
{
	(void)d;
	snprintf(ret, SLOW_COMMON_TEXT, "%llu", k->n);
}

static void say_region(const struct device *d, const struct key *k, char ret[SLOW_COMMON_TEXT])
{
	char from[UNITS_TEXT], to[UNITS_TEXT];

	snprintf(ret, SLOW_COMMON_TEXT, "%s to %s", units_capacity(from, d->size_bytes / REGIONS * k->n),
		 units_capacity(to, d->size_bytes / REGIONS * (k->n + 1)));
}

static const struct respect respects[SLOW_COMMON_MAX] = {
	{ "op", op_key, say_text },
	{ NULL, part_key, say_text },
	{ "flags", flags_key, say_text },
	{ "beside", beside_key, say_text },
	{ "error", error_key, say_text },
	{ "bytes", bytes_key, say_number },
	{ "comm", comm_key, say_text },
	{ "cgroup", cgroup_key, say_text },
	{ "hw_queue", queue_key, say_number },
	{ "region", region_key, say_region },
};

static int by_key(const void *of_a, const void *of_b)
{
	const struct key *a = of_a, *b = of_b;

	if (a->text)
		return strcmp(a->text, b->text);
	return a->n < b->n ? -1 : a->n > b->n;
}

static u64 op_ios(const struct watch_run *w, const char *op)
{
	for (u32 i = 0; i < BLKLAT_OPS; i++)
		if (!strcmp(op, op_names[i]))
			return w->ops[i].total->ios;
	return 0;
}

static u64 part_ios(const struct run *r, u32 watch, const char *label)
{
	for (u32 i = 1; i <= run_parts(r, watch); i++)
		if (!strcmp(label, r->copies[watch + i].part->label))
			return watch_run_ios(&r->watches[watch + i]);
	return 0;
}

/* The value's share of all IOs; negative: not counted. */
static double share_of_all(const struct run *r, u32 watch, const struct respect *by, const struct key *k)
{
	u64 all = watch_run_ios(&r->watches[watch]), ios;

	if (by->key != op_key && by->key != part_key)
		return -1;
	ios = by->key == op_key ? op_ios(&r->watches[watch], k->text) : part_ios(r, watch, k->text);
	return ios ? (double)ios / all : -1;
}

/* Whether @a is to be reported rather than @b. */
static bool tells_more(const struct slow_common *a, const struct slow_common *b)
{
	if (a->p >= 0 && b->p >= 0 && a->p != b->p)
		return a->p < b->p;
	return a->ios > b->ios;
}

/* @keys are sorted. */
static void choose(const struct run *r, u32 watch, const struct respect *by, const struct key *keys, u32 n, struct slow_common *ret)
{
	const struct device *d = r->copies[watch].device;
	u32 values = 0;

	*ret = (struct slow_common){ .by = by->by, .p = -1 };
	for (u32 from = 0, to; from < n; from = to) {
		struct slow_common one = { .by = by->by, .of = n, .p = -1 };

		for (to = from + 1; to < n && !by_key(&keys[from], &keys[to]); to++)
			;
		values++;
		one.ios = to - from;
		one.share_of_all = share_of_all(r, watch, by, &keys[from]);
		if (one.share_of_all >= 0)
			one.p = binomial_at_least(one.ios, n, one.share_of_all);
		if (!ret->ios || tells_more(&one, ret)) {
			by->say(d, &keys[from], one.value);
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
		u32 known = 0;

		/* What divides the watch is reported only once, by the part: its share of all IOs is known. */
		if (respects[i].by && of->n && io->part && !strcmp(io->part->by, respects[i].by))
			continue;
		for (u32 k = 0; k < of->n; k++)
			known += respects[i].key(r->copies[watch].device, &io[k], &keys[known]);
		if (!known)
			continue;
		qsort(keys, known, sizeof(*keys), by_key);
		choose(r, watch, &respects[i], keys, known, &ret[n]);
		ret[n].by = ret[n].by ?: io->part->by;
		n++;
	}
	return n;
}

#define IOS_LEAST 20
#define SURE 0.001
#define FACTOR 2

static bool stands_out(const struct slow_common *c)
{
	double share = (double)c->ios / c->of;

	return c->of >= IOS_LEAST && c->p >= 0 && c->p < SURE &&
	       (share >= FACTOR * c->share_of_all || 1 - share <= (1 - c->share_of_all) / FACTOR);
}

static int report(const struct inquiry *q, const struct slow_common *c)
{
	char who[FINDING_WHO], n[UNITS_TEXT], found[UNITS_TEXT], slow[UNITS_TEXT], all[UNITS_TEXT];
	const struct slow_of *of = &q->run->slow.of[q->watch - q->run->watches];
	struct finding *f = finding_add(q, "slow_common", -1);

	if (!f)
		return -ENOMEM;
	finding_value(f, "slow", c->of);
	finding_value(f, "share", (double)c->ios / c->of);
	finding_value(f, "share_of_all", c->share_of_all);
	finding_value(f, "p_value", c->p);
	finding_say(f, "%s: of %s slow IOs", finding_who(q, -1, who), units_count(n, c->of));
	if (of->found > of->n)
		finding_say(f, " (%s were found)", units_count(found, of->found));
	finding_say(f, " %s are %s%s %.128s, of all IOs %s", units_share(slow, (double)c->ios / c->of),
		    strcmp(c->by, by_names[BLKLAT_BY_BESIDE]) ? "of " : "", c->by, c->value, units_share(all, c->share_of_all));
	finding_rule(f, "%d or more slow IOs, at least %d times as frequent as among all IOs, or all others at most "
		     "half as frequent; p < %g (%s; it takes IOs for independent, which those of one burst are not)", IOS_LEAST, FACTOR, SURE, SLOW_COMMON_METHOD);
	return 0;
}

int find_slow_common(const struct inquiry *q)
{
	struct slow_common all[SLOW_COMMON_MAX];
	int err = 0, n;

	if (!q->run->slow.most)
		return 0;
	n = slow_common_of(q->run, q->watch - q->run->watches, all);
	for (int i = 0; !err && i < n; i++)
		if (stands_out(&all[i]))
			err = report(q, &all[i]);
	return n < 0 ? n : err;
}
