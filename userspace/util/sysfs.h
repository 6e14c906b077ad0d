/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads small files of sysfs and procfs, and recordings of them. Whatever a file holds, the text
 * returned fits its buffer and is safe to print.
 */
#ifndef UTIL_SYSFS_H
#define UTIL_SYSFS_H

#include "util/types.h"

/*
 * Reads the file @path below the open directory @dir (AT_FDCWD works) as one trimmed text. Control characters and
 * invalid UTF-8 become '?'; a text longer than @size - 1 is cut. Returns 0, or a negative errno with @ret empty.
 */
int sysfs_text(int dir, const char *path, char *ret, size_t size);

/* Reads a file that is one decimal number. Returns 0, or a negative errno (-EINVAL: not a number). */
int sysfs_u64(int dir, const char *path, u64 *ret);

/* The same, but returns @otherwise if the number is missing, invalid or too large. */
u32 sysfs_u32_or(int dir, const char *path, u32 otherwise);

/*
 * Reads a choice, "none [mq-deadline]": the one in brackets, or the only word there is. Returns 0, or a
 * negative errno (-EINVAL: not a choice) with @ret empty.
 */
int sysfs_choice(int dir, const char *path, char *ret, size_t size);

/*
 * Calls @each for every entry of the directory @path below @dir but those that begin with a dot, sorted by name,
 * numbers in names by their value. Stops early if a call returns nonzero. Returns that value, 0, or a negative errno.
 */
int sysfs_entries(int dir, const char *path, int (*each)(int dir, const char *name, void *into), void *into);

/*
 * The highest number of a possible CPU + 1, like the kernel's nr_cpu_ids: there may be gaps below it. Read from
 * the files below @root/sys.
 */
u32 sysfs_cpus(const char *root);

/* Opens a directory, or a link to one. Returns a descriptor or a negative errno. */
int sysfs_open_dir(int dir, const char *path);

#endif
