// SPDX-License-Identifier: GPL-2.0-only
#include "engine/slow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cgroup.h"
#include "core/kubernetes.h"
#include "util/cleanup.h"
#include "util/utf8.h"

/* Cgroups that were looked up, so that their hierarchy is searched only for new ones. The oldest is replaced. */
#define PATHS 256

static struct path {
	u64 id;			/* 0: none */
	char *path;		/* NULL: it was gone already */
} paths[PATHS];
static u32 next_path;

bool slow_wants_notes(const struct kernel_capture *k)
{
	return k->slow.wanted && (!k->slow.no_owners || capture_has_stage(&k->capture, BLKLAT_STAGE_TOTAL) ||
				  capture_has_stage(&k->capture, BLKLAT_STAGE_QUEUE));
}

void slow_begin(struct kernel_capture *k, const struct snapshot *s)
{
	slow_ios_clear(k->capture.slow);
	k->wall_less_mono_ns = s->wall_ns - (s64)s->mono_ns;
}

/*
 * Makes a path of a file's names, in their place. They take no more room; of a deleted file, the first gives way to
 * what /proc adds, too. A file that is not found by a path, as a file server may have it, is its own root.
 */
static void join_names(struct blklat_slow *told)
{
	char *path = told->names[0], names[BLKLAT_NAMES][BLKLAT_NAME];
	bool deleted = told->known & BLKLAT_SLOW_DELETED;

	memcpy(names, told->names, sizeof(names));
	*path = '\0';
	for (u32 i = BLKLAT_NAMES - deleted; told->known & BLKLAT_SLOW_FILE && i--;) {
		names[i][BLKLAT_NAME - 1] = '\0';
		if (!names[i][0] || !strcmp(names[i], "/"))
			continue;
		strcat(path, names[i]);
		if (i)
			strcat(path, "/");
	}
	text_clean(path);
	if (!*path)
		told->known &= ~BLKLAT_SLOW_FILE;
	else if (deleted)
		strcat(path, " (deleted)");
}

int slow_take(struct kernel_capture *k, const struct blklat_slow *told)
{
	struct slow_io io = { .told = *told, .end_ns = told->end_ns + k->wall_less_mono_ns };

	if (told->watch >= k->capture.n_watches || told->op >= BLKLAT_OPS || told->beside > BLKLAT_BESIDE_PARTS ||
	    told->flags > BLKLAT_FLAGS_PARTS || told->pages >= BLKLAT_PAGES_KINDS || told->inode > INT64_MAX)
		return 0;
	io.watch = whole_of(k, told->watch);
	io.told.comm[BLKLAT_COMM - 1] = '\0';
	text_clean(io.told.comm);	/* any process can choose it, and /metrics is read on terminals, too */
	join_names(&io.told);
	return slow_ios_add(k->capture.slow, &io);
}

static const struct path *path_of(u64 id)
{
	for (u32 i = 0; i < PATHS; i++)
		if (paths[i].id == id)
			return &paths[i];
	return NULL;
}

static bool is_sought(const struct cgroup_sought *sought, u32 n, u64 id)
{
	for (u32 i = 0; i < n; i++)
		if (sought[i].id == id)
			return true;
	return false;
}

/* Looks up the cgroups of the list that are not known yet, all at once. */
static int learn_paths(const struct device_table *t, const struct slow_ios *s)
{
	struct cgroup_sought sought[PATHS];
	u32 n = 0;
	int err;

	for (u32 i = 0; i < s->n && n < PATHS; i++) {
		u64 id = s->io[i].told.cgroup;

		if (id && !path_of(id) && !is_sought(sought, n, id))
			sought[n++] = (struct cgroup_sought){ .id = id };
	}
	if (!n)
		return 0;
	err = cgroups_find(t->root, sought, n);
	for (u32 i = 0; i < n; i++) {
		struct path *p = &paths[next_path++ % PATHS];

		char *path = sought[i].path, *label = path && t->node ? kubernetes_label(t->node, path) : NULL;

		if (path)
			text_clean(path);
		if (label)
			free(path);
		free(p->path);
		*p = (struct path){ sought[i].id, label ?: path };
	}
	return err;
}

static void count_untold(struct kernel_capture *k)
{
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		u64 now = k->slow_untold[i];

		k->capture.slow->of[i].found += now - k->state[i].slow_counted;
		k->state[i].slow_counted = now;
	}
}

int slow_finish(struct kernel_capture *k)
{
	struct slow_ios *s = k->capture.slow;
	int err;

	count_untold(k);
	slow_ios_sort(s);
	err = learn_paths(k->capture.devices, s);
	for (u32 i = 0; i < s->n && !err; i++) {
		struct slow_io *io = &s->io[i];
		const struct path *p = io->told.cgroup ? path_of(io->told.cgroup) : NULL;

		part_keep(&io->part, k->capture.watches[io->told.watch].part);
		if (p && p->path) {
			io->cgroup = strdup(p->path);
			err = io->cgroup ? 0 : -ENOMEM;
		}
	}
	return err;
}
