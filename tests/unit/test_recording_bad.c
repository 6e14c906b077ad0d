// SPDX-License-Identifier: GPL-2.0-only
/* Files that are not recordings, or no longer: each gets its sentence, and the reader takes nothing from them. */
#include "recording_world.h"

#include <sys/stat.h>

/* What is done to a good recording, and what the reader says then; NULL: it stays good. */
struct bad {
	const char *says, *sql;
	const char *with[18];	/* in place of %s, one after the other */
};

#define ONE(what, how) { .says = what, .sql = how }	/* a statement by itself */

/* Makes a good recording, divided @by or not; it stays the source of those that are damaged. */
static void make_good(const char *by)
{
	char script[512];

	snprintf(script, sizeof(script), "blklat-replay 1\nscale 2\ncpus 2\n%sdevice d\ndevice e kind=md\nwatch d device\nwatch e total\n"
		 "io read 60us 4096 x1000\nio write 1ms 4096 x10\ntick 1\nio read 61us 4096 x7\nbusy 20ms\ntick 1\n"
		 "on e total\nio read 2ms 512\ntick 1\n", by);
	place_script(script);
	recording_of(at.script, -1);
	assert_int_equal(rename(at.file, at.source), 0);
}

static void check(const char *done, const char *says)
{
	u32 n;
	int err = read_all(at.file, &n);

	if (!says && err == -ENODATA)
		return;
	if (!says || (err != -EBADMSG && err != -ENODATA) || strncmp(p.text, at.file, strlen(at.file)) || !strstr(p.text, says))
		fail_msg("%s: %d '%s' does not say '%s'", done, err, p.text, says ?: "");
}

static void check_damaged(const char *sql, const char *says)
{
	copy_damaged(at.source, at.file, sql);
	check(sql, says);
	unlink(at.file);
}

static void check_all(const struct bad *cases, u32 n, const char *by)
{
	char sql[256];

	make_good(by);
	for (u32 i = 0; i < n; i++) {
		if (!cases[i].with[0])
			check_damaged(cases[i].sql, cases[i].says);
		for (const char *const *with = cases[i].with; *with; with++) {
			assert_true(snprintf(sql, sizeof(sql), cases[i].sql, *with) < (int)sizeof(sql));
			check_damaged(sql, cases[i].says);
		}
	}
}

