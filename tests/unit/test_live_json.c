// SPDX-License-Identifier: GPL-2.0-only
/* JSON lines: exact bytes, and the same values when json-c reads them back. */
#include "sink_run.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <unistd.h>

void set_up(void)
{
	sink_run_init(FORMAT_JSON);
}

TEST(a_line_is_the_contract)
{
	r.bins = true;
	sink_run_open();
	sink_run_reads();
	r.frames.f[0].interval_s = 1.0003;
	sink_run_interval();
	assert_string_equal(r.text, "{\"schema\":1,\"time\":\"2026-11-21T07:35:01.000Z\",\"interval_s\":1.000300,"
		"\"device\":\"loop0\",\"stage\":\"device\",\"engine\":\"bpf\","
		"\"ops\":[{\"op\":\"read\",\"ios\":4,\"bytes\":16384,\"errors\":0,\"iops\":4.0,"
		"\"latency_ns\":{\"mean\":545250.0,\"min\":60000,\"max\":2000000,\"p50\":60188.4,"
		"\"p99.9\":2000000.0},"
		"\"bins\":[[59727,60377,2],[60377,61035,1],[1995892,2017626,1]]}],"
		"\"in_flight\":{\"ios\":32,\"oldest_ns\":81234},\"queue_depth\":0.002,"
		"\"accounting\":{\"started\":36,\"completed\":4,\"in_flight\":32,\"lost\":0,\"lost_by\":{},"
		"\"requeued\":0,\"kernel_ios\":4,\"kernel_in_flight\":32,\"moved\":0,\"before_start\":0,\"unissued\":0,"
		"\"skipped\":0,\"skipped_unexplained\":0}}\n");
}

/* Only if they are looked for, and then even if there are none. */
TEST(ios_after_a_pause)
{
	struct op_frame *o;

	r.bins = true;
	sink_run_open();
	sink_run_reads();
	r.frames.idle_gap_ns = 100000000;
	sink_run_interval();
	assert_non_null(strstr(r.text, ",[1995892,2017626,1]],\"after_idle\":{\"ios\":0,"
			       "\"latency_ns\":{\"mean\":null,\"p50\":null,\"p99.9\":null},\"bins\":[]}}]"));

	/* Two of 61 us and 2 ms: 953.674 ns * 2^(47/8), 2^6; 2^11, 2^(89/8). */
	o = &r.frames.f[0].ops[BLKLAT_OP_READ];
	o->after_idle.cells[blklat_cell(61000, 3)]++;
	o->after_idle.cells[blklat_cell(2000000, 3)]++;
	o->after_idle_ios = 2;
	o->after_idle_sum_ns = 2061000;
	sink_run_interval();
	assert_non_null(strstr(r.text, "\"after_idle\":{\"ios\":2,\"latency_ns\":{\"mean\":1030500.0,\"p50\":60000.0,"
			       "\"p99.9\":2000000.0},\"bins\":[[55969,61035,1],[1953125,2129897,1]]}}]"));
	r.frames.idle_gap_ns = 0;
	sink_run_interval();
	assert_null(strstr(strstr(strstr(r.text, "after_idle") + 1, "after_idle") + 1, "after_idle"));
}

static struct json_object *at(struct json_object *o, const char *key)
{
	struct json_object *found = NULL;

	assert_true(json_object_object_get_ex(o, key, &found));
	return found;
}

TEST(an_idle_line_still_comes)
{
	struct json_object *o;

	r.frames.f[0].in_flight = 3;
	r.frames.f[0].oldest_ns = 1003100000;
	sink_run_open();
	sink_run_interval();
	o = json_tokener_parse(r.text);
	assert_int_equal(json_object_array_length(at(o, "ops")), 0);
	assert_int_equal(json_object_get_int64(at(at(o, "in_flight"), "oldest_ns")), 1003100000);
	assert_null(at(at(o, "accounting"), "kernel_ios"));
	assert_false(json_object_object_get_ex(o, "gone", NULL));
	json_object_put(o);
}

