// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged recordings. Bytes at random seldom get past SQLite's own checks, so every other mutation changes
 * a value by SQL, where all the checks are ours.
 */
#include <sqlite3.h>

#include "play.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);

static const struct { const char *table, *columns[21]; } values[] = {
	{ "meta", { "value", "key" } },
	{ "device", { "id", "name", "mapper", "kind", "model", "scheduler", "major", "size_bytes", "hw_queues",
		      "tags", "parent", "iostats", "hidden" } },
	{ "lower", { "device", "lower" } },
	{ "identity", { "device", "serial", "wwid", "firmware", "path", "volume" } },
	{ "watch", { "id", "device", "stage", "part_of", "part_by", "part" } },
	{ "interval", { "id", "mono_ns", "wall_ns", "skipped", "merged" } },
	{ "state", { "interval", "watch", "started", "started_after", "in_flight", "in_flight_after", "oldest_ns",
		     "requeued", "no_start", "overwritten", "tag_range", "table_full", "before_start", "unissued",
		     "kernel_ios", "gone", "replaced", "unsettled", "waited_ns" } },
	{ "series", { "interval", "watch", "op", "ios", "bytes", "errors", "sum_ns", "min_ns", "max_ns", "idle_ios",
		      "idle_sum_ns" } },
	{ "mark", { "mono_ns", "wall_ns", "text" } },
	{ "slow", { "interval", "n", "watch", "end_wall_ns", "latency_ns", "queue_ns", "device_ns", "op", "bytes", "sector", "error",
		    "hw_queue", "start_cpu", "end_cpu", "pid", "comm", "kernel_thread", "cgroup", "depth", "beside", "flags" } },
	{ "slow_file", { "n", "pages", "file_device", "inode", "file" } },
	{ "slow_found", { "interval", "watch", "found" } },
};

/* Values at the limits of something, or that are no values at all. */
static const char *const extremes[] = {
	"0", "1", "-1", "2", "5", "7", "1023", "1024", "4096", "65536", "4294967296", "1 << 48", "1 << 58",
	"(1 << 58) + 1", "1 << 62", "(1 << 62) + 1", "9223372036854775807", "-9223372036854775807", "NULL", "1.5",
	"9e999", "'x'", "''", "x''", "x'00ff'", "printf('%.*c', 1025, 'x')", "%s + 1", "%s - 1", "%s * 2", "-%s", "'device'",
	"'size'", "'4 KiB'", "'1 MiB+'", "'flush'", "'sync'",
};

static void change_value(sqlite3 *db, unsigned int seed)
{
	u32 table = seed % ARRAY_SIZE(values), columns = 0;
	const char *column;
	char value[64], sql[256];

	while (columns < ARRAY_SIZE(values[table].columns) && values[table].columns[columns])
		columns++;
	column = values[table].columns[seed / ARRAY_SIZE(values) % columns];
	snprintf(value, sizeof(value), extremes[seed / 256 % ARRAY_SIZE(extremes)], column);
	snprintf(sql, sizeof(sql), "UPDATE OR REPLACE %s SET %s = %s WHERE (SELECT count(*) FROM %s) < 2 OR abs(random()) %% 3 = 0",
		 values[table].table, column, value, values[table].table);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Mutates the bins of a random series byte by byte. */
static void change_bins(sqlite3 *db, unsigned int seed)
{
	static const char *const columns[] = { "bins", "idle_bins" };
	char sql[128];
	sqlite3_stmt *s;
	uint8_t bytes[8192];
	int len;

	snprintf(sql, sizeof(sql), "SELECT %s FROM series ORDER BY random() LIMIT 1", columns[seed % 2]);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
		return;
	len = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_bytes(s, 0) : 0;
	if (len > (int)sizeof(bytes) / 2)
		len = 0;
	if (len)
		memcpy(bytes, sqlite3_column_blob(s, 0), len);
	sqlite3_finalize(s);
	len = LLVMFuzzerMutate(bytes, len, sizeof(bytes));
	snprintf(sql, sizeof(sql), "UPDATE series SET %s = ? WHERE rowid = (SELECT rowid FROM series ORDER BY random() LIMIT 1)",
		 columns[seed % 2]);
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL))
		return;
	sqlite3_bind_blob(s, 1, bytes, len, SQLITE_STATIC);
	sqlite3_step(s);
	sqlite3_finalize(s);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	const char *file;
	sqlite3 *db;
	FILE *f;
	size_t len = 0;

	if (seed % 2 || size < 512)
		return LLVMFuzzerMutate(data, size, max);
	file = file_of(data, size);
	if (!sqlite3_open(file, &db)) {
		if (seed / 2 % 3)
			change_value(db, seed / 6);
		else
			change_bins(db, seed / 6);
	}
	sqlite3_close(db);
	f = fopen(file, "re");
	if (f) {
		len = fread(data, 1, max, f);
		fclose(f);
	}
	unlink(file);
	return len ? len : LLVMFuzzerMutate(data, size, max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	play_bytes(data, len);
	return 0;
}
