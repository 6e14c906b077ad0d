// SPDX-License-Identifier: GPL-2.0-only
/* The tables of a recording, in each version of the format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "recording/schema.h"
#include "util/types.h"

/*
 * Readers compare these texts letter by letter. They are made from lists of columns, and must stay what they were.
 * @later came with version @since.
 */
static const struct table_text { const char *name, *before, *later, *end; u32 since; } texts[] = {
	{ "meta", "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID", "", "", 1 },
	{ "device",
	  "CREATE TABLE device(id INTEGER PRIMARY KEY, name TEXT, mapper TEXT, kind TEXT, model TEXT, "
	  "scheduler TEXT, major INTEGER, minor INTEGER, size_bytes INTEGER, hw_queues INTEGER, "
	  "tags INTEGER, nr_requests INTEGER, parent INTEGER, iostats INTEGER, hidden INTEGER)", "", "", 1 },
	{ "lower",
	  "CREATE TABLE lower(device INTEGER, lower INTEGER, PRIMARY KEY(device, lower)) WITHOUT ROWID", "", "", 1 },
	{ "watch", "CREATE TABLE watch(id INTEGER PRIMARY KEY, device INTEGER, stage TEXT",
	  ", part_of INTEGER, part_by TEXT, part TEXT", ")", 2 },
	{ "op", "CREATE TABLE op(id INTEGER PRIMARY KEY, name TEXT)", "", "", 1 },
	{ "cell",
	  "CREATE TABLE cell(scale INTEGER, id INTEGER, lower_ns INTEGER, upper_ns INTEGER, "
	  "PRIMARY KEY(scale, id)) WITHOUT ROWID", "", "", 1 },
	{ "interval",
	  "CREATE TABLE interval(id INTEGER PRIMARY KEY, mono_ns INTEGER, wall_ns INTEGER, "
	  "skipped INTEGER, merged INTEGER)", "", "", 1 },
	{ "state",
	  "CREATE TABLE state(interval INTEGER, watch INTEGER, started INTEGER, started_after INTEGER, "
	  "in_flight INTEGER, in_flight_after INTEGER, oldest_ns INTEGER, requeued INTEGER, "
	  "no_start INTEGER, overwritten INTEGER, tag_range INTEGER, table_full INTEGER, "
	  "before_start INTEGER, unissued INTEGER, empty_flush INTEGER, bios_started INTEGER, "
	  "kernel_ios INTEGER, kernel_in_flight INTEGER, gone INTEGER",
	  ", replaced INTEGER, unsettled INTEGER, waited_ns INTEGER", ", PRIMARY KEY(interval, watch)) WITHOUT ROWID", 2 },
	{ "series",
	  "CREATE TABLE series(interval INTEGER, watch INTEGER, op INTEGER, ios INTEGER, bytes INTEGER, "
	  "errors INTEGER, sum_ns INTEGER, min_ns INTEGER, max_ns INTEGER, bins BLOB, "
	  "idle_ios INTEGER, idle_sum_ns INTEGER, idle_bins BLOB, PRIMARY KEY(interval, watch, op))", "", "", 1 },
	{ "mark", "CREATE TABLE mark(mono_ns INTEGER, wall_ns INTEGER, text TEXT)", "", "", 1 },
};

static const struct table_text slow_texts[] = {
	{ "slow",
	  "CREATE TABLE slow(interval INTEGER, n INTEGER, watch INTEGER, end_wall_ns INTEGER, latency_ns INTEGER, "
	  "queue_ns INTEGER, device_ns INTEGER, op INTEGER, bytes INTEGER, sector INTEGER, error TEXT, hw_queue INTEGER, "
	  "start_cpu INTEGER, end_cpu INTEGER, pid INTEGER, comm TEXT, kernel_thread INTEGER, cgroup TEXT",
	  ", depth INTEGER, beside TEXT, flags TEXT", ", PRIMARY KEY(interval, n)) WITHOUT ROWID", 3 },
	{ "slow_found",
	  "CREATE TABLE slow_found(interval INTEGER, watch INTEGER, found INTEGER, PRIMARY KEY(interval, watch)) WITHOUT ROWID",
	  "", "", 1 },
};

static void check_tables(const struct recording_table *tables, const struct table_text *t, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		assert_string_equal(tables[i].name, t[i].name);
		for (u32 version = 1; version <= RECORDING_VERSION; version++) {
			char text[1024];

			snprintf(text, sizeof(text), "%s%s%s", t[i].before, version < t[i].since ? "" : t[i].later, t[i].end);
			assert_string_equal(tables[i].sql[version - 1], text);
		}
	}
	assert_null(tables[n].name);
}

static void tables_are_those_of_their_version(void **state)
{
	(void)state;
	assert_int_equal(RECORDING_VERSION, 3);
	check_tables(recording_tables, texts, ARRAY_SIZE(texts));
	check_tables(recording_slow_tables, slow_texts, ARRAY_SIZE(slow_texts));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_those_of_their_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
