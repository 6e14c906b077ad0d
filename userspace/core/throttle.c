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

/*
 * A file of limits, and what takes a line of it; of version 1 each limit has a file, and @name is what version 2
 * calls it.
 */
struct search;
struct limit_file {
	const char *file, *name;
	int (*take)(struct search *s, char *line, const struct limit_file *l);
};

struct search {
	const struct device_table *table;
	size_t root_len;		/* of the part before a cgroup's own path */
	char path[PATH_MAX];		/* of the cgroup being searched */
	struct throttles found;
};

/* The limits that this cgroup and device have already; its files are read one after the other. */
static struct throttle *same(struct throttles *ts, u32 device, const char *cgroup)
{
	for (u32 i = ts->n; i-- > 0 && !strcmp(ts->t[i].cgroup, cgroup);)
		if (ts->t[i].device == device)
			return &ts->t[i];
	return NULL;
}

static int add(struct search *s, u32 device, const char *file, const char *limits)
{
	struct throttles *ts = &s->found;
	const char *cgroup = s->path[s->root_len] ? s->path + s->root_len : "/";
	struct throttle *t = same(ts, device, cgroup);

	if (t) {
		snprintf(t->limits + strlen(t->limits), sizeof(t->limits) - strlen(t->limits), " %s", limits);
		return 0;
	}
	if (array_more(&ts->t, sizeof(*ts->t), ts->n, &ts->room))
		return -ENOMEM;
	t = &ts->t[ts->n];
	*t = (struct throttle){ .device = device, .file = file, .cgroup = strdup(cgroup) };
	if (!t->cgroup)
		return -ENOMEM;
	text_clean(t->cgroup);
	snprintf(t->limits, sizeof(t->limits), "%s", limits);
	text_clean(t->limits);
	ts->n++;
	return 0;
}

/* @limits of the device of this number, if it is known. */
static int add_limits(struct search *s, u32 major, u32 minor, const char *file, const char *limits)
{
	for (u32 i = 0; i < s->table->n; i++)
		if (s->table->d[i].major == major && s->table->d[i].minor == minor && !s->table->d[i].hidden)
			return add(s, i, file, limits);
	return 0;
}

/* A line of io.max is "8:16 rbps=2097152 wbps=max riops=max wiops=120": Documentation/admin-guide/cgroup-v2.rst. */
static int take_line(struct search *s, char *line, const struct limit_file *l)
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
	return used ? add_limits(s, major, minor, l->file, limits) : 0;
}

/*
 * A line of version 1 is "8:16 2097152", and a limit is a file:
 * Documentation/admin-guide/cgroup-v1/blkio-controller.rst.
 */
static int take_line_v1(struct search *s, char *line, const struct limit_file *l)
{
	char limits[64];
	u32 major, minor;
	u64 value;

	if (sscanf(line, "%9u:%9u %19llu", &major, &minor, &value) != 3)
		return 0;
	snprintf(limits, sizeof(limits), "%s=%llu", l->name, value);
	return add_limits(s, major, minor, "blkio.throttle", limits);
}

static const struct limit_file limit_files[] = {
	{ "io.max", "", take_line },
	{ "blkio.throttle.read_bps_device", "rbps", take_line_v1 },
	{ "blkio.throttle.write_bps_device", "wbps", take_line_v1 },
	{ "blkio.throttle.read_iops_device", "riops", take_line_v1 },
	{ "blkio.throttle.write_iops_device", "wiops", take_line_v1 },
};

static int take_limits(void *arg, int dir)
{
	struct search *s = arg;
	int err = 0;

	for (const struct limit_file *l = limit_files; !err && l < limit_files + ARRAY_SIZE(limit_files); l++) {
		int fd = openat(dir, l->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		FILE *f CLEANUP(cleanup_fclose) = fd < 0 ? NULL : fdopen(fd, "r");
		char line[256];

		if (fd >= 0 && !f)
			close(fd);
		while (f && !err && fgets(line, sizeof(line), f))
			err = l->take(s, line, l);
	}
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
	s->root_len = snprintf(s->path, sizeof(s->path), "%s/sys/fs/cgroup/blkio", t->root);
	err = err ?: cgroups_walk(s->path, sizeof(s->path), take_limits, s);
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
