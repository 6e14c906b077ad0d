// SPDX-License-Identifier: GPL-2.0-only
#include "util/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/utf8.h"

int sysfs_text(int dir, const char *path, char *ret, size_t size)
{
	/* In a recording a file may be anything, and a FIFO must not block us. */
	CLEANUP(cleanup_close) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	ret[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, ret, size - 1);
	if (n < 0) {
		n = -errno;
		ret[0] = '\0';
		return n;
	}
	ret[n] = '\0';
	text_clean(ret);
	return 0;
}

int sysfs_u64(int dir, const char *path, u64 *ret)
{
	char text[32], *end;
	int err = sysfs_text(dir, path, text, sizeof(text));
	u64 value;

	if (err)
		return err;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno)
		return -EINVAL;
	*ret = value;
	return 0;
}

u32 sysfs_u32_or(int dir, const char *path, u32 otherwise)
{
	u64 value;

	return sysfs_u64(dir, path, &value) || value > ~0u ? otherwise : value;
}

int sysfs_choice(int dir, const char *path, char *ret, size_t size)
{
	char text[256];
	const char *from, *word = text;
	int err = sysfs_text(dir, path, text, sizeof(text));
	size_t len;

	ret[0] = '\0';
	if (err)
		return err;
	from = strchr(text, '[');
	if (from)
		word = from + 1;
	len = strcspn(word, from ? "]" : " ");
	if (!len || (from ? word[len] != ']' : word[len]))
		return -EINVAL;
	snprintf(ret, size, "%.*s", (int)len, word);
	text_clean(ret);	/* the cut may have split a character */
	return 0;
}

int sysfs_open_dir(int dir, const char *path)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int is_shown(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int sysfs_entries(int dir, const char *path, int (*each)(int dir, const char *name, void *into), void *into)
{
	CLEANUP(cleanup_close) int fd = sysfs_open_dir(dir, path);
	struct dirent **list;
	int err = 0, n;

	if (fd < 0)
		return fd;
	n = scandirat(fd, ".", &list, is_shown, versionsort);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		err = err ?: each(fd, list[i]->d_name, into);
		free(list[i]);
	}
	free(list);
	return err;
}

u32 sysfs_cpus(const char *root)
{
	char path[PATH_MAX], list[4096];	/* "0-3,8", in ascending order */
	size_t at;
	u32 last;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/possible", root);
	sysfs_text(AT_FDCWD, path, list, sizeof(list));
	for (at = strlen(list); at && isdigit((unsigned char)list[at - 1]); at--)
		;
	return sscanf(list + at, "%9u", &last) == 1 ? last + 1 : sysconf(_SC_NPROCESSORS_CONF);
}
