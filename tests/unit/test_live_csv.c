// SPDX-License-Identifier: GPL-2.0-only
/* CSV, byte for byte. */
#include "sink_run.h"

TEST(one_header_then_a_row_for_each_op)
{
	sink_run_init(FORMAT_CSV);
	sink_run_open();
	sink_run_interval();
	sink_run_reads();
	sink_run_parts();
	r.frames.f[0].accounting.skipped_unexplained = 5;
	sink_run_interval();
	assert_int_equal(r.sink->ops->summary(r.sink, &r.frames), 0);
	assert_string_equal(r.text,
		"time,interval_s,device,stage,engine,op,ios,bytes,errors,iops,bytes_per_s,mean_ns,min_ns,max_ns,p50_ns,p99.9_ns,"
		"in_flight,oldest_ns,queue_depth,started,completed,lost,requeued,kernel_ios,partial_bytes,partial_errors,"
		"skipped_unexplained\n"
		"2026-11-21T07:35:01.000Z,1.000000,loop0,device,bpf,-,0,0,0,0.0,0.0,,,,,,0,0,0.000,0,0,0,0,,0,0,0\n"
		"2026-11-21T07:35:01.000Z,1.000000,loop0,device,bpf,read,4,16384,0,4.0,16384.0,545250.0,60000,2000000,"
		"60188.4,2000000.0,32,81234,0.002,36,4,0,0,4,4608,1,5\n");
}

TEST(names_are_quoted_when_they_must)
{
	static const struct { const char *name, *field; } cases[] = {
		{ "dm-0", ",dm-0,device," }, { "a,b", ",\"a,b\",device," }, { "a\"b", ",\"a\"\"b\",device," },
		{ "a\nb", ",\"a\nb\",device," }, { "a b", ",a b,device," }, { "\xFF", ",\xEF\xBF\xBD,device," },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		sink_run_init(FORMAT_CSV);
		strcpy(r.device.name, cases[i].name);
		sink_run_open();
		sink_run_interval();
		assert_non_null(strstr(r.text, cases[i].field));
	}
}
