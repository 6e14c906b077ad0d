/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small files of sysfs and procfs, and recordings of them: whatever they hold, what is handed out
 * fits and can be shown.
 */
#ifndef UTIL_SYSFS_H
#define UTIL_SYSFS_H

#include "util/types.h"

/*
 * Reads the file @path below the open directory @dir (AT_FDCWD works) as one trimmed text. Control
 * characters and what is no UTF-8 become '?', a text longer than @size - 1 is cut. Returns 0, or a
 * negative errno with @ret empty.
 */
int sysfs_text(int dir, const char *path, char *ret, size_t size);

/* Reads a file that is one decimal number. Returns 0, or a negative errno (-EINVAL: it is none). */
int sysfs_u64(int dir, const char *path, u64 *ret);

/* Same, but a missing, odd or greater number gives @otherwise. */
u32 sysfs_u32_or(int dir, const char *path, u32 otherwise);

/*
 * Reads a choice, "none [mq-deadline]": the one in brackets, or the only word there is. Returns 0, or
 * a negative errno (-EINVAL: it is no choice) with @ret empty.
 */
int sysfs_choice(int dir, const char *path, char *ret, size_t size);

/*
 * Calls @each for every entry of the directory @path below @dir, in no order, but for those that
 * begin with a dot. It ends early when a call returns nonzero. Returns that, 0, or a negative errno.
 */
int sysfs_entries(int dir, const char *path, int (*each)(int dir, const char *name, void *into),
		  void *into);

/* Opens a directory, a link to one as well. Returns a descriptor or a negative errno. */
int sysfs_open_dir(int dir, const char *path);

#endif
