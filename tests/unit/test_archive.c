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
		" 2026-11-22T12-00-00Z.blklat", "2026-11-22T12:00:00Z.blklat", "2026-11-22T12-00-00Z-20s.blklat",
	};
	char name[ARCHIVE_NAME];
	struct archive_file f;

	archive_name(name, NOON_NS + 999999999, false);
	assert_string_equal(name, "2026-11-22T12-00-00Z.blklat");
	assert_true(archive_parse(name, &f) && f.begins_ns == NOON_NS && !f.coarse);
	archive_name(name, NOON_NS, true);
	assert_string_equal(name, "2026-11-22T12-00-00Z-10s.blklat");
	assert_true(archive_parse(name, &f) && f.begins_ns == NOON_NS && f.coarse);
	assert_string_equal(f.name, name);
	archive_name(name, -1, false);
	assert_string_equal(name, "1969-12-31T23-59-59Z.blklat");
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(archive_parse(others[i], &f));
}

static void put_file(const char *name, const char *end, u32 kib)
{
	char path[ARCHIVE_NAME + 8], *text = calloc(1, kib * 1024 + 1);

	assert_non_null(text);
	memset(text, 'x', kib * 1024);
	snprintf(path, sizeof(path), "/%s%s", name, end);
	folder_put(root, path, text);
	free(text);
}

/* What begins @hours before noon: a file of 16 KiB with as large a log beside it, and a coarse one of 8 KiB. */
static void put(u32 hours)
{
	char name[ARCHIVE_NAME];

	archive_name(name, NOON_NS - hours * HOUR_NS, false);
	put_file(name, "", 16);
	put_file(name, "-wal", 16);
	archive_name(name, NOON_NS - hours * HOUR_NS, true);
	put_file(name, "", 8);
}

/* Trims, and checks how many files of each kind are left, all of them the newest. */
static void trim(u64 keep_hours, u64 max_kib, u32 fine, u32 coarse)
{
	const struct archive_limits limits = { keep_hours * HOUR_NS, max_kib * 1024 };
	struct archive a;
	struct problem p;
	struct archive_sizes sizes;

	assert_int_equal(archive_trim(root, &limits, NOON_NS + HOUR_NS / 2, NOON_NS, &sizes, &p), 0);
	assert_int_equal(sizes.current, 40 << 10);
	assert_int_equal(sizes.all, (fine * 32 + coarse * 8) << 10);
	assert_int_equal(archive_read(&a, root, &p), 0);
	assert_int_equal(a.n, fine + coarse);
	for (u32 i = 0; i < a.n; i++) {
		u32 hours = (NOON_NS - a.file[i].begins_ns) / HOUR_NS;

		assert_true(hours < (a.file[i].coarse ? coarse : fine));
		assert_int_equal(a.file[i].bytes, (a.file[i].coarse ? 8 : 32) << 10);
	}
	archive_finest(&a);
	assert_int_equal(a.n, fine > coarse ? fine : coarse);
	assert_true(!a.file[a.n - 1].coarse && a.file[0].coarse == (coarse > fine));
	archive_free(&a);
}

TEST(test_the_oldest_go_by_age_then_by_size)
{
	put_file("mine.blklat", "", 16);
	for (u32 hours = 0; hours < 10; hours++)
		put(hours);
	trim(100, 1 << 20, 10, 10);
	/* What began 6 hours before noon goes on later than 6 hours before half past noon. */
	trim(6, 1 << 20, 7, 7);
	/* Of the sizes only those that are not coarse go, */
	trim(6, 6 * 32 + 7 * 8, 6, 7);
	trim(6, 3 * 32 + 7 * 8, 3, 7);
	/* until these have a quarter left; then all that is oldest. */
	trim(6, 32 + 5 * 8, 1, 5);
	/* Those that are being recorded stay in any case. */
	trim(6, 1, 1, 1);
	assert_int_equal(access(folder_above(root, "/mine.blklat"), F_OK), 0);
	assert_int_equal(access(folder_above(root, "/2026-11-22T11-00-00Z.blklat-wal"), F_OK), -1);
}

TEST(test_names_of_incidents)
{
	static const char *const others[] = {
		"incident-", "incident-2026-11-22T12-00-00Z.blklat", "incident-2026-11-22T12-00-00Z-.blklat", "incident-2026-11-22T12-00-00Z-sda-slow",
		"2026-11-22T12-00-00Z-sda-slow.blklat", "incident-2026-1-22T12-00-00Z-sda-slow.blklat",
	};
	char name[ARCHIVE_NAME], reason[2 * ARCHIVE_NAME];
	struct archive_file f;

	archive_incident_name(name, NOON_NS, "cciss/c0d0-read.p99 > 20ms");
	assert_string_equal(name, "incident-2026-11-22T12-00-00Z-cciss_c0d0-read.p99___20ms.blklat");
	assert_true(archive_parse(name, &f) && f.incident && !f.coarse && f.begins_ns == NOON_NS);
	assert_string_equal(f.name, name);
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	archive_incident_name(name, NOON_NS, reason);
	assert_true(strlen(name) < ARCHIVE_NAME && archive_parse(name, &f));
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(archive_parse(others[i], &f));
}

static void put_incident(u32 hours, u32 kib)
{
	char name[ARCHIVE_NAME];

	archive_incident_name(name, NOON_NS - hours * HOUR_NS, "sda-slow");
	put_file(name, "", kib);
}

/* Trims, and checks how many incidents are left, all of them the newest, how many others, and of how many stretches. */
static void trim_all(u64 max_kib, u32 incidents, u32 fine, u32 finest)
{
	const struct archive_limits limits = { 1000 * HOUR_NS, max_kib * 1024 };
	struct archive_sizes sizes;
	struct archive a;
	struct problem p;
	u32 n = 0;

	assert_int_equal(archive_trim(root, &limits, NOON_NS, NOON_NS, &sizes, &p), 0);
	assert_int_equal(archive_read(&a, root, &p), 0);
	for (u32 i = a.n - incidents; i < a.n; i++)
		assert_true(a.file[i].incident && a.file[i].begins_ns > NOON_NS - incidents * HOUR_NS);
	assert_true(a.n == incidents || !a.file[a.n - incidents - 1].incident);
	for (u32 i = 0; i < a.n; i++)
		n += !a.file[i].coarse && !a.file[i].incident;
	assert_int_equal(n, fine);
	archive_finest(&a);
	assert_int_equal(a.n, finest);
	archive_free(&a);
}

TEST(test_incidents_have_bounds_of_their_own)
{
	for (u32 hours = 0; hours < 10; hours++)
		put(hours);
	for (u32 hours = 0; hours < 30; hours++)
		put_incident(hours, 16);
	/* By number, and of the hours none goes; */
	trim_all(1 << 20, 20, 10, 10);
	/* by size, a quarter of all: 10 of 16 KiB, and hours go where they leave less room than these take; */
	trim_all(640, 10, 10, 10);
	trim_all(480, 7, 9, 10);
	/* and the last one stays. */
	trim_all(60, 1, 1, 1);
}

TEST(test_a_folder_that_is_not_there)
{
	struct archive a;
	struct problem p;

	assert_int_equal(archive_read(&a, "/nowhere", &p), -ENOENT);
	assert_string_equal(p.text, "/nowhere: can't be read: No such file or directory");
}
