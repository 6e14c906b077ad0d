// SPDX-License-Identifier: GPL-2.0-only
/* Files that are not recordings, or no longer: each gets its sentence, and the reader takes nothing from them. */
#include "recording_world.h"

#include <sqlite3.h>
#include <sys/stat.h>

struct bad {
	const char *sql;	/* what is done to a good recording */
	const char *says;	/* NULL: it stays good */
};

/* Makes a good recording, divided @by or not; it stays the source of those that are damaged. */
static void make_good(const char *by)
{
	char script[512];

	snprintf(script, sizeof(script), "blklat-replay 1\nscale 2\ncpus 2\n%sdevice d\ndevice e kind=md\nwatch d device\nwatch e total\n"
		 "io read 60us 4096 x1000\nio write 1ms 4096 x10\ntick 1\nio read 61us 4096 x7\ntick 1\n"
		 "on e total\nio read 2ms 512\ntick 1\n", by);
	place_script(script);
	recording_of(at.script, -1);
	assert_int_equal(rename(at.file, at.source), 0);
}

static void damage(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(at.file, &db), SQLITE_OK);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static void check(const struct bad *bad)
{
	int err = read_all(at.file);

	if (!bad->says && err == -ENODATA)
		return;
	if (!bad->says || err != -EBADMSG || strncmp(p.text, at.file, strlen(at.file)) || !strstr(p.text, bad->says))
		fail_msg("%s: %d '%s' does not say '%s'", bad->sql, err, p.text, bad->says ?: "");
}

static void check_all(const struct bad *cases, u32 n, const char *by)
{
	make_good(by);
	for (u32 i = 0; i < n; i++) {
		copy_file(at.source, at.file);
		damage(cases[i].sql);
		check(&cases[i]);
		unlink(at.file);
	}
}

