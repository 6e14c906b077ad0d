// SPDX-License-Identifier: GPL-2.0-only
/* What is kept from one interval and capture to the next, as the exposition shows it. */
#include "prometheus_service.h"

TEST(totals_go_on_with_the_next_capture)
{
	begin(1);
	s.frames.f[0].accounting.requeued = 5;
	interval(10);
	interval(10);
	expect(READS("sda"), "20");
	expect(REQUEUES, "5");
	begin(1);
	expect(READS("sda"), "20");	/* the old value stays until the device has an interval */
	s.frames.f[0].accounting.requeued = 2;
	interval(1);
	interval(1);
	expect(READS("sda"), "22");
	expect(REQUEUES, "7");
	expect(CREATED("sda", "read"), "1795246500");
	expect("blklat_io_bytes_total{device=\"sda\",op=\"read\",stage=\"device\"}", "90112");
	expect(SUM, "0.00132");
}

#define OF_WRITES(name) "blklat_io_" name "_total{device=\"sda\",op=\"write\",stage=\"device\"}"

/* Bytes of parts are in the totals once they are counted, once, and stay if the IO's end is never seen. */
TEST(parts_of_ios_are_counted_once)
{
	struct op_frame *o;

	begin(1);
	o = &s.frames.f[0].ops[BLKLAT_OP_WRITE];
	o->counted = (struct op_sums){ .bytes = 512, .errors = 1 };
	o->partial = o->counted;
	interval(1);
	expect(OF_WRITES("bytes"), "512");
	expect(OF_WRITES("errors"), "1");
	o->ios = 1;
	o->bytes = 1536;
	o->errors = 1;
	o->counted = (struct op_sums){ .bytes = 1024, .sum_ns = 60000 };
	o->partial = (struct op_sums){ 0 };
	interval(1);
	expect(OF_WRITES("bytes"), "1536");
	expect(OF_WRITES("errors"), "1");
	o->ios = o->bytes = o->errors = 0;
	o->counted = o->partial = (struct op_sums){ .bytes = 4096 };
	interval(1);
	begin(1);
	interval(1);
	expect(OF_WRITES("bytes"), "5632");
	expect(OF_WRITES("errors"), "1");
}

/* Runs that are explained later stay reported; the next capture counts from 0 again. */
TEST(skipped_runs_never_fall)
{
	static const u64 unexplained[] = { 0, 3, 1, 4 };

	begin(2);
	for (u32 i = 0; i < ARRAY_SIZE(unexplained); i++) {
		s.frames.skipped_unexplained = unexplained[i];
		interval(1);
		expect("blklat_capture_skipped_runs_total", i == 3 ? "4" : i ? "3" : "0");
	}
	begin(2);
	expect("blklat_capture_skipped_runs_total", "4");
	s.frames.skipped_unexplained = 1;
	interval(1);
	expect("blklat_capture_skipped_runs_total", "5");
}

/* From the next interval on; by reason, and across captures. */
TEST(refusals_are_counted)
{
	begin(1);
	interval(1);
	expect("blklat_http_refused_total{reason=\"crowded\"}", "0");
	prometheus_refused(s.p, REFUSAL_PASSWORD);
	prometheus_refused(s.p, REFUSAL_STREAMS);
	prometheus_refused(s.p, REFUSAL_STREAMS);
	expect("blklat_http_refused_total{reason=\"streams\"}", "0");
	interval(1);
	begin(1);
	prometheus_refused(s.p, REFUSAL_STREAMS);
	interval(1);
	expect("blklat_http_refused_total{reason=\"password\"}", "1");
	expect("blklat_http_refused_total{reason=\"streams\"}", "3");
	expect("blklat_http_refused_total{reason=\"slow\"}", "0");
}

TEST(a_device_that_comes_back_goes_on)
{
	begin(2);
	interval(10);
	s.frames.f[1].gone = true;
	interval(3);
	expect(READS("sda"), "13");
	expect(READS("sdb"), "absent");
	begin(1);
	interval(1);
	expect(READS("sdb"), "absent");
	begin(3);
	interval(1);
	expect(READS("sda"), "15");
	expect(READS("sdb"), "14");
	expect(READS("sdc"), "1");
	expect(CREATED("sdc", "read"), "1795246503");
}

