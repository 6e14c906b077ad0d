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

static int open_dir(const struct device_table *t, const struct device *d)
{
	char path[sizeof(t->root) + sizeof(d->sysfs)];

	snprintf(path, sizeof(path), "%s%s", t->root, d->sysfs);
	return sysfs_open_dir(AT_FDCWD, path);
}

/* A new directory in sysfs never gets the inode of an earlier one (kernfs_ino()). */
static bool is_of(int dir, const struct device *d)
{
	struct stat st;

	return !d->node || (!fstat(dir, &st) && st.st_ino == d->node);
}

static const char *diskseq_file(const struct device *d)
{
	return device_is_partition(d) ? "../diskseq" : "diskseq";
}

bool device_replaced(const struct device_table *t, const struct device *d)
{
	CLEANUP(cleanup_close) int dir = open_dir(t, d);
	u64 sectors, diskseq;

	if (dir < 0 || sysfs_u64(dir, "size", &sectors) || !sectors)
		return false;
	return !is_of(dir, d) || (d->diskseq && (sysfs_u64(dir, diskseq_file(d), &diskseq) || diskseq != d->diskseq));
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

static int open_in(int dir, const char *file)
{
	return openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void device_files_open(const struct device_table *t, const struct device *d, struct device_files *ret)
{
	CLEANUP(cleanup_close) int dir = open_dir(t, d);

	*ret = DEVICE_FILES_NONE;
	if (dir < 0 || !is_of(dir, d))
		return;
	ret->size = open_in(dir, "size");
	ret->stat = open_in(dir, "stat");
	ret->diskseq = d->diskseq ? open_in(dir, diskseq_file(d)) : -1;
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

/* A device that stays gets a new diskseq with a new medium, for example a loop device's file (inc_diskseq()). */
static int read_stat(const struct device_files *f, const struct device *d, struct kernel_stat *ret)
{
	char text[512];

	if (f->stat < 0 || !read_again(f->size, text, sizeof(text)) || !strtoull(text, NULL, 10))
		return -ENODEV;
	if (d->diskseq && (!read_again(f->diskseq, text, sizeof(text)) || strtoull(text, NULL, 10) != d->diskseq))
		return -ENODEV;
	return read_again(f->stat, text, sizeof(text)) ? parse_stat(text, ret) : -ENODEV;
}

int device_files_stat(const struct device_files *f, const struct device_table *t, const struct device *d,
		      struct kernel_stat *ret)
{
	CLEANUP(device_files_close) struct device_files opened = DEVICE_FILES_NONE;

	if (f->stat < 0)
		device_files_open(t, d, &opened);
	return read_stat(f->stat < 0 ? &opened : f, d, ret);
}