TEST(large_counts_and_reasons_survive)
{
	static const char *const reasons[] = { "no_start", "tag_range", "unexplained" };
	struct json_object *a, *lost_by, *o;
	struct accounting *acc;

	acc = &r.frames.f[0].accounting;
	*acc = (struct accounting){
		.started = UINT64_MAX, .completed = 1ULL << 63, .lost = 60, .requeued = 7, .moved = 8,
		.before = 9, .unissued = 10, .skipped = 11, .skipped_unexplained = 12,
		.lost_by = { [LOST_NO_START] = 10, [LOST_TAG_RANGE] = 20, [LOST_UNEXPLAINED] = 30 },
	};
	r.frames.f[0].gone = true;
	sink_run_open();
	sink_run_interval();
	o = json_tokener_parse(r.text);
	a = at(o, "accounting");
	lost_by = at(a, "lost_by");
	assert_true(json_object_get_uint64(at(a, "started")) == UINT64_MAX);
	assert_true(json_object_get_uint64(at(a, "completed")) == 1ULL << 63);
	assert_int_equal(json_object_object_length(lost_by), 3);
	for (u32 i = 0; i < ARRAY_SIZE(reasons); i++)
		assert_int_equal(json_object_get_int(at(lost_by, reasons[i])), 10 * (i + 1));
	assert_int_equal(json_object_get_int(at(a, "requeued")), 7);
	assert_int_equal(json_object_get_int(at(a, "moved")), 8);
	assert_int_equal(json_object_get_int(at(a, "before_start")), 9);
	assert_int_equal(json_object_get_int(at(a, "unissued")), 10);
	assert_int_equal(json_object_get_int(at(a, "skipped")), 11);
	assert_int_equal(json_object_get_int(at(a, "skipped_unexplained")), 12);
	assert_true(json_object_get_boolean(at(o, "gone")));
	json_object_put(o);
}

TEST(any_name_gives_valid_json)
{
	struct json_object *o;

	strcpy(r.device.name, "a\"b\\c\n/\xFF");
	r.frames.f[0].queue_depth = 1 / 0.0;
	sink_run_open();
	sink_run_interval();
	assert_int_equal(strlen(r.text) - 1, strcspn(r.text, "\n"));
	o = json_tokener_parse(r.text);
	assert_non_null(o);
	assert_string_equal(json_object_get_string(at(o, "device")), "a\"b\\c\n/\xEF\xBF\xBD");
	assert_null(at(o, "queue_depth"));
	json_object_put(o);
}

TEST(bins_outside_of_the_grid)
{
	struct op_frame *o;

	r.bins = true;
	o = &r.frames.f[0].ops[BLKLAT_OP_OTHER];
	o->ios = 3;
	o->hist.cells[0] = 1;
	o->hist.cells[BLKLAT_CELLS_MAX - 1] = 2;
	sink_run_open();
	sink_run_interval();
	/* 2^-26 s and 2^7 s */
	assert_non_null(strstr(r.text, "\"bins\":[[0,14,1],[128000000000,null,2]]"));
}

static void assert_write_fails(enum format format, FILE *out, int err)
{
	assert_non_null(out);
	sink_run_init(format);
	sink_run_reads();
	fclose(r.look.out);
	r.look.out = out;
	sink_run_open();
	assert_int_equal(r.sink->ops->interval(r.sink, &r.frames), err);
}

TEST(a_failed_write_is_its_errno)
{
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	for (u32 i = 0; i < FORMATS; i++) {
		assert_write_fails(i, fopen("/dev/full", "w"), -ENOSPC);
		assert_int_equal(pipe(ends), 0);
		close(ends[0]);
		assert_write_fails(i, fdopen(ends[1], "w"), -EPIPE);
	}
}
