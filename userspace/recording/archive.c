// SPDX-License-Identifier: GPL-2.0-only
#include "recording/archive.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "recording/recorder.h"
#include "util/array.h"
#include "util/cleanup.h"

#define TIME_FORMAT "%Y-%m-%dT%H-%M-%SZ"
#define INCIDENT "incident-"
#define INCIDENT_END ".blklat"
static const char *const ends[] = { ".blklat", "-10s.blklat" };

/* Appends the time and the end of a name. */
static void name_of(char ret[ARCHIVE_NAME], s64 wall_ns, const char *end)
{
	time_t s = wall_ns / (s64)NSEC_PER_SEC - (wall_ns % (s64)NSEC_PER_SEC < 0);
	size_t len = strlen(ret);
	struct tm tm;

	if (gmtime_r(&s, &tm))
		len += strftime(ret + len, ARCHIVE_NAME - len, TIME_FORMAT, &tm);
	snprintf(ret + len, ARCHIVE_NAME - len, "%s", end);
}

void archive_name(char ret[ARCHIVE_NAME], s64 wall_ns, bool coarse)
{
	ret[0] = '\0';
	name_of(ret, wall_ns, ends[coarse]);
}

void archive_incident_name(char ret[ARCHIVE_NAME], s64 wall_ns, const char *reason)
{
	char end[ARCHIVE_NAME / 2];
	int len = snprintf(end, sizeof(end), "-%.*s%s", (int)(sizeof(end) - sizeof(INCIDENT_END) - 1), reason, INCIDENT_END);

	for (int i = 1; i < len; i++)
		end[i] = isalnum(end[i]) || strchr(".-_", end[i]) ? end[i] : '_';
	strcpy(ret, INCIDENT);
	name_of(ret, wall_ns, end);
}

bool archive_parse(const char *name, struct archive_file *ret)
{
	struct archive_file f = { .incident = !strncmp(name, INCIDENT, strlen(INCIDENT)) };
	struct tm tm = { 0 };
	const char *end = strptime(name + (f.incident ? strlen(INCIDENT) : 0), TIME_FORMAT, &tm);

	if (!end)
		return false;
	f.coarse = !f.incident && !strcmp(end, ends[true]);
	f.begins_ns = timegm(&tm) * (s64)NSEC_PER_SEC;
	/* strptime() also takes names that are not ours, such as those with fewer digits. */
	if (f.incident)
		snprintf(f.name, sizeof(f.name), "%s", INCIDENT);
	name_of(f.name, f.begins_ns, f.incident ? end : ends[f.coarse]);
	if (strcmp(name, f.name) || (f.incident && (*end != '-' || strlen(end) <= sizeof(INCIDENT_END) ||
						    strcmp(end + strlen(end) - strlen(INCIDENT_END), INCIDENT_END))))
		return false;
	*ret = f;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct archive_file *x = a, *y = b;

	if (x->incident != y->incident)
		return x->incident - y->incident;
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

	for (u32 i = 0; i < a->n && !a->file[i].incident; i++)
		if (!n || a->file[n - 1].begins_ns != a->file[i].begins_ns)
			a->file[n++] = a->file[i];
	a->n = n;
}

static bool is_old(const struct archive *a, u32 i, s64 before_ns)
{
	u32 next = i + 1;

	while (next < a->n && a->file[next].begins_ns == a->file[i].begins_ns)
		next++;
	return next < a->n && !a->file[next].incident && a->file[next].begins_ns < before_ns;
}

/* Incidents have bounds of their own; what they take is taken off what is left for others. Returns how much that is. */
static int trim_incidents(const char *folder, struct archive *a, u64 max_bytes, u64 *ret_bytes, struct problem *p)
{
	u64 bytes = 0;
	u32 first = a->n, n;
	int err = 0;

	while (first && a->file[first - 1].incident)
		bytes += a->file[--first].bytes;
	n = a->n - first;
	for (u32 i = first; !err && i + 1 < a->n && (n > ARCHIVE_INCIDENTS || bytes > max_bytes / ARCHIVE_INCIDENTS_SHARE); i++, n--) {
		err = delete(folder, a->file[i].name, p);
		bytes -= a->file[i].bytes;
	}
	a->n = first;
	*ret_bytes = bytes;
	return err;
}

int archive_trim(const char *folder, const struct archive_limits *limits, s64 now_ns, s64 current_ns,
		 struct archive_sizes *ret, struct problem *p)
{
	enum { BY_AGE, NOT_COARSE, ANY };
	CLEANUP(archive_free) struct archive a = { 0 };
	int err = archive_read(&a, folder, p);
	u64 bytes = 0, fine = 0;

	*ret = (struct archive_sizes){ 0 };
	err = err ?: trim_incidents(folder, &a, limits->max_bytes, &bytes, p);
	for (u32 i = 0; i < a.n; i++) {
		bytes += a.file[i].bytes;
		fine += a.file[i].coarse ? 0 : a.file[i].bytes;
		ret->current += a.file[i].begins_ns == current_ns ? a.file[i].bytes : 0;
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
	ret->all = bytes;
	return err;
}
