// SPDX-License-Identifier: GPL-2.0-only
#include "recording/schema.h"

#include <assert.h>

#include "core/slow.h"
#include "core/snapshot.h"

/* Existing recordings have these numbers. */
static_assert(BLKLAT_OP_READ == 0 && BLKLAT_OP_WRITE == 1 && BLKLAT_OP_FLUSH == 2 && BLKLAT_OP_DISCARD == 3 &&
	      BLKLAT_OP_OTHER == 4 && BLKLAT_OPS == 5, "as recordings have them");

const int recording_account_columns[] = {
	[BLKLAT_REQUEUED] = STATE_requeued,
	[BLKLAT_NO_START] = STATE_no_start,
	[BLKLAT_OVERWRITTEN] = STATE_overwritten,
	[BLKLAT_TAG_RANGE] = STATE_tag_range,
	[BLKLAT_TABLE_FULL] = STATE_table_full,
	[BLKLAT_BEFORE] = STATE_before_start,
	[BLKLAT_UNISSUED] = STATE_unissued,
	[BLKLAT_EMPTY_FLUSH] = STATE_empty_flush,
	[BLKLAT_STARTED] = STATE_bios_started,
};
static_assert(SLOW_FIELDS_OF_SLOW + SLOW_FILE_file == SLOW_FIELDS, "each field has a column");
static_assert(BLKLAT_BUSY == STATE_bios_started - STATE_requeued + 1, "each cell but this has a column");

#define DEFINITION(TABLE, name, ...) #name __VA_OPT__(" " #__VA_ARGS__)
#define TABLE(part, name, key) { part, #name, "CREATE TABLE " #name "(" COLUMNS_##name(DEFINITION, ", ") key }
#define VIEW(part, sql) { part, NULL, "CREATE VIEW " sql }

#define TIME(ns) \
	"strftime('%Y-%m-%dT%H:%M:%S', " ns " / 1000000000, 'unixepoch') || " \
	"printf('.%03dZ', " ns " / 1000000 % 1000)"

/* Leaves out row 0, the start, which is no interval. */
#define INTERVAL_TIME \
	"interval_time AS SELECT i.id AS interval, " TIME("i.wall_ns") " AS time, " \
	"(i.mono_ns - b.mono_ns) / 1e9 AS interval_s, i.merged, i.mono_ns, i.wall_ns " \
	"FROM interval i JOIN interval b ON b.id = (SELECT max(id) FROM interval WHERE id < i.id)"

/* The value of nibble at - 1 (from 1): the position of its hex digit among "0" to "F". Blobs are faster than texts. */
#define NIBBLE(bins) \
	"instr(x'30313233343536373839414243444546', substr(hex(substr(" bins ", at / 2, 1)), at % 2 + 1, 1)) - 1"

/*
 * The codec of bins_codec.h in SQL: makes "cell":IOs pairs of one blob. Each step takes one nibble, which ends its
 * number if it is below 8. t is the number so far, without that nibble; unit is the factor of the nibble's group. n is
 * the value before this number, and cell is the value's cell. The walk begins as if a number 0 for cell -1 ended.
 */
#define NUMBER "(t + unit * nibble)"
#define DECODED(bins) \
	"json_each((WITH RECURSIVE walk(at, nibble, t, unit, cell, n) AS (SELECT 2, 0, 0, 1, -2, 0 UNION ALL " \
	"SELECT at + 1, " NIBBLE(bins) ", iif(nibble < 8, 0, t + unit * (nibble - 8)), " \
	"iif(nibble < 8, 1, unit * 8), iif(nibble < 8, cell + iif(n > 0, 1, 1 - n), cell), " \
	"iif(nibble < 8, max(n, 0) + (" NUMBER " + 1) / 2 * (1 - " NUMBER " % 2 * 2), n) " \
	"FROM walk WHERE at <= 2 * length(" bins ") + 2) " \
	"SELECT '{' || group_concat('\"' || cell || '\":' || n) || '}' FROM walk WHERE unit = 1 AND n > 0))"

#define NAMED "d.name AS device, w.stage AS stage, o.name AS op, w.part AS part"
#define NAMES \
	"JOIN watch w ON w.id = s.watch JOIN device d ON d.id = w.device JOIN op o ON o.id = s.op "
#define BINS(view, bins, scale) \
	view " AS SELECT s.interval, " NAMED ", c.lower_ns, c.upper_ns, j.value AS count " \
	"FROM series s " NAMES "CROSS JOIN " DECODED("s." bins) " j " \
	"CROSS JOIN cell c ON c.scale = " scale " AND c.id = CAST(j.key AS INTEGER) " \
	"WHERE s.interval > (SELECT min(id) FROM interval)"
/*
 * The first whole behind @watch; 65536 if there is none. The watches in between are parts of @watch.
 * Behind the last whole, parts of any whole may follow.
 */
#define NEXT_WHOLE(watch) \
	"ifnull((SELECT n.id FROM watch n WHERE n.id > " watch " AND n.part_of IS NULL ORDER BY n.id LIMIT 1), 65536)"
#define SCALE "(SELECT value FROM meta WHERE key = 'scale')"

