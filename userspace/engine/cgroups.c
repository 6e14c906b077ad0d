// SPDX-License-Identifier: GPL-2.0-only
#include "engine/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/cgroup.h"
#include "core/kubernetes.h"
#include "util/cleanup.h"
#include "util/sysfs.h"
#include "util/utf8.h"

#define FORMER 256
#define QUIET 2		/* quiet reads before the number of an ended cgroup is released */

/* The known cgroups, or processes, by number. */
static struct known {
	u64 id;			/* 0: no cgroup yet */
	const struct part *part;
	char *path;		/* NULL: not visible from here, or a process */
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

/*
 * Another owner that has ended may have had the same label, such as that of a restarted service. Then this one's gets a
 * number, as the two are different. @label is clean, without blanks at its end.
 */
static const struct part *part_called(enum blklat_by by, u32 number, char label[PART_LABEL_MAX])
{
	size_t len = strlen(label);

	for (u32 again = 2; is_taken(label, number); again++)
		snprintf(label + len, PART_LABEL_MAX - len, " #%u", again);
	return part_find(by_names[by], label);
}

/* A cgroup that is gone, or not visible from here, is named by its stored name. */
static const struct part *part_of(u32 number, const char *path, const char *name, const char *node)
{
	char *pod CLEANUP(cleanup_free) = path && node ? kubernetes_label(node, path) : NULL;
	char label[PART_LABEL_MAX];
	const char *end;

	path = pod ?: path;
	/* The end of a path says most. */
	end = path ? utf8_tail(path, sizeof(label) - 16) : NULL;
	if (path)
		snprintf(label, sizeof(label), "%s%s", end == path ? "" : "...", end);
	else
		snprintf(label, sizeof(label), "%.*s (gone)", (int)sizeof(((struct blklat_cgroup *)0)->name), name);
	text_clean(label);
	return part_called(BLKLAT_BY_CGROUP, number, label);
}

static const struct part *part_again(u32 number, u64 id)
{
	const struct former *f = &former[id % FORMER];

	return f->id == id && !is_taken(f->part->label, number) ? f->part : NULL;
}

/*
 * The name of a process as it is now. False if it has ended, or can't be seen from here: then the file is that of
 * another one, which began at another time. That is in ticks of the clock there, from the 20th field after the name on.
 */
static bool process_name(const char *root, u64 id, char *ret, size_t size)
{
	const u64 tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
	char path[PATH_MAX], stat[512], *name, *end, *at;
	u64 began;

	snprintf(path, sizeof(path), "%s/proc/%u/stat", root, blklat_process_tgid(id));
	sysfs_text(AT_FDCWD, path, stat, sizeof(stat));
	name = strchr(stat, '(');
	end = at = strrchr(stat, ')');
	for (u32 i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (!name || !at)
		return false;
	began = strtoull(at, NULL, 10) * tick_ns;
	if (BLKLAT_BEGAN(((id >> BLKLAT_TGID_BITS) - (began >> 20)) << 20) > 1 + (tick_ns >> 20))
		return false;
	snprintf(ret, size, "%.*s", (int)(end - name - 1), name + 1);
	return true;
}

/* A process that has no name now has the one with which it began its first IO; then this returns false. */
static bool process_label(const char *root, const struct blklat_cgroup *process, char label[PART_LABEL_MAX])
{
	char name[sizeof(process->name)];
	bool there = process_name(root, process->id, name, sizeof(name));

	snprintf(label, PART_LABEL_MAX, "%.*s (%u)", (int)sizeof(name), there ? name : process->name,
		 blklat_process_tgid(process->id));
	text_clean(label);
	return there;
}

static const struct part *process_part(u32 number, const char *root, const struct blklat_cgroup *process)
{
	char label[PART_LABEL_MAX];

	process_label(root, process, label);
	return part_called(BLKLAT_BY_PROCESS, number, label);
}

/* Numbers start again when no capture is left, and a released number gets another owner. */
static void forget(const struct blklat_cgroup *list, u32 n)
{
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++) {
		struct known *k = &known[i];

		if (!k->id || (i < n && k->id == list[i].id))
			continue;
		former[k->id % FORMER].id = k->id;
		part_keep(&former[k->id % FORMER].part, k->part);
		part_keep(&k->part, NULL);
		free(k->path);
		*k = (struct known){ 0 };
	}
}

/* Looks up all new cgroups at once. */
static int learn(const struct kernel_capture *c, const struct blklat_cgroup *list)
{
	const struct device_table *t = c->capture.devices;
	struct cgroup_sought sought[BLKLAT_CGROUPS_MAX];
	u32 number[BLKLAT_CGROUPS_MAX], new = 0, n = c->cgroups;
	bool processes = c->by == BLKLAT_BY_PROCESS;
	int err = 0;

	forget(list, n);
	for (u32 i = 0; i < n; i++) {
		if (!list[i].id || known[i].id)
			continue;
		number[new] = i;
		sought[new++] = (struct cgroup_sought){ .id = list[i].id };
	}
	if (new && !processes)
		err = cgroups_find(t->root, sought, new);
	for (u32 i = 0; i < new; i++) {
		struct known *k = &known[number[i]];
		const struct part *part = NULL;

		if (processes)
			part = process_part(number[i], t->root, &list[number[i]]);
		else if (!sought[i].path)
			part = part_again(number[i], sought[i].id);
		if (!part && !processes)
			part = err ? NULL : part_of(number[i], sought[i].path, list[number[i]].name, t->node);
		part_keep(&k->part, part);
		k->id = part ? sought[i].id : 0;
		k->path = part ? sought[i].path : NULL;
		if (part)
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
			part ?: part_numbered(k->by, BLKLAT_CGROUP_FIRST + number);
}

int cgroups_name(struct kernel_capture *k, const struct blklat_cgroup *list)
{
	int err = learn(k, list);

	for (u32 n = 0; n < k->cgroups; n++)
		if (!list[n].id || known[n].id == list[n].id)
			put_part(k, n, list[n].id ? known[n].part : NULL);
	return err;
}

/* --- cgroups and processes that have ended --------------------------------------------------- */

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

/* A process with another name than before gets another part. */
static bool is_there(const struct kernel_capture *k, const struct blklat_cgroup *owner, const struct known *is)
{
	const char *root = k->capture.devices->root;
	char label[PART_LABEL_MAX];

	if (k->by == BLKLAT_BY_PROCESS)
		return process_label(root, owner, label) && !strcmp(label, is->part->label);
	return is->path && cgroup_is_there(root, is->path, is->id);
}

static bool may_leave(const struct kernel_capture *k, const struct blklat_cgroup *list, u32 number)
{
	const struct owner *o = &k->owners[number];
	const struct known *is = &known[number];

	if (o->step != BLKLAT_STEP_HELD)
		return o->quiet;
	return o->quiet >= QUIET && is->id == o->id && !is_there(k, &list[number], is);
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
		if (list[i].id && may_leave(k, list, i))
			leaving[n++] = (struct blklat_leaving){ .id = o->id, .number = i, .step = o->step };
	}
	err = n ? let_go(k, leaving, n) : 0;
	for (u32 i = 0; !err && i < n; i++)
		take_step(k, &leaving[i]);
	return err;
}
