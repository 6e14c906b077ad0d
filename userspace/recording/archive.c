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

#include "recording/recorder.h"
#include "util/array.h"
#include "util/cleanup.h"

#define TIME_FORMAT "%Y-%m-%dT%H-%M-%SZ"
static const char *const ends[] = { ".blklat", "-10s.blklat" };

void archive_name(char ret[ARCHIVE_NAME], s64 wall_ns, bool coarse)
{
	time_t s = wall_ns / (s64)NSEC_PER_SEC - (wall_ns % (s64)NSEC_PER_SEC < 0);
	size_t len = 0;
	struct tm tm;

	if (gmtime_r(&s, &tm))
		len = strftime(ret, ARCHIVE_NAME, TIME_FORMAT, &tm);
	snprintf(ret + len, ARCHIVE_NAME - len, "%s", ends[coarse]);
}

bool archive_parse(const char *name, struct archive_file *ret)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, TIME_FORMAT, &tm);
	struct archive_file f = { 0 };

	f.coarse = end && !strcmp(end, ends[true]);
	f.begins_ns = timegm(&tm) * (s64)NSEC_PER_SEC;
	/* strptime() also takes names that are not ours, such as those with fewer digits. */
	archive_name(f.name, f.begins_ns, f.coarse);
	if (!end || strcmp(name, f.name))
		return false;
	*ret = f;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct archive_file *x = a, *y = b;

	if (x->begins_ns != y->begins_ns)
		return x->begins_ns < y->begins_ns ? -1 : 1;
	return x->coarse - y->coarse;
}

static int add(struct archive *a, u32 *room, int folder, const char *name)
{
	char log[ARCHIVE_NAME + 8];
	struct archive_file f;
	struct stat st;

	if (!archive_parse(name, &f) || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return 0;
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

static int delete(const char *folder, const char *name, struct problem *p)
{
	char *path CLEANUP(cleanup_free) = NULL;
	int err = asprintf(&path, "%s/%s", folder, name) < 0 ? -ENOMEM : recording_delete(path);

	return err && err != -ENOENT ? problem_set(p, err, "%s/%s: can't be deleted: %s", folder, name, strerror(-err)) : 0;
}

void archive_finest(struct archive *a)
{
	u32 n = 0;

	for (u32 i = 0; i < a->n; i++)
		if (!n || a->file[n - 1].begins_ns != a->file[i].begins_ns)
			a->file[n++] = a->file[i];
	a->n = n;
}

static bool is_old(const struct archive *a, u32 i, s64 before_ns)
{
	u32 next = i + 1;

	while (next < a->n && a->file[next].begins_ns == a->file[i].begins_ns)
		next++;
	return next < a->n && a->file[next].begins_ns < before_ns;
}

int archive_trim(const char *folder, const struct archive_limits *limits, s64 now_ns, s64 current_ns, u64 *ret, struct problem *p)
{
	enum { BY_AGE, NOT_COARSE, ANY };
	CLEANUP(archive_free) struct archive a = { 0 };
	int err = archive_read(&a, folder, p);
	u64 bytes = 0, fine = 0, current = 0;

	for (u32 i = 0; i < a.n; i++) {
		bytes += a.file[i].bytes;
		fine += a.file[i].coarse ? 0 : a.file[i].bytes;
		current += a.file[i].begins_ns == current_ns ? a.file[i].bytes : 0;
	}
	for (u32 way = BY_AGE; !err && way <= ANY; way++) {
		for (u32 i = 0; !err && i < a.n; i++) {
			struct archive_file *f = &a.file[i];
			bool goes = way == BY_AGE ? is_old(&a, i, now_ns - limits->keep_ns) : bytes > limits->max_bytes;

			if (way == NOT_COARSE)
				goes = goes && !f->coarse && fine > limits->max_bytes / 4;
			if (!goes || !f->name[0] || f->begins_ns == current_ns)
				continue;
			err = delete(folder, f->name, p);
			bytes -= f->bytes;
			fine -= f->coarse ? 0 : f->bytes;
			f->name[0] = '\0';
		}
	}
	*ret = current;
	return err;
}
