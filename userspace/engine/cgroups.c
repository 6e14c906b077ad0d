// SPDX-License-Identifier: GPL-2.0-only
#include "engine/cgroups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blklat/parts.h"
#include "core/cgroup.h"
#include "util/utf8.h"

/* By number. */
static struct known {
	u64 id;			/* 0: there is none yet */
	const struct part *part;
} known[BLKLAT_CGROUPS_MAX];

static bool is_taken(const char *label, u32 but)
{
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++)
		if (i != but && known[i].id && !strcmp(known[i].part->label, label))
			return true;
	return false;
}

/* Of what is too long the end is told, since that says most. It begins with a whole character. */
static const char *end_of(const char *path, size_t room)
{
	size_t len = strlen(path);
	const char *end = len > room ? path + len - room : path;

	while (*end && !utf8_begins(*end))
		end++;
	return end;
}

/*
 * One that is gone, or not to be seen from here, has the name that it had. One that came again where another one of the same
 * path has ended, as a service that is restarted, is another one, which the label tells.
 */
static const struct part *part_of(u32 number, const char *path, const char *name)
{
	char label[PART_LABEL_MAX];
	const char *end = path ? end_of(path, sizeof(label) - 16) : NULL;
	size_t len;

	if (path)
		snprintf(label, sizeof(label), "%s%s", end == path ? "" : "...", end);
	else
		snprintf(label, sizeof(label), "%.*s (gone)", (int)sizeof(((struct blklat_cgroup *)0)->name), name);
	text_clean(label);
	len = strlen(label);	/* without blanks at its ends, which would hide what follows */
	for (u32 again = 2; is_taken(label, number); again++)
		snprintf(label + len, sizeof(label) - len, " #%u", again);
	return part_find(by_names[BLKLAT_BY_CGROUP], label);
}

/* Numbers begin anew when no capture is left; what was known of those before is of no use. */
static void forget(const struct blklat_cgroup *list, u32 n)
{
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++)
		if (i >= n || known[i].id != list[i].id)
			known[i].id = 0;
}

/* Looks for all that are new at once. */
static int learn(const char *root, const struct blklat_cgroup *list, u32 n)
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
		err = cgroups_find(root, sought, new);
	for (u32 i = 0; i < new; i++) {
		struct known *k = &known[number[i]];

		k->part = err ? NULL : part_of(number[i], sought[i].path, list[number[i]].name);
		k->id = k->part ? sought[i].id : 0;
		err = k->part ? err : -ENOMEM;
		free(sought[i].path);
	}
	return err;
}

int cgroups_name(struct kernel_capture *k, const struct blklat_cgroup *list)
{
	struct capture *c = &k->capture;
	int err = learn(c->devices->root, list, k->cgroups);

	for (u32 i = 0; i < c->n_watches; i = next_whole(k, i))
		for (u32 n = 0; n < k->cgroups; n++)
			if (list[n].id && known[n].id == list[n].id)
				c->watches[i + BLKLAT_CGROUP_FIRST + n].part = known[n].part;
	return err;
}
