/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The layout of a recording's file, on which recorder and reader have to agree. docs/recording.md says
 * what each table and column means. Any change of a table needs a new RECORDING_VERSION.
 */
#ifndef RECORDING_SCHEMA_H
#define RECORDING_SCHEMA_H

#include "util/types.h"

#define RECORDING_MAGIC "SQLite format 3"	/* the first 16 bytes, NUL included */
#define RECORDING_APPLICATION_ID 0x626c6b6c	/* "blkl" */
#define RECORDING_VERSION 3			/* PRAGMA user_version */

#define RECORDING_COUNT_MAX (1ULL << 58)	/* limit of any count, so that a sum of several never overflows */
#define RECORDING_TOTAL_MAX (1ULL << 62)	/* limit of anything added up over a run */
#define RECORDING_DEVICES_MAX 65536
#define RECORDING_MARKS_MAX 10000
#define RECORDING_PROCESSES_MAX 1024	/* beside those of the first intervals; of all watches */
#define RECORDING_MARK_BYTES 1024		/* of a mark's text */

/*
 * The columns of each table in order: C(TABLE, name, type) for each column, with SEP between them. CREATE, INSERT and
 * SELECT are made from these lists, so nobody counts columns: SERIES_bytes is the number of series.bytes, from 0.
 */
#define COLUMNS_meta(C, SEP) \
	C(META, key, TEXT PRIMARY KEY) SEP \
	C(META, value)

#define COLUMNS_device(C, SEP) \
	C(DEVICE, id, INTEGER PRIMARY KEY) SEP \
	C(DEVICE, name, TEXT) SEP \
	C(DEVICE, mapper, TEXT) SEP \
	C(DEVICE, kind, TEXT) SEP \
	C(DEVICE, model, TEXT) SEP \
	C(DEVICE, scheduler, TEXT) SEP \
	C(DEVICE, major, INTEGER) SEP \
	C(DEVICE, minor, INTEGER) SEP \
	C(DEVICE, size_bytes, INTEGER) SEP \
	C(DEVICE, hw_queues, INTEGER) SEP \
	C(DEVICE, tags, INTEGER) SEP \
	C(DEVICE, nr_requests, INTEGER) SEP \
	C(DEVICE, parent, INTEGER) SEP \
	C(DEVICE, iostats, INTEGER) SEP \
	C(DEVICE, hidden, INTEGER)

#define COLUMNS_lower(C, SEP) \
	C(LOWER, device, INTEGER) SEP \
	C(LOWER, lower, INTEGER)

/* A row for each device of which any of these is known. This table does not exist in recordings of older programs. */
#define COLUMNS_identity(C, SEP) \
	C(IDENTITY, device, INTEGER PRIMARY KEY) SEP \
	C(IDENTITY, serial, TEXT) SEP \
	C(IDENTITY, wwid, TEXT) SEP \
	C(IDENTITY, firmware, TEXT) SEP \
	C(IDENTITY, path, TEXT) SEP \
	C(IDENTITY, volume, TEXT)

#define COLUMNS_watch(C, SEP) \
	C(WATCH, id, INTEGER PRIMARY KEY) SEP \
	C(WATCH, device, INTEGER) SEP \
	C(WATCH, stage, TEXT) SEP \
	C(WATCH, part_of, INTEGER) SEP \
	C(WATCH, part_by, TEXT) SEP \
	C(WATCH, part, TEXT)

#define COLUMNS_op(C, SEP) \
	C(OP, id, INTEGER PRIMARY KEY) SEP \
	C(OP, name, TEXT)

#define COLUMNS_cell(C, SEP) \
	C(CELL, scale, INTEGER) SEP \
	C(CELL, id, INTEGER) SEP \
	C(CELL, lower_ns, INTEGER) SEP \
	C(CELL, upper_ns, INTEGER)

#define COLUMNS_interval(C, SEP) \
	C(INTERVAL, id, INTEGER PRIMARY KEY) SEP \
	C(INTERVAL, mono_ns, INTEGER) SEP \
	C(INTERVAL, wall_ns, INTEGER) SEP \
	C(INTERVAL, skipped, INTEGER) SEP \
	C(INTERVAL, merged, INTEGER)

