// SPDX-License-Identifier: GPL-2.0-only
/* JSON lines, byte for byte where figures alone do not say it. */
#include "sink_run.h"

void set_up(void)
{
	sink_run_init(FORMAT_JSON);
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
	hist_put(&o->after_idle, blklat_cell(61000, 3), 1);
	hist_put(&o->after_idle, blklat_cell(2000000, 3), 1);
	o->after_idle_ios = 2;
	o->after_idle_sum_ns = 2061000;
	sink_run_interval();
	assert_non_null(strstr(r.text, "\"after_idle\":{\"ios\":2,\"latency_ns\":{\"mean\":1030500.0,\"p50\":60000.0,"
			       "\"p99.9\":2000000.0},\"bins\":[[55969,61035,1],[1953125,2129897,1]]}}]"));
	r.frames.idle_gap_ns = 0;
	sink_run_interval();
	assert_null(strstr(strstr(strstr(r.text, "after_idle") + 1, "after_idle") + 1, "after_idle"));
}

TEST(large_counts_and_reasons_survive)
{
	r.frames.f[0].accounting = (struct accounting){
		.started = UINT64_MAX, .completed = 1ULL << 63, .lost = 60, .requeued = 7, .moved = 8,
		.before = 9, .unissued = 10, .skipped = 11, .skipped_unexplained = 12,
		.lost_by = { [LOST_NO_START] = 10, [LOST_TAG_RANGE] = 20, [LOST_UNEXPLAINED] = 30 },
	};
	r.frames.f[0].gone = true;
	sink_run_open();
	sink_run_interval();
	assert_non_null(strstr(r.text,
		"\"accounting\":{\"started\":18446744073709551615,\"completed\":9223372036854775808,\"in_flight\":0,\"lost\":60,"
		"\"lost_by\":{\"no_start\":10,\"tag_range\":20,\"unexplained\":30},\"requeued\":7,\"kernel_ios\":null,"
		"\"kernel_in_flight\":null,\"moved\":8,\"before_start\":9,\"unissued\":10,\"skipped\":11,\"skipped_unexplained\":12}"));
	assert_non_null(strstr(r.text, ",\"gone\":true"));
}

TEST(any_name_gives_valid_json)
{
	strcpy(r.device.name, "a\"b\\c\n/\xFF");
	r.frames.f[0].queue_depth = 1 / 0.0;
	sink_run_open();
	sink_run_interval();
	assert_int_equal(strlen(r.text) - 1, strcspn(r.text, "\n"));
	assert_non_null(strstr(r.text, "\"device\":\"a\\\"b\\\\c\\n/\xEF\xBF\xBD\","));
	assert_non_null(strstr(r.text, "\"queue_depth\":null"));
}
