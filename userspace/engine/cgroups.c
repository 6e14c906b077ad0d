// SPDX-License-Identifier: GPL-2.0-only
#include "engine/cgroups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cgroup.h"
#include "core/kubernetes.h"
#include "util/cleanup.h"
#include "util/utf8.h"

#define FORMER 256
#define QUIET 2		/* quiet reads before the number of an ended cgroup is released */

/* The known cgroups, by number. */
static struct known {
	u64 id;			/* 0: no cgroup yet */
	const struct part *part;
	char *path;		/* NULL: not visible from here */
} known[BLKLAT_CGROUPS_MAX];

/*
 * The parts of released cgroups, by the lower bits of their ids. A cgroup may appear again, when its
 * last pages are written back.
 */
static struct former {
	u64 id;
	const struct part *part;
} former[FORMER];

static bool is_taken(const char *label, u32 but)
{
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++)
		if (i != but && known[i].id && !strcmp(known[i].part->label, label))
			return true;
	return false;
}

/* The end of a path that is too long, since the end says most. Begins at a character boundary. */
static const char *end_of(const char *path, size_t room)
{
	size_t len = strlen(path);
	const char *end = len > room ? path + len - room : path;

	while (*end && !utf8_begins(*end))
		end++;
	return end;
}

/*
 * A cgroup that is gone, or not visible from here, is named by its stored name. If it has the path of an earlier cgroup
 * that has ended, such as that of a restarted service, the label gets a number, as the two are different.
 */
static const struct part *part_of(u32 number, const char *path, const char *name, const char *node)
{
	char *pod CLEANUP(cleanup_free) = path && node ? kubernetes_label(node, path) : NULL;
	char label[PART_LABEL_MAX];
	const char *end;
	size_t len;

	path = pod ?: path;
	end = path ? end_of(path, sizeof(label) - 16) : NULL;
	if (path)
		snprintf(label, sizeof(label), "%s%s", end == path ? "" : "...", end);
	else
		snprintf(label, sizeof(label), "%.*s (gone)", (int)sizeof(((struct blklat_cgroup *)0)->name), name);
	text_clean(label);
	len = strlen(label);	/* after text_clean(), which drops blanks at the ends: the number is next to the text */
	for (u32 again = 2; is_taken(label, number); again++)
		snprintf(label + len, sizeof(label) - len, " #%u", again);
	return part_find(by_names[BLKLAT_BY_CGROUP], label);
}

static const struct part *part_again(u32 number, u64 id)
{
	const struct former *f = &former[id % FORMER];

	return f->id == id && !is_taken(f->part->label, number) ? f->part : NULL;
}

/* Numbers start again when no capture is left, and a released number gets another owner. */
static void forget(const struct blklat_cgroup *list, u32 n)
{
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++) {
		struct known *k = &known[i];

		if (!k->id || (i < n && k->id == list[i].id))
			continue;
		former[k->id % FORMER] = (struct former){ k->id, k->part };
		free(k->path);
		*k = (struct known){ 0 };
	}
}

/* Looks up all new cgroups at once. */
static int learn(const struct device_table *t, const struct blklat_cgroup *list, u32 n)
{
	struct cgroup_sought sought[BLKLAT_CGROUPS_MAX];
	u32 number[BLKLAT_CGROUPS_MAX], new = 0;
	int err = 0;

	forget(list, n);
	for (u32 i = 0; i < n; i++) {
		if (!list[i].id || known[i].id)
			continue;
		number[new] = i;
		sought[new++] = (struct cgroup_sought){ .id = list[i].id };
	}
	if (new)
		err = cgroups_find(t->root, sought, new);
	for (u32 i = 0; i < new; i++) {
		struct known *k = &known[number[i]];

		k->part = sought[i].path ? NULL : part_again(number[i], sought[i].id);
		if (!k->part)
			k->part = err ? NULL : part_of(number[i], sought[i].path, list[number[i]].name, t->node);
		k->id = k->part ? sought[i].id : 0;
		k->path = k->part ? sought[i].path : NULL;
		if (k->part)
			continue;
		free(sought[i].path);
		err = -ENOMEM;
	}
	return err;
}

static void put_part(struct kernel_capture *k, u32 number, const struct part *part)
{
	struct capture *c = &k->capture;

	for (u32 i = 0; i < c->n_watches; i = next_whole(k, i))
		c->watches[i + BLKLAT_CGROUP_FIRST + number].part =
			part ?: part_numbered(BLKLAT_BY_CGROUP, BLKLAT_CGROUP_FIRST + number);
}

int cgroups_name(struct kernel_capture *k, const struct blklat_cgroup *list)
{
	int err = learn(k->capture.devices, list, k->cgroups);

	for (u32 n = 0; n < k->cgroups; n++)
		if (!list[n].id || known[n].id == list[n].id)
			put_part(k, n, list[n].id ? known[n].part : NULL);
	return err;
}

/* --- cgroups that have ended ---------------------------------------------------------------- */

static u64 sums_of(const struct watch_counts *w)
{
	u64 sums = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_counts *o = &w->ops[op];

		sums += hist_count(&o->hist) + o->sum_ns + o->bytes + o->errors + o->after_idle_sum_ns;
	}
	return sums;
}

/* IOs that were in flight on a device that went away never end, so they do not count. */
static void look_at(const struct kernel_capture *k, const struct snapshot *s, u32 number, u64 id, struct owner *o)
{
	struct owner is = { .id = id, .step = o->step, .quiet = o->quiet };
	bool moves = o->id != id;

	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		const struct watch_counts *w = &s->w[i + BLKLAT_CGROUP_FIRST + number];

		is.counted += sums_of(w);
		moves |= w->in_flight && !w->gone;
	}
	moves |= is.counted != o->counted;
	if (o->id != id)
		is.step = BLKLAT_STEP_HELD;
	is.quiet = moves ? 0 : o->quiet + 1;
	*o = is;
}

static bool may_leave(const struct kernel_capture *k, u32 number)
{
	const struct owner *o = &k->owners[number];
	const struct known *is = &known[number];

	if (o->step != BLKLAT_STEP_HELD)
		return o->quiet;
	return o->quiet >= QUIET && is->id == o->id &&
	       !(is->path && cgroup_is_there(k->capture.devices->root, is->path, is->id));
}

static void take_step(struct kernel_capture *k, const struct blklat_leaving *l)
{
	struct owner *o = &k->owners[l->number];

	if (l->step == BLKLAT_STEP_FREE) {
		*o = (struct owner){ 0 };
		put_part(k, l->number, NULL);
	} else if (l->step != o->step) {
		o->step = l->step;
		o->quiet = 0;
	}
}

int cgroups_leave(struct kernel_capture *k, const struct blklat_cgroup *list, const struct snapshot *s,
		  int (*let_go)(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n))
{
	struct blklat_leaving leaving[BLKLAT_CGROUPS_MAX];
	u32 n = 0;
	int err;

	for (u32 i = 0; i < k->cgroups; i++) {
		struct owner *o = &k->owners[i];

		if (list[i].id)
			look_at(k, s, i, list[i].id, o);
		else
			*o = (struct owner){ 0 };
		if (list[i].id && may_leave(k, i))
			leaving[n++] = (struct blklat_leaving){ .id = o->id, .number = i, .step = o->step };
	}
	err = n ? let_go(k, leaving, n) : 0;
	for (u32 i = 0; !err && i < n; i++)
		take_step(k, &leaving[i]);
	return err;
}
