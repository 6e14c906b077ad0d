// SPDX-License-Identifier: GPL-2.0-only
#include "recording/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recording/file.h"
#include "util/array.h"
#include "util/cleanup.h"

#define NAME_FORMAT "%Y-%m-%dT%H-%M-%SZ.blklat"

void archive_name(char ret[ARCHIVE_NAME], s64 wall_ns)
{
	time_t s = wall_ns / (s64)NSEC_PER_SEC - (wall_ns % (s64)NSEC_PER_SEC < 0);
	struct tm tm;

	if (!gmtime_r(&s, &tm) || !strftime(ret, ARCHIVE_NAME, NAME_FORMAT, &tm))
		ret[0] = '\0';
}

bool archive_begins(const char *name, s64 *ret_wall_ns)
{
	char same[ARCHIVE_NAME];
	struct tm tm = { 0 };
	const char *end = strptime(name, NAME_FORMAT, &tm);
	s64 ns;

	if (!end || *end)
		return false;
	ns = timegm(&tm) * (s64)NSEC_PER_SEC;
	/* strptime() also takes names that are not ours, such as those with fewer digits. */
	archive_name(same, ns);
	if (strcmp(name, same))
		return false;
	*ret_wall_ns = ns;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct archive_file *x = a, *y = b;

	return (x->begins_ns > y->begins_ns) - (x->begins_ns < y->begins_ns);
}

static int add(struct archive *a, u32 *room, int folder, const char *name)
{
	struct archive_file f = { 0 };
	char log[ARCHIVE_NAME + 8];
	struct stat st;

	if (!archive_begins(name, &f.begins_ns) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
	strcpy(f.name, name);
	f.bytes = st.st_blocks * 512;
	snprintf(log, sizeof(log), "%s-wal", f.name);
	if (!fstatat(folder, log, &st, AT_SYMLINK_NOFOLLOW))
		f.bytes += st.st_blocks * 512;
	if (array_more(&a->file, sizeof(*a->file), a->n, room))
		return -ENOMEM;
	a->file[a->n++] = f;
	return 0;
}

int archive_read(struct archive *a, const char *folder, struct problem *p)
{
	DIR *dir CLEANUP(cleanup_closedir) = opendir(folder);
	struct dirent *entry;
	u32 room = 0;
	int err = dir ? 0 : -errno;

	*a = (struct archive){ 0 };
	while (!err && (entry = readdir(dir)))
		err = add(a, &room, dirfd(dir), entry->d_name);
	if (err)
		return problem_set(p, err, "%s: can't be read: %s", folder, strerror(-err));
	if (a->n)
		qsort(a->file, a->n, sizeof(*a->file), by_time);
	return 0;
}

void archive_free(struct archive *a)
{
	free(a->file);
	*a = (struct archive){ 0 };
}

int archive_delete(const char *folder, const char *name, struct problem *p)
{
	char *path CLEANUP(cleanup_free) = NULL;
	int err = asprintf(&path, "%s/%s", folder, name) < 0 ? -ENOMEM : recording_file_delete(path);

	return err && err != -ENOENT ? problem_set(p, err, "%s/%s: can't be deleted: %s", folder, name, strerror(-err)) : 0;
}

int archive_trim(const char *folder, const struct archive_limits *limits, s64 now_ns, const char *current, u64 *ret,
		 struct problem *p)
{
	CLEANUP(archive_free) struct archive a = { 0 };
	int err = archive_read(&a, folder, p);
	u64 bytes = 0;

	*ret = 0;
	for (u32 i = 0; i < a.n; i++)
		bytes += a.file[i].bytes;
	for (u32 i = 0; !err && i < a.n; i++) {
		bool old = i + 1 < a.n && a.file[i + 1].begins_ns < now_ns - (s64)limits->keep_ns;

		if (!strcmp(a.file[i].name, current)) {
			*ret = a.file[i].bytes;
			continue;
		}
		if (!old && bytes <= limits->max_bytes)
			continue;
		err = archive_delete(folder, a.file[i].name, p);
		bytes -= a.file[i].bytes;
	}
	return err;
}
