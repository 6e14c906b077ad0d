// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/device.h"
#include "util/parse.h"

static void add(u32 *set, u32 *n, u32 index)
{
	for (u32 i = 0; i < *n; i++)
		if (set[i] == index)
			return;
	set[(*n)++] = index;
}

/* Reports that no device has this name, and suggests the nearest one. */
static int not_found(const struct device_table *t, const char *name, struct problem *p)
{
	const char *slash = strrchr(name, '/');
	struct nearest nearest = { .typed = slash ? slash + 1 : name };

	for (u32 i = 0; i < t->n; i++) {
		if (t->d[i].absent)
			continue;
		nearest_look(&nearest, t->d[i].name);
		if (t->d[i].mapper[0])
			nearest_look(&nearest, t->d[i].mapper);
	}
	if (nearest.name)
		return problem_set(p, -ENODEV, "no block device '%s'; did you mean '%s'? ('blklat list' "
				   "shows all)", name, nearest.name);
	return problem_set(p, -ENODEV, "no block device '%s'; 'blklat list' shows all", name);
}

static const char *file_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFCHR:
		return "a character device";
	case S_IFIFO:
		return "a pipe";
	case S_IFSOCK:
		return "a socket";
	default:
		return "a file";
	}
}

/* Reports a file that is not a block device. Users often take /dev/nvme0, the controller, for its disk. */
static int not_block(const struct device_table *t, const char *path, mode_t mode, struct problem *p)
{
	const char *last = strrchr(path, '/') + 1;

	for (u32 i = 0; S_ISCHR(mode) && i < t->n; i++)
		if (!strncmp(t->d[i].name, last, strlen(last)) && !device_is_partition(&t->d[i]) && !t->d[i].hidden &&
		    !t->d[i].absent)
			return problem_set(p, -ENOTBLK, "'%s' is %s, not a block device; did you mean '%s'?",
					   path, file_type(mode), t->d[i].name);
	return problem_set(p, -ENOTBLK, "'%s' is %s, not a block device; 'blklat list' shows all", path,
			   file_type(mode));
}

/* A kernel name is preferred to a mapper name. */
static bool find_name(const struct device_table *t, const char *name, u32 *set, u32 *n)
{
	u32 found = t->n;

	for (u32 i = 0; *name && i < t->n; i++) {
		bool kernel = !strcmp(t->d[i].name, name);

		if (t->d[i].absent || (!kernel && (found < t->n || strcmp(t->d[i].mapper, name) != 0)))
			continue;
		found = i;
		if (kernel)
			break;
	}
	if (found < t->n)
		add(set, n, found);
	return found < t->n;
}

static int find_path_live(const struct device_table *t, const char *path, u32 *set, u32 *n, struct problem *p)
{
	struct stat st;

	if (stat(path, &st)) {
		if (errno == ENOENT || errno == ENOTDIR)
			return not_found(t, path, p);
		return problem_set(p, -ENODEV, "can't access '%s': %s", path, strerror(errno));
	}
	if (!S_ISBLK(st.st_mode))
		return not_block(t, path, st.st_mode, p);
	for (u32 i = 0; i < t->n; i++) {
		if (t->d[i].major == major(st.st_rdev) && t->d[i].minor == minor(st.st_rdev) && !t->d[i].hidden &&
		    !t->d[i].absent) {
			add(set, n, i);
			return 0;
		}
	}
	return problem_set(p, -ENODEV, "'%s' is device %u:%u, which does not exist; 'blklat list' shows all", path,
			   major(st.st_rdev), minor(st.st_rdev));
}

/* A recorded tree has no device nodes, so only names count: the link's target or the path itself. */
static int find_path_recorded(const struct device_table *t, const char *path, u32 *set, u32 *n, struct problem *p)
{
	char file[PATH_MAX], target[PATH_MAX];
	const char *name = path;
	struct stat st;
	ssize_t len;

	if (snprintf(file, sizeof(file), "%s%s", t->root, path) >= (int)sizeof(file))
		return not_found(t, path, p);
	len = readlink(file, target, sizeof(target) - 1);
	if (len > 0) {
		target[len] = '\0';
		name = target;
	} else if (!stat(file, &st) && !S_ISBLK(st.st_mode)) {
		return not_block(t, path, st.st_mode, p);
	}
	/* cciss/c0d0 has a directory in its name. */
	if (!strncmp(name, "/dev/", 5) && find_name(t, name + 5, set, n))
		return 0;
	if (find_name(t, strrchr(name, '/') ? strrchr(name, '/') + 1 : name, set, n))
		return 0;
	return not_found(t, path, p);
}

/* Hidden paths have no device number to watch them by, so only their names select them. */
static int find_pattern(const struct device_table *t, const char *pattern, u32 *set, u32 *n, struct problem *p)
{
	const char *names = strncmp(pattern, "/dev/", 5) ? pattern : pattern + 5;
	bool all = !strcmp(pattern, "all"), found = false;

	for (u32 i = 0; i < t->n; i++) {
		const struct device *d = &t->d[i];

		if (d->hidden || d->absent)
			continue;
		if (all ? device_is_partition(d) || !d->size_bytes : fnmatch(names, d->name, 0))
			continue;
		add(set, n, i);
		found = true;
	}
	if (!found && all)
		return problem_set(p, -ENOENT, "'all' matches no device: no device of this machine has a size");
	if (!found)
		return problem_set(p, -ENOENT, "the pattern '%s' matches no block device; 'blklat list' shows "
				   "all", pattern);
	return 0;
}

int device_find(const struct device_table *t, const char *name, u32 *set, u32 *n, struct problem *p)
{
	if (!name[0])
		return problem_set(p, -ENODEV, "a device's name can't be empty; 'blklat list' shows all");
	if (!strcmp(name, "all"))
		return find_pattern(t, name, set, n, p);
	if (find_name(t, name, set, n))
		return 0;
	/* Names of links may contain these characters. The shell has already expanded what it could. */
	if (strpbrk(name, "*?[") && (name[0] != '/' || access(name, F_OK)))
		return find_pattern(t, name, set, n, p);
	if (!strchr(name, '/'))
		return not_found(t, name, p);
	if (t->root[0])
		return find_path_recorded(t, name, set, n, p);
	return find_path_live(t, name, set, n, p);
}
