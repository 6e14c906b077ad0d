// SPDX-License-Identifier: GPL-2.0-only
/* A folder of recordings: their names, and which of them go. */
#include "unit.h"

#include <errno.h>

#include "folder.h"
#include "recording/archive.h"

#define HOUR_NS (3600 * (s64)NSEC_PER_SEC)
#define NOON_NS (1795348800 * (s64)NSEC_PER_SEC)	/* 2026-11-22T12:00:00Z (date -u -d @1795348800) */

static char root[FOLDER_ROOT];

void set_up(void)
{
	folder_make(root);
}

void tear_down(void)
{
	folder_remove(root);
}

TEST(test_names_are_times)
{
	static const char *const others[] = {
		"", "run.blklat", "2026-11-22T12-00-00Z", "2026-11-22T12-00-00Z.blklat-wal", "2026-1-22T12-00-00Z.blklat", "2026-11-31T12-00-00Z.blklat",
		" 2026-11-22T12-00-00Z.blklat", "2026-11-22T12:00:00Z.blklat",
	};
	char name[ARCHIVE_NAME];
	s64 ns = 0;

	archive_name(name, NOON_NS + 999999999);
	assert_string_equal(name, "2026-11-22T12-00-00Z.blklat");
	assert_true(archive_begins(name, &ns) && ns == NOON_NS);
	archive_name(name, -1);
	assert_string_equal(name, "1969-12-31T23-59-59Z.blklat");
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(archive_begins(others[i], &ns));
}

/* A file of @kib that begins @hours before noon, with another as large beside it. */
static void put(u32 hours, u32 kib)
{
	char name[ARCHIVE_NAME], path[ARCHIVE_NAME + 8], *text = calloc(1, kib * 1024 + 1);

	assert_non_null(text);
	memset(text, 'x', kib * 1024);
	archive_name(name, NOON_NS - hours * HOUR_NS);
	snprintf(path, sizeof(path), "/%s", name);
	folder_put(root, path, text);
	strcat(path, "-wal");
	folder_put(root, path, text);
	free(text);
}

/* Trims, and checks how many files are left, and how long before noon the oldest of them begins. */
static void trim(u64 keep_hours, u64 max_kib, u32 left, u32 oldest_hours)
{
	const struct archive_limits limits = { keep_hours * HOUR_NS, max_kib * 1024 };
	char current[ARCHIVE_NAME];
	struct archive a;
	struct problem p;
	u64 bytes;

	archive_name(current, NOON_NS);
	assert_int_equal(archive_trim(root, &limits, NOON_NS + HOUR_NS / 2, current, &bytes, &p), 0);
	assert_int_equal(archive_read(&a, root, &p), 0);
	assert_int_equal(a.n, left);
	assert_int_equal((NOON_NS - a.file[0].begins_ns) / HOUR_NS, oldest_hours);
	assert_true(bytes == a.file[a.n - 1].bytes && bytes >= 2 * 16 << 10);
	archive_free(&a);
}

TEST(test_the_oldest_go_by_age_then_by_size)
{
	folder_put(root, "/mine.blklat", "of somebody else");
	for (u32 hours = 0; hours < 10; hours++)
		put(hours, 16);
	trim(100, 1 << 20, 10, 9);
	/* The one that began 6 hours before noon has what happened from 5.5 hours before noon on, and later than 6 hours ago. */
	trim(6, 1 << 20, 7, 6);
	trim(6, 5 * 2 * 16, 5, 4);
	/* The one that is being recorded stays in any case. */
	trim(6, 1, 1, 0);
	assert_int_equal(access(folder_above(root, "/mine.blklat"), F_OK), 0);
	assert_int_equal(access(folder_above(root, "/2026-11-22T11-00-00Z.blklat-wal"), F_OK), -1);
}

TEST(test_a_folder_that_is_not_there)
{
	struct archive a;
	struct problem p;

	assert_int_equal(archive_read(&a, "/nowhere", &p), -ENOENT);
	assert_string_equal(p.text, "/nowhere: can't be read: No such file or directory");
}
