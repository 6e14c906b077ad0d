// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "model/device.h"
#include "util/sysfs.h"

/* Places of the figures; discards came with Linux 4.18, flushes with 5.5, which writes all 17. */
enum { STAT_READS = 0, STAT_WRITES = 4, STAT_IN_FLIGHT = 8, STAT_DISCARDS = 11, STAT_FLUSHES = 15, STAT_FIGURES = 17 };

/* A file of the device's directory. */
static void path_of(const struct device_table *t, const struct device *d, const char *file, char *ret,
		    size_t size)
{
	snprintf(ret, size, "%s%s/%s", t->root, d->sysfs, file);
}

/*
 * Has another device come under the name? Between two looks it may go and come. A directory of sysfs never gets the
 * inode of one before (kernfs_ino()); a device that stays has another number when something else is put in, a file into
 * a loop device (inc_diskseq() in block/genhd.c).
 */
static bool replaced(const struct device_table *t, const struct device *d)
{
	char path[sizeof(t->root) + sizeof(d->sysfs) + 16];
	struct stat st;
	u64 diskseq;

	path_of(t, d, ".", path, sizeof(path));
	if (d->node && (stat(path, &st) || st.st_ino != d->node))
		return true;
	path_of(t, d, device_is_partition(d) ? "../diskseq" : "diskseq", path, sizeof(path));
	return d->diskseq && (sysfs_u64(AT_FDCWD, path, &diskseq) || diskseq != d->diskseq);
}

static bool has_size(const struct device_table *t, const struct device *d)
{
	char path[sizeof(t->root) + sizeof(d->sysfs) + 8];
	u64 sectors;

	path_of(t, d, "size", path, sizeof(path));
	return !sysfs_u64(AT_FDCWD, path, &sectors) && sectors;
}

bool device_replaced(const struct device_table *t, const struct device *d)
{
	return has_size(t, d) && replaced(t, d);
}

int device_kernel_stat(const struct device_table *t, const struct device *d, struct kernel_stat *ret)
{
	char path[sizeof(t->root) + sizeof(d->sysfs) + 8], text[512], *s = text;
	u64 figures[STAT_FIGURES];
	int err;

	if (!has_size(t, d) || replaced(t, d))
		return -ENODEV;
	path_of(t, d, "stat", path, sizeof(path));
	err = sysfs_text(AT_FDCWD, path, text, sizeof(text));
	if (err)
		return -ENODEV;
	for (u32 i = 0; i < STAT_FIGURES; i++) {
		char *end;

		figures[i] = strtoull(s, &end, 10);
		if (end == s)
			return -ENODATA;
		s = end;
	}
	ret->ios = figures[STAT_READS] + figures[STAT_WRITES] + figures[STAT_DISCARDS] + figures[STAT_FLUSHES];
	ret->in_flight = figures[STAT_IN_FLIGHT];
	return 0;
}
