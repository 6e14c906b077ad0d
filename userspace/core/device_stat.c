// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/device.h"
#include "util/cleanup.h"
#include "util/sysfs.h"

/* Positions of the figures. Discards exist since Linux 4.18, flushes since 5.5, which writes all 17. */
enum { STAT_READS = 0, STAT_WRITES = 4, STAT_IN_FLIGHT = 8, STAT_DISCARDS = 11, STAT_FLUSHES = 15, STAT_FIGURES = 17 };

/* A file of the device's directory. */
static void path_of(const struct device_table *t, const struct device *d, const char *file, char *ret, size_t size)
{
	snprintf(ret, size, "%s%s/%s", t->root, d->sysfs, file);
}

/*
 * Has another device come under this name? Between two looks a device may go and another one come. A new directory in
 * sysfs never gets the inode of an earlier one (kernfs_ino()). A device that stays gets another diskseq when its medium
 * changes, for example the file of a loop device (inc_diskseq() in block/genhd.c).
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

static int parse_stat(const char *s, struct kernel_stat *ret)
{
	u64 figures[STAT_FIGURES];

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

int device_kernel_stat(const struct device_table *t, const struct device *d, struct kernel_stat *ret)
{
	char path[sizeof(t->root) + sizeof(d->sysfs) + 8], text[512];

	if (!has_size(t, d) || replaced(t, d))
		return -ENODEV;
	path_of(t, d, "stat", path, sizeof(path));
	if (sysfs_text(AT_FDCWD, path, text, sizeof(text)))
		return -ENODEV;
	return parse_stat(text, ret);
}

/* --- the same with files that are kept open ------------------------------------------------- */

static int open_in(int dir, const char *file)
{
	return openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void device_files_open(const struct device_table *t, const struct device *d, struct device_files *ret)
{
	char path[sizeof(t->root) + sizeof(d->sysfs) + 8];
	CLEANUP(cleanup_close) int dir = -1;
	struct stat st;

	*ret = DEVICE_FILES_NONE;
	path_of(t, d, ".", path, sizeof(path));
	dir = sysfs_open_dir(AT_FDCWD, path);
	if (dir < 0 || fstat(dir, &st) || (d->node && st.st_ino != d->node))
		return;
	ret->size = open_in(dir, "size");
	ret->stat = open_in(dir, "stat");
	ret->diskseq = d->diskseq ? open_in(dir, device_is_partition(d) ? "../diskseq" : "diskseq") : -1;
	if (ret->size < 0 || ret->stat < 0 || (d->diskseq && ret->diskseq < 0))
		device_files_close(ret);
}

void device_files_close(struct device_files *f)
{
	cleanup_close(&f->size);
	cleanup_close(&f->stat);
	cleanup_close(&f->diskseq);
	*f = DEVICE_FILES_NONE;
}

/* If the device was removed, reads fail with ENODEV (kernfs_get_active()). */
static bool read_again(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

int device_files_stat(const struct device_files *f, const struct device_table *t, const struct device *d,
		      struct kernel_stat *ret)
{
	char text[512];

	if (f->stat < 0)
		return device_kernel_stat(t, d, ret);
	if (!read_again(f->size, text, sizeof(text)) || !strtoull(text, NULL, 10))
		return -ENODEV;
	if (d->diskseq && (!read_again(f->diskseq, text, sizeof(text)) || strtoull(text, NULL, 10) != d->diskseq))
		return -ENODEV;
	return read_again(f->stat, text, sizeof(text)) ? parse_stat(text, ret) : -ENODEV;
}
