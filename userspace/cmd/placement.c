// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/placement.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/cleanup.h"

/*
 * The block device of a mount, from its source: files of btrfs have a device number that belongs to no
 * device.
 */
static dev_t mount_source(u64 mount_id)
{
	CLEANUP(cleanup_fclose) FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line CLEANUP(cleanup_free) = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		char *source = strstr(line, " - "), path[4096];
		unsigned long long id;
		struct stat st;

		if (!source || sscanf(line, "%llu ", &id) != 1 || id != mount_id)
			continue;
		if (sscanf(source, " - %*s %4095s", path) == 1 && !stat(path, &st) && S_ISBLK(st.st_mode))
			return st.st_rdev;
	}
	return 0;
}

/* The device that the directory of @file is on; 0 if it is on none. */
static dev_t device_of(const char *file)
{
	char *copy CLEANUP(cleanup_free) = strdup(file);
	struct statx st;
	dev_t dev;

	if (!copy || statx(AT_FDCWD, dirname(copy), 0, STATX_BASIC_STATS | STATX_MNT_ID, &st))
		return 0;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	return !st.stx_dev_major && st.stx_mask & STATX_MNT_ID ? mount_source(st.stx_mnt_id) : dev;
}

/* Marks @i and all devices that its IOs reach: a partition's disk, and the lower devices of a stack. */
static void mark_below(const struct device_table *t, u32 i, bool *below)
{
	const struct device *d = &t->d[i];

	if (below[i])
		return;
	below[i] = true;
	mark_below(t, d->parent, below);
	for (u32 l = 0; l < d->n_lower; l++)
		mark_below(t, d->lower[l], below);
}

static bool shares(const struct device_table *t, const bool *below, const struct device *d)
{
	bool *other CLEANUP(cleanup_free) = calloc(t->n, sizeof(*other));
	bool any = false;

	if (!other)
		return false;
	mark_below(t, d - t->d, other);
	for (u32 i = 0; i < t->n; i++)
		any |= below[i] && other[i];
	return any;
}

static bool find_disturbed(const struct device_table *t, const struct watch *w, u32 n, u32 home,
			   const bool *below, struct problem *p)
{
	for (u32 i = 0; i < n; i++)
		if (below[w[i].device - t->d])
			return problem_set(p, true, "the recording is on %s: the figures of %s include writing it; "
					   "another disk or a tmpfs would be better", t->d[home].name,
					   w[i].device->name);
	for (u32 i = 0; i < n; i++)
		if (shares(t, below, w[i].device))
			return problem_set(p, true, "the recording is on %s, which shares a disk with %s: writing it "
					   "competes with the measured IOs; another disk or a tmpfs would be better",
					   t->d[home].name, w[i].device->name);
	return false;
}

bool placement_disturbs(const struct device_table *t, const struct watch *w, u32 n, const char *file,
			struct problem *p)
{
	bool *below CLEANUP(cleanup_free) = calloc(t->n + 1, sizeof(*below));
	dev_t dev = device_of(file);

	for (u32 i = 0; dev && below && i < t->n; i++) {
		if (t->d[i].hidden || makedev(t->d[i].major, t->d[i].minor) != dev)
			continue;
		mark_below(t, i, below);
		return find_disturbed(t, w, n, i, below, p);
	}
	return false;
}