const struct recording_table recording_tables[] = {
	TABLE(RECORDING_ALWAYS, meta, ") WITHOUT ROWID"),
	TABLE(RECORDING_ALWAYS, device, ")"),
	TABLE(RECORDING_ALWAYS, lower, ", PRIMARY KEY(device, lower)) WITHOUT ROWID"),
	TABLE(RECORDING_IDENTITY, identity, ")"),
	TABLE(RECORDING_ALWAYS, watch, ")"),
	TABLE(RECORDING_ALWAYS, op, ")"),
	TABLE(RECORDING_ALWAYS, cell, ", PRIMARY KEY(scale, id)) WITHOUT ROWID"),
	TABLE(RECORDING_ALWAYS, interval, ")"),
	TABLE(RECORDING_ALWAYS, state, ", PRIMARY KEY(interval, watch)) WITHOUT ROWID"),
	/* A rowid costs 2 %, but WITHOUT ROWID would move bins of 1 KiB to pages of their own. */
	TABLE(RECORDING_ALWAYS, series, ", PRIMARY KEY(interval, watch, op))"),
	TABLE(RECORDING_ALWAYS, mark, ")"),
	TABLE(RECORDING_HALTS, halt, ", PRIMARY KEY(interval, watch, from_ns)) WITHOUT ROWID"),
	TABLE(RECORDING_BUSY, busy, ", PRIMARY KEY(interval, watch)) WITHOUT ROWID"),
	/* n counts through the whole recording, so rows stay in order when intervals are merged. */
	TABLE(RECORDING_SLOW, slow, ", PRIMARY KEY(interval, n)) WITHOUT ROWID"),
	TABLE(RECORDING_FILES, slow_file, ")"),
	TABLE(RECORDING_SLOW, slow_found, ", PRIMARY KEY(interval, watch)) WITHOUT ROWID"),
	VIEW(RECORDING_ALWAYS, INTERVAL_TIME),
	VIEW(RECORDING_ALWAYS, "op_interval AS SELECT l.time, l.interval, l.interval_s, s.watch, " NAMED ", s.ios, "
	     "s.ios / l.interval_s AS iops, s.bytes, s.bytes / l.interval_s AS bytes_per_s, s.errors, "
	     "max(s.min_ns, min(s.max_ns, 1.0 * s.sum_ns / s.ios)) AS mean_ns, s.min_ns, s.max_ns, "
	     "s.sum_ns / 1e9 / l.interval_s AS queue_depth, s.idle_ios, 1.0 * s.idle_sum_ns / s.idle_ios AS idle_mean_ns "
	     "FROM series s JOIN interval_time l ON l.interval = s.interval " NAMES),
	VIEW(RECORDING_ALWAYS, "watch_interval AS SELECT l.time, l.interval, l.interval_s, d.name AS device, w.stage AS stage, "
	     "(SELECT ifnull(sum(ios), 0) FROM series s JOIN watch p ON p.id = s.watch WHERE s.interval = t.interval AND "
	     "s.watch >= t.watch AND s.watch < " NEXT_WHOLE("t.watch") " AND ifnull(p.part_of, p.id) = t.watch) + "
	     "(SELECT ifnull(sum(ios), 0) FROM watch p JOIN series s ON s.interval = t.interval AND s.watch = p.id WHERE "
	     "p.id > max((SELECT max(id) FROM watch WHERE part_of IS NULL), " NEXT_WHOLE("t.watch") " - 1) AND "
	     "p.part_of = t.watch) AS ios, "
	     "t.in_flight, t.oldest_ns, t.started, t.kernel_ios, t.kernel_in_flight, t.gone, t.replaced, l.merged "
	     "FROM state t JOIN interval_time l ON l.interval = t.interval JOIN watch w ON w.id = t.watch "
	     "JOIN device d ON d.id = w.device WHERE w.part_of IS NULL"),
	VIEW(RECORDING_ALWAYS, "part_in_flight AS SELECT l.time, l.interval, d.name AS device, w.stage AS stage, w.part AS part, "
	     "t.in_flight, t.oldest_ns FROM state t JOIN interval_time l ON l.interval = t.interval "
	     "JOIN watch w ON w.id = t.watch JOIN device d ON d.id = w.device WHERE w.part_of IS NOT NULL"),
	VIEW(RECORDING_ALWAYS, BINS("bin", "bins", SCALE)),
	VIEW(RECORDING_ALWAYS, BINS("idle_bin", "idle_bins", "min(" SCALE ", 3)")),
	VIEW(RECORDING_ALWAYS, "run_bin AS SELECT device, stage, op, part, lower_ns, upper_ns, sum(count) AS count FROM bin "
	     "GROUP BY device, stage, op, part, lower_ns, upper_ns"),
	VIEW(RECORDING_ALWAYS, "mark_time AS SELECT " TIME("wall_ns") " AS time, mono_ns, text FROM mark ORDER BY mono_ns"),
	VIEW(RECORDING_SLOW, "slow_io AS SELECT " TIME("s.end_wall_ns") " AS time, s.interval, " NAMED ", s.latency_ns, "
	     "s.queue_ns, s.device_ns, s.bytes, s.sector, s.error, s.hw_queue, s.start_cpu, s.end_cpu, s.pid, s.comm, "
	     "s.kernel_thread, s.cgroup, s.depth, s.beside, s.flags, f.pages, f.file_device, f.inode, f.file "
	     "FROM slow s LEFT JOIN slow_file f ON f.n = s.n " NAMES),
	{ 0 },
};
