/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of its own for a test. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/types.h"

enum { FOLDER_ROOT = 64 };

static inline void folder_make(char root[FOLDER_ROOT])
{
	/* Files are made and removed by the thousand. */
	strcpy(root, access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	strcat(root, "/blklat-test-XXXXXX");
	assert_non_null(mkdtemp(root));
}

/* Makes the folders above @path, which begins with a slash. Returns where it is, until the next call. */
static inline const char *folder_above(const char *root, const char *path)
{
	static char at[1024];

	assert_true(snprintf(at, sizeof(at), "%s%s", root, path) < (int)sizeof(at));
	for (char *c = at + strlen(root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(at, 0755);
		*c = '/';
	}
	return at;
}

static inline void folder_put(const char *root, const char *path, const char *text)
{
	FILE *f = fopen(folder_above(root, path), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Makes a folder, and returns its number, which is that of a cgroup. */
static inline u64 folder_make_in(const char *root, const char *path)
{
	const char *at = folder_above(root, path);
	struct stat st;

	assert_int_equal(mkdir(at, 0755) || stat(at, &st), 0);
	return st.st_ino;
}

/* Empties files first: in sysfs, a file that is still open has nothing to read any more. */
static inline int folder_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	return (type == FTW_F && S_ISREG(st->st_mode) ? truncate(path, 0) : 0) || remove(path);
}

static inline void folder_remove(const char *path)
{
	assert_int_equal(nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