/* The columns from requeued to bios_started are cells of the accounts, see recording_account_columns. */
#define COLUMNS_state(C, SEP) \
	C(STATE, interval, INTEGER) SEP \
	C(STATE, watch, INTEGER) SEP \
	C(STATE, started, INTEGER) SEP \
	C(STATE, started_after, INTEGER) SEP \
	C(STATE, in_flight, INTEGER) SEP \
	C(STATE, in_flight_after, INTEGER) SEP \
	C(STATE, oldest_ns, INTEGER) SEP \
	C(STATE, requeued, INTEGER) SEP \
	C(STATE, no_start, INTEGER) SEP \
	C(STATE, overwritten, INTEGER) SEP \
	C(STATE, tag_range, INTEGER) SEP \
	C(STATE, table_full, INTEGER) SEP \
	C(STATE, before_start, INTEGER) SEP \
	C(STATE, unissued, INTEGER) SEP \
	C(STATE, empty_flush, INTEGER) SEP \
	C(STATE, bios_started, INTEGER) SEP \
	C(STATE, kernel_ios, INTEGER) SEP \
	C(STATE, kernel_in_flight, INTEGER) SEP \
	C(STATE, gone, INTEGER) SEP \
	C(STATE, replaced, INTEGER) SEP \
	C(STATE, unsettled, INTEGER) SEP \
	C(STATE, waited_ns, INTEGER)

#define COLUMNS_series(C, SEP) \
	C(SERIES, interval, INTEGER) SEP \
	C(SERIES, watch, INTEGER) SEP \
	C(SERIES, op, INTEGER) SEP \
	C(SERIES, ios, INTEGER) SEP \
	C(SERIES, bytes, INTEGER) SEP \
	C(SERIES, errors, INTEGER) SEP \
	C(SERIES, sum_ns, INTEGER) SEP \
	C(SERIES, min_ns, INTEGER) SEP \
	C(SERIES, max_ns, INTEGER) SEP \
	C(SERIES, bins, BLOB) SEP \
	C(SERIES, idle_ios, INTEGER) SEP \
	C(SERIES, idle_sum_ns, INTEGER) SEP \
	C(SERIES, idle_bins, BLOB)

#define COLUMNS_mark(C, SEP) \
	C(MARK, mono_ns, INTEGER) SEP \
	C(MARK, wall_ns, INTEGER) SEP \
	C(MARK, text, TEXT)

/* This table exists only if halts were looked for (struct halt), see enum recording_part. */
#define COLUMNS_halt(C, SEP) \
	C(HALT, interval, INTEGER) SEP \
	C(HALT, watch, INTEGER) SEP \
	C(HALT, from_ns, INTEGER) SEP \
	C(HALT, to_ns, INTEGER)

/* Recordings of older programs do not have this table. */
#define COLUMNS_busy(C, SEP) \
	C(BUSY, interval, INTEGER) SEP \
	C(BUSY, watch, INTEGER) SEP \
	C(BUSY, busy_ns, INTEGER)

/* These tables exist only if slow IOs were recorded (slow_most in table meta). */
#define COLUMNS_slow(C, SEP) \
	C(SLOW, interval, INTEGER) SEP \
	C(SLOW, n, INTEGER) SEP \
	C(SLOW, watch, INTEGER) SEP \
	C(SLOW, end_wall_ns, INTEGER) SEP \
	C(SLOW, latency_ns, INTEGER) SEP \
	C(SLOW, queue_ns, INTEGER) SEP \
	C(SLOW, device_ns, INTEGER) SEP \
	C(SLOW, op, INTEGER) SEP \
	C(SLOW, bytes, INTEGER) SEP \
	C(SLOW, sector, INTEGER) SEP \
	C(SLOW, error, TEXT) SEP \
	C(SLOW, hw_queue, INTEGER) SEP \
	C(SLOW, start_cpu, INTEGER) SEP \
	C(SLOW, end_cpu, INTEGER) SEP \
	C(SLOW, pid, INTEGER) SEP \
	C(SLOW, comm, TEXT) SEP \
	C(SLOW, kernel_thread, INTEGER) SEP \
	C(SLOW, cgroup, TEXT) SEP \
	C(SLOW, depth, INTEGER) SEP \
	C(SLOW, beside, TEXT) SEP \
	C(SLOW, flags, TEXT)