TEST(figures_that_cannot_be)
{
	static const struct bad cases[] = {
		ONE(": is an SQLite database, but not a recording", "PRAGMA application_id = 1"),
		ONE(": is a recording of version 4, and this blklat reads version 3: use the one that recorded it",
		  "PRAGMA user_version = 4"),
		ONE(": is a recording of version 2, and this blklat reads version 3: record again",
		  "PRAGMA user_version = 2"),
		ONE(": is damaged: version 0 does not exist", "PRAGMA user_version = 0"),
		ONE("table mark is missing or altered", "DROP TABLE mark"),
		ONE("table series is missing or altered", "ALTER TABLE series ADD COLUMN more"),
		ONE("table state is missing or altered", "DROP TABLE state; CREATE VIEW state AS SELECT * FROM series"),
		ONE(": has no intervals: it ended before the first one was complete", "DELETE FROM interval WHERE merged"),
		ONE("has no intervals", "DELETE FROM interval"),
		ONE("its scale is missing", "DELETE FROM meta WHERE key = 'scale'"),
		{ "scale is not a number from 0 to 6", "UPDATE meta SET value = %s WHERE key = 'scale'",
		  { "7", "-1", "'2'" } },
		ONE("interval 1 has an invalid row in table series", "UPDATE meta SET value = 3 WHERE key = 'scale'"),
		ONE("cpus is not a number from 0 to 65536", "UPDATE meta SET value = 65537 WHERE key = 'cpus'"),
		{ "interval_s is not a duration", "UPDATE meta SET value = %s WHERE key = 'interval_s'",
		  { "0", "9e999" } },
		ONE("label is not a text", "UPDATE meta SET value = x'00' WHERE key = 'label'"),
		ONE("engine is not a text", "UPDATE meta SET value = 1 WHERE key = 'engine'"),
		ONE("finished is not a number from 0 to 1", "UPDATE meta SET value = 2 WHERE key = 'finished'"),
		ONE("it has no device", "DELETE FROM device"),
		{ "the ids in its table device have gaps or exceed", "UPDATE device SET id = %s",
		  { "7 WHERE id = 1", "-1 WHERE id = 0" } },
		{ "device 1 is invalid", "UPDATE device SET %s WHERE id = 1",
		  { "name = printf('%.*c', 64, 'x')", "name = ''", "parent = 2" } },
		ONE("is a partition of a partition", "UPDATE device SET parent = 1 - id"),
		ONE("device 0 is invalid", "UPDATE device SET size_bytes = -1"),
		{ "is of no device", "INSERT INTO identity VALUES(%s, '', '', '', '', '')", { "2", "-1" } },
		{ "the identity of e is invalid", "INSERT INTO identity VALUES(1, %s, '', '', '', '')", { "NULL", "x'00'", "printf('%.*c', 64, 'x')" } },
		{ "table identity is missing or altered", "%s", { "DROP TABLE identity; CREATE TABLE identity(device, serial)" } },
		ONE("a device is stacked on one that does not exist", "INSERT INTO lower VALUES(0, 2)"),
		{ "a device is stacked on itself", "INSERT INTO lower VALUES%s", { "(0, 0)", "(0, 1), (1, 0)" } },
		ONE("it has no watch", "DELETE FROM watch"),
		ONE("watch 1 is not a device and stage", "UPDATE watch SET device = 2 WHERE id = 1"),
		ONE("watch 0 is not a device and stage", "UPDATE watch SET stage = 'cpu'"),
		ONE("watch 1 is a duplicate", "UPDATE watch SET device = 0, stage = 'queue'"),
		ONE("watch 1 is part of another device or stage",
		  "UPDATE watch SET part_of = 0, part_by = 'size', part = '4 KiB' WHERE id = 1"),
		ONE("the ids in its table watch have gaps or exceed 65535",
		  "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 65536) "
		  "INSERT INTO watch(id, device, stage) SELECT i, 0, 'queue' FROM n"),
		{ "mark 0 is invalid", "INSERT INTO mark VALUES(%s)",
		  { "-1, 0, 'x'", "1, 0, NULL", "1, 0, printf('%.*c', 1025, 'x')" } },
		{ "interval 2 is invalid", "UPDATE interval SET %s WHERE id = 2",
		  { "mono_ns = -1", "mono_ns = 1", "wall_ns = NULL", "skipped = 'x'", "merged = 0" } },
		ONE("interval 3 is invalid", "UPDATE interval SET mono_ns = 1 << 62 | 1 WHERE id = 3"),
		ONE("interval 0 is invalid", "UPDATE interval SET merged = 1"),
		{ "a row of its table interval has an invalid key", "UPDATE interval SET id = %s",
		  { "-1 WHERE id = 0", "1 << 62 | 1 WHERE id = 3" } },
		ONE("interval 2 has 1 states, not 2", "DELETE FROM state WHERE interval = 2 AND watch = 1"),
		ONE("interval 2 has an invalid row in table state",
		  "UPDATE state SET watch = 2 WHERE interval = 2 AND watch = 1"),
		{ "interval 2 has an invalid row in table state", "UPDATE state SET %s WHERE interval = 2",
		  { "started = -1", "started = 1 << 59", "requeued = 1.5", "bios_started = NULL", "kernel_ios = 'many'",
		    "kernel_in_flight = -1", "gone = 2", "replaced = 2", "waited_ns = -1", "unsettled = NULL" } },
		{ "interval 2 has an invalid row in table busy", "UPDATE busy SET %s",
		  { "busy_ns = -1", "busy_ns = 'long'", "watch = 7" } },
		ONE("table busy is missing or altered", "DROP TABLE busy; CREATE TABLE busy(interval, watch, busy_ns)"),
		ONE("interval 1 has an invalid row in table series", "UPDATE series SET watch = 2 WHERE interval = 1"),
		ONE("a row of its table series has an invalid key", "UPDATE series SET op = NULL WHERE interval = 2"),
		ONE("an invalid row in table series", "UPDATE series SET bytes = 1 << 62 WHERE interval < 3"),
		{ "interval 2 has an invalid row in table series", "UPDATE series SET %s WHERE interval = 2",
		  { "op = 5", "ios = ios + 1", "bytes = -1", "min_ns = max_ns + 1", "min_ns = min_ns / 2",
		    "max_ns = max_ns * 2", "min_ns = NULL", "bins = NULL", "bins = CAST(bins AS TEXT)", "bins = bins || x'00'",
		    "bins = CAST(bins || x'01' AS BLOB)", "idle_bins = x'02'" } },
		ONE("string or blob too big", "UPDATE series SET bins = zeroblob(5000000) WHERE interval = 2"),
		ONE("its table series has rows after interval 3 that belong to no interval",
		  "INSERT INTO series SELECT 4, watch, op, ios, bytes, errors, sum_ns, min_ns, max_ns, bins, idle_ios, "
		  "idle_sum_ns, idle_bins FROM series WHERE interval = 2"),
		ONE("its table state has rows before interval 3", "DELETE FROM interval WHERE id = 2"),
		ONE("its table series has rows before interval 3 that belong to no interval",
		  "DELETE FROM interval WHERE id = 2; DELETE FROM state WHERE interval = 2"),
	};

	check_all(cases, ARRAY_SIZE(cases), "");
}

