// SPDX-License-Identifier: GPL-2.0-only
#include "core/cgroup.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

/* If version 1 has hierarchies too, version 2's is in a directory of its own. */
size_t cgroup_hierarchy(const char *root, char *path, size_t size)
{
	snprintf(path, size, "%s/sys/fs/cgroup/cgroup.controllers", root);
	return snprintf(path, size, "%s%s", root, access(path, F_OK) ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup");
}

/* Is io among the controllers in @file of the hierarchy @path? @path is unchanged on return. */
static bool has_io(char *path, size_t len, size_t size, const char *file)
{
	FILE *f CLEANUP(cleanup_fclose) = NULL;
	char word[32];
	bool io = false;

	snprintf(path + len, size - len, "/%s", file);
	f = fopen(path, "re");
	path[len] = '\0';
	while (f && !io && fscanf(f, "%31s", word) == 1)
		io = !strcmp(word, "io");
	return io;
}

static size_t io_hierarchy(const char *root, char *path, size_t size)
{
	size_t len = cgroup_hierarchy(root, path, size);

	if (has_io(path, len, size, "cgroup.controllers"))
		return len;
	return snprintf(path, size, "%s/sys/fs/cgroup/blkio", root);
}

bool cgroups_charged(const char *root, char *file, size_t size)
{
	size_t len = cgroup_hierarchy(root, file, size);

	if (!has_io(file, len, size, "cgroup.controllers") || has_io(file, len, size, "cgroup.subtree_control"))
		return true;
	snprintf(file + len, size - len, "/cgroup.subtree_control");
	return false;
}

int cgroups_walk(char *path, size_t size, int (*visit)(void *arg, int dir), void *arg)
{
	size_t len = strlen(path);
	DIR *dir CLEANUP(cleanup_closedir) = opendir(path);
	struct dirent *e;
	int err = dir ? visit(arg, dirfd(dir)) : 0;

	while (dir && !err && (e = readdir(dir))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' || len + strlen(e->d_name) + 2 > size)
			continue;
		sprintf(path + len, "/%s", e->d_name);
		err = cgroups_walk(path, size, visit, arg);
		path[len] = '\0';
	}
	return err;
}

struct search {
	struct cgroup_sought *sought;
	u32 n, missing;
	size_t root_len;	/* of the part before a cgroup's own path */
	char path[PATH_MAX];	/* of the cgroup being searched */
};

/* The id is the inode number of the cgroup's directory. Returns 1 once all are found. */
static int take(void *arg, int dir)
{
	struct search *s = arg;
	struct stat st;

	if (fstat(dir, &st))
		return 0;
	for (u32 i = 0; i < s->n; i++) {
		if (s->sought[i].id != st.st_ino || s->sought[i].path)
			continue;
		s->sought[i].path = strdup(s->path[s->root_len] ? s->path + s->root_len : "/");
		if (!s->sought[i].path)
			return -ENOMEM;
		s->missing--;
	}
	return !s->missing;
}

int cgroups_find(const char *root, struct cgroup_sought *sought, u32 n)
{
	struct search *s CLEANUP(cleanup_free) = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->sought = sought;
	s->n = s->missing = n;
	s->root_len = io_hierarchy(root, s->path, sizeof(s->path));
	err = cgroups_walk(s->path, sizeof(s->path), take, s);
	return err < 0 ? err : 0;
}

bool cgroup_is_there(const char *root, const char *path, u64 id)
{
	char at[2 * PATH_MAX];
	size_t len = io_hierarchy(root, at, PATH_MAX);
	struct stat st;

	snprintf(at + len, sizeof(at) - len, "%s", path);
	if (stat(at, &st))
		return errno != ENOENT && errno != ENOTDIR;
	return st.st_ino == id;
}

/* --- names ---------------------------------------------------------------------------------- */

static bool ends_in(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(name + len - n, end, n);
}

/* The length without systemd's suffix. */
static size_t stem_of(const char *name, size_t len)
{
	if (ends_in(name, len, ".scope") || ends_in(name, len, ".slice"))
		len -= strlen(".scope");
	return len;
}

/* "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope", "libpod-ID.scope", or ID alone. */
static bool take_container(const char *name, size_t len, struct cgroup_names *ret)
{
	const u32 digits = sizeof(ret->container) - 1;
	const char *id;

	len = stem_of(name, len);
	if (len < digits)
		return false;
	id = name + len - digits;
	if (id > name && id[-1] != '-')
		return false;
	for (u32 i = 0; i < digits; i++)
		if (!isxdigit((unsigned char)id[i]))
			return false;
	memcpy(ret->container, id, digits);
	return true;
}

/* "podUID", or with systemd "kubepods-burstable-podUID.slice", where each - of the UID is a _ (kubelet). */
static void take_pod(const char *name, size_t len, struct cgroup_names *ret)
{
	const u32 length = sizeof(ret->pod) - 1;
	const char *uid;

	len = stem_of(name, len);
	if (len < 3 + length || memcmp(name + len - length - 3, "pod", 3) != 0)
		return;
	uid = name + len - length;
	for (u32 i = 0; i < length; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? uid[i] != '-' && uid[i] != '_' : !isxdigit((unsigned char)uid[i]))
			return;
	}
	memcpy(ret->pod, uid, length);
	ret->pod[8] = ret->pod[13] = ret->pod[18] = ret->pod[23] = '-';
}

static bool is_unit(const char *name, size_t len)
{
	static const char *const ends[] = { ".service", ".scope", ".slice", ".mount", ".socket", ".swap" };

	for (u32 i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends_in(name, len, ends[i]))
			return true;
	return false;
}

struct cgroup_names cgroup_names(const char *path)
{
	struct cgroup_names ret = { 0 };

	while (*path == '/') {
		const char *name = path + 1;
		size_t len = strcspn(name, "/");

		path = name + len;
		take_pod(name, len, &ret);
		if (take_container(name, len, &ret))
			ret.unit[0] = '\0';
		else if (is_unit(name, len) && len < sizeof(ret.unit))
			snprintf(ret.unit, sizeof(ret.unit), "%.*s", (int)len, name);
	}
	/* Slices only say where a pod is. */
	if (ret.pod[0])
		ret.unit[0] = '\0';
	return ret;
}