TEST(figures_that_cannot_be)
{
	static const struct bad cases[] = {
		{ "PRAGMA application_id = 1", ": is an SQLite database, but not a recording" },
		{ "PRAGMA user_version = 4", ": is a recording of version 4, and this blklat reads version 3: use the one that made it" },
		{ "PRAGMA user_version = 2", ": is a recording of version 2, and this blklat reads version 3: record anew" },
		{ "PRAGMA user_version = 0", ": is damaged: there is no version 0" },
		{ "DROP TABLE mark", "table mark is missing or altered" },
		{ "ALTER TABLE series ADD COLUMN more", "table series is missing or altered" },
		{ "DROP TABLE state; CREATE VIEW state AS SELECT * FROM series", "table state is missing or altered" },
		{ "DELETE FROM interval WHERE merged", ": holds no interval: it was ended before the first one" },
		{ "DELETE FROM interval", "holds no interval" },
		{ "DELETE FROM meta WHERE key = 'scale'", "its scale is missing" },
		{ "UPDATE meta SET value = 7 WHERE key = 'scale'", "scale is not a number from 0 to 6" },
		{ "UPDATE meta SET value = -1 WHERE key = 'scale'", "scale is not a number from 0 to 6" },
		{ "UPDATE meta SET value = '2' WHERE key = 'scale'", "scale is not a number from 0 to 6" },
		{ "UPDATE meta SET value = 3 WHERE key = 'scale'", "the series of interval 1 are invalid" },
		{ "UPDATE meta SET value = 65537 WHERE key = 'cpus'", "cpus is not a number from 0 to 65536" },
		{ "UPDATE meta SET value = 0 WHERE key = 'interval_s'", "interval_s is not a duration" },
		{ "UPDATE meta SET value = 9e999 WHERE key = 'interval_s'", "interval_s is not a duration" },
		{ "UPDATE meta SET value = x'00' WHERE key = 'label'", "label is not a text" },
		{ "UPDATE meta SET value = printf('%.*c', 32, 'x') WHERE key = 'engine'", "engine is not a name" },
		{ "UPDATE meta SET value = 2 WHERE key = 'finished'", "finished is not a number from 0 to 1" },
		{ "DELETE FROM device", "it has no device" },
		{ "UPDATE device SET id = 7 WHERE id = 1", "its devices are not numbered" },
		{ "UPDATE device SET id = -1 WHERE id = 0", "its devices are not numbered" },
		{ "UPDATE device SET name = printf('%.*c', 64, 'x') WHERE id = 1", "device 1 is invalid" },
		{ "UPDATE device SET name = '' WHERE id = 1", "device 1 is invalid" },
		{ "UPDATE device SET parent = 2 WHERE id = 1", "device 1 is invalid" },
		{ "UPDATE device SET parent = 1 - id", "is part of a part" },
		{ "UPDATE device SET size_bytes = -1", "device 0 is invalid" },
		{ "INSERT INTO lower VALUES(0, 2)", "a device lies on one that does not exist" },
		{ "INSERT INTO lower VALUES(0, 0)", "a device lies on itself" },
		{ "INSERT INTO lower VALUES(0, 1), (1, 0)", "a device lies on itself" },
		{ "DELETE FROM watch", "it has no watch" },
		{ "UPDATE watch SET device = 2 WHERE id = 1", "watch 1 is not a device and stage" },
		{ "UPDATE watch SET stage = 'cpu'", "watch 0 is not a device and stage" },
		{ "UPDATE watch SET device = 0, stage = 'queue'", "watch 1 is there twice" },
		{ "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 65536) "
		  "INSERT INTO watch(id, device, stage) SELECT i, 0, 'queue' FROM n", "its watchs are not numbered from 0 to at most 65535" },
		{ "INSERT INTO mark VALUES(-1, 0, 'x')", "mark 0 is invalid" },
		{ "INSERT INTO mark VALUES(1, 0, NULL)", "mark 0 is invalid" },
		{ "INSERT INTO mark VALUES(1, 0, printf('%.*c', 1025, 'x'))", "mark 0 is invalid" },
		{ "UPDATE interval SET mono_ns = -1 WHERE id = 2", "interval 2 is invalid" },
		{ "UPDATE interval SET mono_ns = 1 WHERE id = 2", "interval 2 is invalid" },
		{ "UPDATE interval SET mono_ns = 1 << 62 | 1 WHERE id = 3", "interval 3 is invalid" },
		{ "UPDATE interval SET wall_ns = NULL WHERE id = 2", "interval 2 is invalid" },
		{ "UPDATE interval SET skipped = 'x' WHERE id = 2", "interval 2 is invalid" },
		{ "UPDATE interval SET merged = 0 WHERE id = 2", "interval 2 is invalid" },
		{ "UPDATE interval SET merged = 1", "interval 0 is invalid" },
		{ "UPDATE interval SET id = -1 WHERE id = 0", "a row has no number" },
		{ "UPDATE interval SET id = 1 << 48 WHERE id = 3", "a row has no number" },
		{ "DELETE FROM state WHERE interval = 2 AND watch = 1", "interval 2 has 1 states, not 2" },
		{ "UPDATE state SET watch = 2 WHERE interval = 2 AND watch = 1", "the state at interval 2 is invalid" },
		{ "UPDATE state SET started = -1 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET started = 1 << 59 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET requeued = 1.5 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET bios_started = NULL WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET kernel_ios = 'many' WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET kernel_in_flight = -1 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET gone = 2 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET replaced = 2 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET waited_ns = -1 WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE state SET unsettled = NULL WHERE interval = 2", "the state at interval 2 is invalid" },
		{ "UPDATE watch SET part_of = 0, part_by = 'size', part = '4 KiB' WHERE id = 1",
		  "watch 1 is part of another device or stage" },
		{ "UPDATE series SET watch = 2 WHERE interval = 1", "the series of interval 1 are invalid" },
		{ "UPDATE series SET op = 5 WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET op = NULL WHERE interval = 2", "a row has no number" },
		{ "UPDATE series SET ios = ios + 1 WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bytes = -1 WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bytes = 1 << 62 WHERE interval < 3", "are invalid" },
		{ "UPDATE series SET min_ns = max_ns + 1 WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET min_ns = min_ns / 2 WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET max_ns = max_ns * 2 WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET min_ns = NULL WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bins = NULL WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bins = CAST(bins AS TEXT) WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bins = bins || x'00' WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bins = CAST(bins || x'01' AS BLOB) WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "UPDATE series SET bins = zeroblob(5000000) WHERE interval = 2", "string or blob too big" },
		{ "UPDATE series SET idle_bins = x'02' WHERE interval = 2", "the series of interval 2 are invalid" },
		{ "INSERT INTO series SELECT 4, watch, op, ios, bytes, errors, sum_ns, min_ns, max_ns, bins, idle_ios, "
		  "idle_sum_ns, idle_bins FROM series WHERE interval = 2", "it has rows after interval 3 that belong to no interval" },
		{ "DELETE FROM interval WHERE id = 2", "interval 3 has 0 states, not 2" },
		{ "DELETE FROM interval WHERE id = 2; DELETE FROM state WHERE interval = 2",
		  "it has rows before interval 3 that belong to no interval" },
	};

	check_all(cases, ARRAY_SIZE(cases), "");
}

/* Watch 0 has parts 1 to 9, watch 10 has those from 11 on. */
TEST(parts_that_cannot_be)
{
	static const struct bad cases[] = {
		{ "UPDATE watch SET part_of = 20 WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 1 << 40 WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = -1 WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 'x' WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 5 WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 4 WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 10 WHERE id = 5", "watch 5 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 0 WHERE id = 0", "watch 0 is part of one that it does not follow" },
		{ "UPDATE watch SET part_of = 0 WHERE id = 11", "watch 11 is part of another device or stage" },
		{ "UPDATE watch SET part_of = NULL WHERE id = 5", "watch 5 is there twice" },
		{ "UPDATE watch SET device = 1 WHERE id = 5", "watch 5 is part of another device or stage" },
		{ "UPDATE watch SET stage = 'queue' WHERE id = 5", "watch 5 is part of another device or stage" },
		{ "UPDATE watch SET part_by = NULL WHERE id = 5", "watch 5 does not say which part it is" },
		{ "UPDATE watch SET part = printf('%.*c', 256, 'x') WHERE id = 5", "watch 5 does not say which part it is" },
		{ "UPDATE watch SET part = 5 WHERE id = 5", "has a part '5' by 'size', which this blklat does not know: read it "
		  "with the one that made it" },
		{ "UPDATE watch SET part_by = 'process' WHERE id = 5", "has a part '64 KiB' by 'process', which" },
		{ "UPDATE watch SET part = '' WHERE id = 5", "has a part '' by 'size', which" },
		{ "UPDATE watch SET part_by = '' WHERE id = 5", "has a part '64 KiB' by '', which" },
		{ "UPDATE watch SET part = '32 KiB' WHERE id = 5", "watch 5 is a part that is there twice or out of order" },
		{ "UPDATE watch SET part = '4 KiB' WHERE id = 5", "watch 5 is a part that is there twice or out of order" },
		{ "UPDATE watch SET part = iif(id = 5, '128 KiB', '64 KiB') WHERE id IN (5, 6)",
		  "watch 6 is a part that is there twice or out of order" },
		{ "UPDATE series SET watch = 0 WHERE interval = 1 AND watch = 1", "the series of interval 1 are invalid" },
		{ "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) VALUES(2, 3, 1, 1, NULL)", "the state at interval 2 is invalid" },
		{ "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) VALUES(2, 3, -1, 1, 1)", "the state at interval 2 is invalid" },
		{ "DELETE FROM state WHERE interval = 2 AND watch = 0; "
		  "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) VALUES(2, 3, 1, 1, 1)", "interval 2 has 1 states, not 2" },
	};

	check_all(cases, ARRAY_SIZE(cases), "by size\n");
}

/* Some parts of a whole may be missing, or all those of one device. */
TEST(parts_that_may_be_missing)
{
	static const struct bad cases[] = {
		{ "SELECT 1", NULL },
		{ "DELETE FROM watch WHERE id = 19", NULL },
		{ "DELETE FROM watch WHERE id > 10; DELETE FROM series WHERE watch > 10", NULL },
		{ "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) VALUES(2, 3, 1, 1, 1)", NULL },
	};

	check_all(cases, ARRAY_SIZE(cases), "by size\n");
}

/* What people may do to their recordings. */
TEST(what_is_allowed)
{
	static const struct bad cases[] = {
		{ "SELECT 1", NULL }, { "VACUUM", NULL }, { "CREATE INDEX mine ON series(ios)", NULL }, { "CREATE TABLE mine(x)", NULL },
		{ "DROP VIEW bin", NULL }, { "PRAGMA journal_mode = WAL", NULL }, { "PRAGMA page_size = 65536; VACUUM", NULL },
		{ "PRAGMA encoding = 'UTF-8'", NULL }, { "UPDATE meta SET value = 'other' WHERE key = 'label'", NULL },
		{ "ANALYZE", NULL }, { "DELETE FROM mark", NULL },
	};

	check_all(cases, ARRAY_SIZE(cases), "");
}

/* Truncated at many lengths, an odd number of bytes apart. */
TEST(truncated)
{
	struct stat st;

	make_good("");
	copy_file(at.source, at.file);
	assert_int_equal(stat(at.file, &st), 0);
	for (off_t len = st.st_size - 1; len >= 0; len -= 1237) {
		const struct bad bad = { "truncated", len < 16 ? "is not a recording" : "is damaged: " };

		assert_int_equal(truncate(at.file, len), 0);
		check(&bad);
		assert_true(strlen(p.text) < sizeof(p.text));
	}
}