TEST(a_device_that_is_no_more_watched_is_dropped)
{
	begin(2);
	interval(10);
	begin(1);
	expect(READS("sdb"), "10");
	interval(10);
	expect(READS("sdb"), "absent");
	assert_null(strstr(s.text, "sdb"));
}

TEST(an_op_is_exposed_from_its_first_io_on)
{
	begin(1);
	interval(1);
	expect(CREATED("sda", "write"), "1795246500");
	expect(CREATED("sda", "flush"), "absent");
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].ios = 1;
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].hist.cells[CELL_60US] = 1;
	interval(0);
	expect(CREATED("sda", "flush"), "1795246501");
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].ios = 0;
	interval(0);
	expect(CREATED("sda", "flush"), "1795246501");
}

TEST(losses_never_fall_nor_count_twice)
{
	u64 *lost_by;

	begin(1);
	lost_by = s.frames.f[0].accounting.lost_by;
	lost_by[LOST_NO_START] = 3;
	interval(1);
	expect(LOST("no_start"), "3");
	/* Two of them are explained now. */
	lost_by[LOST_NO_START] = 1;
	lost_by[LOST_RECURSION] = 2;
	interval(1);
	expect(LOST("no_start"), "3");
	expect(LOST("recursion"), "0");
	/* And one is new. */
	lost_by[LOST_RECURSION] = 3;
	interval(1);
	expect(LOST("no_start"), "3");
	expect(LOST("recursion"), "1");
	/* A loss that was unexplained for a moment stays reported. */
	lost_by[LOST_UNEXPLAINED] = 1;
	interval(1);
	lost_by[LOST_UNEXPLAINED] = 0;
	interval(1);
	expect(LOST("unexplained"), "1");
	begin(1);
	s.frames.f[0].accounting.lost_by[LOST_NO_START] = 2;
	interval(1);
	expect(LOST("no_start"), "5");
}

/* Otherwise an alert for a hung IO would never end. An IO that really hangs is in flight for the kernel, too. */
TEST(what_only_the_kernel_saw_end_does_not_hang)
{
	struct frame *f;

	begin(1);
	f = s.frames.f;
	f->in_flight = f->accounting.in_flight = 3;
	f->oldest_ns = 31 * NSEC_PER_SEC;
	f->accounting.completed = 10;
	f->accounting.kernel_known = true;
	f->accounting.kernel_ios = 13;
	f->accounting.kernel_in_flight = 1;
	interval(0);
	expect(GAUGE("in_flight"), "3");
	expect(GAUGE("oldest_age_seconds"), "31");
	f->accounting.kernel_in_flight = 0;
	interval(0);
	expect(GAUGE("in_flight"), "0");
	expect(GAUGE("oldest_age_seconds"), "0");
	f->accounting.kernel_ios = 12;
	interval(0);
	expect(GAUGE("in_flight"), "3");
}

TEST(a_coarser_capture_lowers_the_buckets_for_good)
{
	begin_at(1, 6);
	interval(10);
	expect(BUCKET("6.1035e-05"), "10");
	expect(BUCKET("8.6316e-05"), "10");
	begin_at(1, 0);
	interval(5);
	begin_at(1, 6);
	interval(1);
	expect(BUCKET("6.1035e-05"), "16");
	expect(BUCKET("8.6316e-05"), "absent");
}

TEST(a_sum_outgrows_64_bits)
{
	begin(1);
	for (u32 i = 0; i < 4; i++) {
		interval(0);
		s.frames.f[0].ops[BLKLAT_OP_READ].sum_ns = 1ULL << 63;
		assert_int_equal(s.sink->ops->interval(s.sink, &s.frames), 0);
	}
	/* 2^65 ns; the next double, computed by Python */
	expect(SUM, "36893488147.419106");
}

/* The memory stays bounded even if a host makes and drops devices all day. */
TEST(the_one_gone_longest_is_forgotten)
{
	for (u32 i = 0; i < 1026; i++) {
		snprintf(s.devices[0].name, DEVICE_NAME_MAX, "dm-%u", 2000 - i);
		begin(1);
		interval(7);
		end();
	}
	/* 1025 had gone before the last one came: the first is forgotten, the second is not. */
	strcpy(s.devices[0].name, "dm-1999");
	strcpy(s.devices[1].name, "dm-2000");
	begin(2);
	interval(1);
	expect(READS("dm-1999"), "8");
	expect(READS("dm-2000"), "1");
}
