// SPDX-License-Identifier: GPL-2.0-only
#include "core/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cgroup.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/utf8.h"

struct search {
	const struct device_table *table;
	size_t root_len;		/* of the part before a cgroup's own path */
	char path[PATH_MAX];		/* of the cgroup being searched */
	struct throttles found;
};

static int add(struct search *s, u32 device, const char *limits)
{
	struct throttles *ts = &s->found;
	const char *cgroup = s->path[s->root_len] ? s->path + s->root_len : "/";
	struct throttle *t;

	if (array_more(&ts->t, sizeof(*ts->t), ts->n, &ts->room))
		return -ENOMEM;
	t = &ts->t[ts->n];
	*t = (struct throttle){ .device = device, .cgroup = strdup(cgroup) };
	if (!t->cgroup)
		return -ENOMEM;
	text_clean(t->cgroup);
	snprintf(t->limits, sizeof(t->limits), "%s", limits);
	text_clean(t->limits);
	ts->n++;
	return 0;
}

/* A line of io.max is "8:16 rbps=2097152 wbps=max riops=max wiops=120": Documentation/admin-guide/cgroup-v2.rst. */
static int take_line(struct search *s, char *line)
{
	char *rest = line, *word, limits[128] = "";
	u32 major, minor, used = 0;

	word = strsep(&rest, " \n");
	if (sscanf(word, "%u:%u", &major, &minor) != 2)
		return 0;
	while ((word = strsep(&rest, " \n"))) {
		const char *value = strchr(word, '=');

		if (value && strcmp(value, "=max") != 0 && used + strlen(word) + 2 < sizeof(limits))
			used += snprintf(limits + used, sizeof(limits) - used, "%s%s", used ? " " : "", word);
	}
	for (u32 i = 0; used && i < s->table->n; i++)
		if (s->table->d[i].major == major && s->table->d[i].minor == minor && !s->table->d[i].hidden)
			return add(s, i, limits);
	return 0;
}

static int take_limits(void *arg, int dir)
{
	struct search *s = arg;
	int err = 0, fd = openat(dir, "io.max", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f CLEANUP(cleanup_fclose) = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (fd >= 0 && !f)
		close(fd);
	while (f && !err && fgets(line, sizeof(line), f))
		err = take_line(s, line);
	return err;
}

static int by_device(const void *a, const void *b)
{
	const struct throttle *s = a, *t = b;

	return ((s->device > t->device) - (s->device < t->device)) ?: strcmp(s->cgroup, t->cgroup);
}

int throttles_read(const struct device_table *t, struct throttles *ret)
{
	struct search *s CLEANUP(cleanup_free) = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->table = t;
	s->root_len = cgroup_hierarchy(t->root, s->path, sizeof(s->path));
	err = cgroups_walk(s->path, sizeof(s->path), take_limits, s);
	if (err) {
		throttles_uninit(&s->found);
		return err;
	}
	if (s->found.n)
		qsort(s->found.t, s->found.n, sizeof(*s->found.t), by_device);
	*ret = s->found;
	return 0;
}

void throttles_uninit(struct throttles *ts)
{
	for (u32 i = 0; i < ts->n; i++)
		free(ts->t[i].cgroup);
	free(ts->t);
	*ts = (struct throttles){ 0 };
}
