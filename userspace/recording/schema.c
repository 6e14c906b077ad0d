// SPDX-License-Identifier: GPL-2.0-only
#include "recording/schema.h"

const struct recording_table recording_tables[] = {
	{ "meta", "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID" },
	{ "device",
	  "CREATE TABLE device(id INTEGER PRIMARY KEY, name TEXT, mapper TEXT, kind TEXT, model TEXT, "
	  "scheduler TEXT, major INTEGER, minor INTEGER, size_bytes INTEGER, hw_queues INTEGER, "
	  "tags INTEGER, nr_requests INTEGER, parent INTEGER, iostats INTEGER, hidden INTEGER)" },
	{ "lower",
	  "CREATE TABLE lower(device INTEGER, lower INTEGER, PRIMARY KEY(device, lower)) WITHOUT ROWID" },
	{ "watch", "CREATE TABLE watch(id INTEGER PRIMARY KEY, device INTEGER, stage TEXT)" },
	{ "op", "CREATE TABLE op(id INTEGER PRIMARY KEY, name TEXT)" },
	{ "cell",
	  "CREATE TABLE cell(scale INTEGER, id INTEGER, lower_ns INTEGER, upper_ns INTEGER, "
	  "PRIMARY KEY(scale, id)) WITHOUT ROWID" },
	{ "interval",
	  "CREATE TABLE interval(id INTEGER PRIMARY KEY, mono_ns INTEGER, wall_ns INTEGER, "
	  "skipped INTEGER, merged INTEGER)" },
	{ "state",
	  "CREATE TABLE state(interval INTEGER, watch INTEGER, started INTEGER, started_after INTEGER, "
	  "in_flight INTEGER, in_flight_after INTEGER, oldest_ns INTEGER, requeued INTEGER, "
	  "no_start INTEGER, overwritten INTEGER, tag_range INTEGER, table_full INTEGER, "
	  "before_start INTEGER, unissued INTEGER, empty_flush INTEGER, bios_started INTEGER, "
	  "kernel_ios INTEGER, kernel_in_flight INTEGER, gone INTEGER, PRIMARY KEY(interval, watch)) WITHOUT ROWID" },
	/* With rows of their own, which costs 2 %: WITHOUT ROWID would move bins of 1 KiB to pages of their own. */
	{ "series",
	  "CREATE TABLE series(interval INTEGER, watch INTEGER, op INTEGER, ios INTEGER, bytes INTEGER, "
	  "errors INTEGER, sum_ns INTEGER, min_ns INTEGER, max_ns INTEGER, bins BLOB, "
	  "idle_ios INTEGER, idle_sum_ns INTEGER, idle_bins BLOB, PRIMARY KEY(interval, watch, op))" },
	{ "mark", "CREATE TABLE mark(mono_ns INTEGER, wall_ns INTEGER, text TEXT)" },
	{ 0 },
};

#define TIME(ns) \
	"strftime('%Y-%m-%dT%H:%M:%S', " ns " / 1000000000, 'unixepoch') || " \
	"printf('.%03dZ', " ns " / 1000000 % 1000)"

/* Whatever came before the first interval is no interval. */
#define INTERVAL_TIME \
	"CREATE VIEW interval_time AS SELECT i.id AS interval, " TIME("i.wall_ns") " AS time, " \
	"(i.mono_ns - b.mono_ns) / 1e9 AS interval_s, i.merged, i.mono_ns, i.wall_ns " \
	"FROM interval i JOIN interval b ON b.id = (SELECT max(id) FROM interval WHERE id < i.id)"

/* Nibble number at - 1, from 1: where its digit stands among "0" to "F". As blobs, since that is faster. */
#define NIBBLE(bins) \
	"instr(x'30313233343536373839414243444546', substr(hex(substr(" bins ", at / 2, 1)), at % 2 + 1, 1)) - 1"

/*
 * The codec of bins_codec.h in SQL: "cell":IOs pairs of one blob. A step takes a nibble, which ends a number
 * if it is below 8; t is what the number is without it, unit what its group is to be multiplied by. The
 * value before that number is n, for cell. It begins as if a number 0 ended: a value for cell -1.
 */
#define NUMBER "(t + unit * nibble)"
#define DECODED(bins) \
	"json_each((WITH RECURSIVE walk(at, nibble, t, unit, cell, n) AS (SELECT 2, 0, 0, 1, -2, 0 UNION ALL " \
	"SELECT at + 1, " NIBBLE(bins) ", iif(nibble < 8, 0, t + unit * (nibble - 8)), " \
	"iif(nibble < 8, 1, unit * 8), iif(nibble < 8, cell + iif(n > 0, 1, 1 - n), cell), " \
	"iif(nibble < 8, max(n, 0) + (" NUMBER " + 1) / 2 * (1 - " NUMBER " % 2 * 2), n) " \
	"FROM walk WHERE at <= 2 * length(" bins ") + 2) " \
	"SELECT '{' || group_concat('\"' || cell || '\":' || n) || '}' FROM walk WHERE unit = 1 AND n > 0))"

#define NAMED "d.name AS device, w.stage AS stage, o.name AS op"
#define NAMES \
	"JOIN watch w ON w.id = s.watch JOIN device d ON d.id = w.device JOIN op o ON o.id = s.op "
#define BINS(view, bins, scale) \
	"CREATE VIEW " view " AS SELECT s.interval, " NAMED ", c.lower_ns, c.upper_ns, j.value AS count " \
	"FROM series s " NAMES "CROSS JOIN " DECODED("s." bins) " j " \
	"CROSS JOIN cell c ON c.scale = " scale " AND c.id = CAST(j.key AS INTEGER) " \
	"WHERE s.interval > (SELECT min(id) FROM interval)"
#define SCALE "(SELECT value FROM meta WHERE key = 'scale')"

const char *const recording_views[] = {
	INTERVAL_TIME,
	"CREATE VIEW op_interval AS SELECT l.time, l.interval, l.interval_s, " NAMED ", s.ios, "
	"s.ios / l.interval_s AS iops, s.bytes, s.bytes / l.interval_s AS bytes_per_s, s.errors, "
	"max(s.min_ns, min(s.max_ns, 1.0 * s.sum_ns / s.ios)) AS mean_ns, s.min_ns, s.max_ns, "
	"s.sum_ns / 1e9 / l.interval_s AS queue_depth, s.idle_ios, 1.0 * s.idle_sum_ns / s.idle_ios AS idle_mean_ns "
	"FROM series s JOIN interval_time l ON l.interval = s.interval " NAMES,
	"CREATE VIEW watch_interval AS SELECT l.time, l.interval, l.interval_s, d.name AS device, w.stage AS stage, "
	"(SELECT ifnull(sum(ios), 0) FROM series s WHERE s.interval = t.interval AND s.watch = t.watch) AS ios, "
	"t.in_flight, t.oldest_ns, t.started, t.kernel_ios, t.kernel_in_flight, t.gone, l.merged "
	"FROM state t JOIN interval_time l ON l.interval = t.interval JOIN watch w ON w.id = t.watch "
	"JOIN device d ON d.id = w.device",
	BINS("bin", "bins", SCALE),
	BINS("idle_bin", "idle_bins", "min(" SCALE ", 3)"),
	"CREATE VIEW run_bin AS SELECT device, stage, op, lower_ns, upper_ns, sum(count) AS count FROM bin "
	"GROUP BY device, stage, op, lower_ns, upper_ns",
	"CREATE VIEW mark_time AS SELECT " TIME("wall_ns") " AS time, mono_ns, text FROM mark ORDER BY mono_ns",
	NULL,
};