#define PUT_IN_FLIGHT "INSERT INTO state(interval, watch, in_flight, oldest_ns, waited_ns) VALUES(2, 3, "

/* Watch 0 has parts 1 to 9, watch 10 has those from 11 on. */
TEST(parts_that_cannot_be)
{
	static const struct bad cases[] = {
		{ "watch 5 is part of one that it does not follow", "UPDATE watch SET part_of = %s WHERE id = 5",
		  { "20", "1 << 40", "-1", "'x'", "5", "4", "10" } },
		ONE("watch 0 is part of one that it does not follow", "UPDATE watch SET part_of = 0 WHERE id = 0"),
		ONE("watch 11 is part of another device or stage", "UPDATE watch SET part_of = 0 WHERE id = 11"),
		ONE("watch 5 is a duplicate", "UPDATE watch SET part_of = NULL WHERE id = 5"),
		{ "watch 5 is part of another device or stage", "UPDATE watch SET %s WHERE id = 5",
		  { "device = 1", "stage = 'queue'" } },
		{ "watch 5 has no valid part", "UPDATE watch SET %s WHERE id = 5",
		  { "part_by = NULL", "part = printf('%.*c', 256, 'x')" } },
		ONE("has a part '5' by 'size', which this blklat does not know: read it with the one that recorded it",
		  "UPDATE watch SET part = 5 WHERE id = 5"),
		ONE("has a part '64 KiB' by 'weight', which", "UPDATE watch SET part_by = 'weight' WHERE id = 5"),
		ONE("has a part '' by 'size', which", "UPDATE watch SET part = '' WHERE id = 5"),
		ONE("has a part '64 KiB' by '', which", "UPDATE watch SET part_by = '' WHERE id = 5"),
		{ "watch 5 is a duplicate part or out of order",
		  "UPDATE watch SET part = '%s KiB' WHERE id = 5",
		  { "32", "4" } },
		ONE("watch 6 is a duplicate part or out of order",
		  "UPDATE watch SET part = iif(id = 5, '128 KiB', '64 KiB') WHERE id IN (5, 6)"),
		ONE("interval 1 has an invalid row in table series",
		  "UPDATE series SET watch = 0 WHERE interval = 1 AND watch = 1"),
		{ "interval 2 has an invalid row in table state", PUT_IN_FLIGHT "%s)", { "1, 1, NULL", "-1, 1, 1" } },
		{ .says = "interval 2 has 1 states, not 2",
		  .sql = "DELETE FROM state WHERE interval = 2 AND watch = 0; " PUT_IN_FLIGHT "1, 1, 1)" },
	};

	check_all(cases, ARRAY_SIZE(cases), "by size\n");
}

/* Some parts of a whole may be missing, or all those of one device. */
TEST(parts_that_may_be_missing)
{
	static const struct bad good = { NULL, "%s", {
		"SELECT 1", "DELETE FROM watch WHERE id = 19",
		"DELETE FROM watch WHERE id > 10; DELETE FROM series WHERE watch > 10", PUT_IN_FLIGHT "1, 1, 1)",
	} };

	check_all(&good, 1, "by size\n");
}

/* What people may do to their recordings. */
TEST(what_is_allowed)
{
	static const struct bad good = { NULL, "%s", {
		"SELECT 1", "VACUUM", "CREATE INDEX mine ON series(ios)", "CREATE TABLE mine(x)", "DROP VIEW bin",
		"PRAGMA journal_mode = WAL", "PRAGMA page_size = 65536; VACUUM", "PRAGMA encoding = 'UTF-8'", "ANALYZE",
		"DELETE FROM mark", "DELETE FROM identity", "DROP TABLE identity", "INSERT INTO identity VALUES(0, 'S', 'W', 'F', 'P', 'V')",
		"UPDATE meta SET value = 'other' WHERE key = 'label'",
	} };

	check_all(&good, 1, "");
}

/* Truncated at many lengths, an odd number of bytes apart. */
TEST(truncated)
{
	struct stat st;

	make_good("");
	copy_damaged(at.source, at.file, "");
	assert_int_equal(stat(at.file, &st), 0);
	for (off_t len = st.st_size - 1; len >= 0; len -= 1237) {
		assert_int_equal(truncate(at.file, len), 0);
		check("truncated", len < 16 ? "is not a recording" : "is damaged: ");
		assert_true(strlen(p.text) < sizeof(p.text));
	}
}