/* What is known of the file of the slow IO with this n. Recordings of versions that did not look do not have it. */
#define COLUMNS_slow_file(C, SEP) \
	C(SLOW_FILE, n, INTEGER PRIMARY KEY) SEP \
	C(SLOW_FILE, pages, TEXT) SEP \
	C(SLOW_FILE, file_device, TEXT) SEP \
	C(SLOW_FILE, inode, INTEGER) SEP \
	C(SLOW_FILE, file, TEXT)

#define COLUMNS_slow_found(C, SEP) \
	C(SLOW_FOUND, interval, INTEGER) SEP \
	C(SLOW_FOUND, watch, INTEGER) SEP \
	C(SLOW_FOUND, found, INTEGER)

#define COLUMN_NUMBER(TABLE, name, ...) TABLE##_##name,
enum { COLUMNS_meta(COLUMN_NUMBER, ) };
enum { COLUMNS_device(COLUMN_NUMBER, ) };
enum { COLUMNS_lower(COLUMN_NUMBER, ) };
enum { COLUMNS_identity(COLUMN_NUMBER, ) };
enum { COLUMNS_watch(COLUMN_NUMBER, ) };
enum { COLUMNS_op(COLUMN_NUMBER, ) };
enum { COLUMNS_cell(COLUMN_NUMBER, ) };
enum { COLUMNS_interval(COLUMN_NUMBER, ) };
enum { COLUMNS_state(COLUMN_NUMBER, ) };
enum { COLUMNS_series(COLUMN_NUMBER, ) };
enum { COLUMNS_mark(COLUMN_NUMBER, ) };
enum { COLUMNS_halt(COLUMN_NUMBER, ) };
enum { COLUMNS_busy(COLUMN_NUMBER, ) };
enum { COLUMNS_slow(COLUMN_NUMBER, ) };
enum { COLUMNS_slow_file(COLUMN_NUMBER, ) };
enum { COLUMNS_slow_found(COLUMN_NUMBER, ) };

/* All columns of a table, for SELECT; and the table with a parameter for each column, for INSERT INTO. */
#define SQL_NAMES(table) COLUMNS_##table(COLUMN_NAME, ", ")
#define SQL_INTO(table) #table " VALUES(" COLUMNS_##table(COLUMN_PARAMETER, ", ") ")"
#define COLUMN_NAME(TABLE, name, ...) #name
#define COLUMN_PARAMETER(TABLE, name, ...) "?"

/* So many of slow_io_fields are in table slow, the others in slow_file. */
#define SLOW_FIELDS_OF_SLOW (SLOW_flags - SLOW_latency_ns + 1)

/* [enum blklat_account] Its column in table state. */
extern const int recording_account_columns[];

/* What of a recording needs a table or view; a set of these for several. */
enum recording_part {
	RECORDING_ALWAYS = 1,
	RECORDING_HALTS = 2,	/* halts were looked for */
	RECORDING_SLOW = 4,	/* slow IOs were recorded (slow_most in table meta) */
	RECORDING_IDENTITY = 8,
	RECORDING_FILES = 16,	/* the files of slow IOs */
	RECORDING_BUSY = 32,
};

/* The CREATE statements. A reader accepts only a file whose tables are the same to the letter. */
struct recording_table {
	enum recording_part part;
	const char *name;	/* NULL: a view for people who use SQL, which our reader does not need */
	const char *sql;
};
extern const struct recording_table recording_tables[];	/* ended by a NULL sql */

#define RECORDING_SLOW_MOST 10000	/* limit of slow_most */
#define RECORDING_CGROUP_BYTES 1024	/* limit of a slow IO's cgroup */

#endif
