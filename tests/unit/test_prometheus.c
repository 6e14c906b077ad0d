// SPDX-License-Identifier: GPL-2.0-only
/* What is kept from one interval and capture to the next, as the exposition shows it. */
#include "prometheus_service.h"

static void totals_go_on_with_the_next_capture(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	s.frames.f[0].accounting.requeued = 5;
	interval(&s, 10);
	interval(&s, 10);
	expect(&s, READS("sda"), "20");
	expect(&s, REQUEUES, "5");
	end(&s);
	begin(&s, 1);
	expect(&s, READS("sda"), "20");	/* the old value stays until the device has an interval */
	s.frames.f[0].accounting.requeued = 2;
	interval(&s, 1);
	interval(&s, 1);
	expect(&s, READS("sda"), "22");
	expect(&s, REQUEUES, "7");
	expect(&s, CREATED("sda", "read"), "1795246500");
	expect(&s, "blklat_io_bytes_total{device=\"sda\",op=\"read\",stage=\"device\"}", "90112");
	expect(&s, SUM, "0.00132");
	end(&s);
	service_uninit(&s);
}

#define OF_WRITES(name) "blklat_io_" name "_total{device=\"sda\",op=\"write\",stage=\"device\"}"

/* Bytes of parts are in the totals once they are counted, once, and stay if the IO's end is never seen. */
static void parts_of_ios_are_counted_once(void **state)
{
	struct op_frame *o;
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	o = &s.frames.f[0].ops[BLKLAT_OP_WRITE];
	o->counted = (struct op_sums){ .bytes = 512, .errors = 1 };
	o->partial = o->counted;
	interval(&s, 1);
	expect(&s, OF_WRITES("bytes"), "512");
	expect(&s, OF_WRITES("errors"), "1");
	o->ios = 1;
	o->bytes = 1536;
	o->errors = 1;
	o->counted = (struct op_sums){ .bytes = 1024, .sum_ns = 60000 };
	o->partial = (struct op_sums){ 0 };
	interval(&s, 1);
	expect(&s, OF_WRITES("bytes"), "1536");
	expect(&s, OF_WRITES("errors"), "1");
	o->ios = o->bytes = o->errors = 0;
	o->counted = o->partial = (struct op_sums){ .bytes = 4096 };
	interval(&s, 1);
	end(&s);
	begin(&s, 1);
	interval(&s, 1);
	expect(&s, OF_WRITES("bytes"), "5632");
	expect(&s, OF_WRITES("errors"), "1");
	end(&s);
	service_uninit(&s);
}

/* Runs that are explained later stay reported; the next capture counts from 0 again. */
static void skipped_runs_never_fall(void **state)
{
	static const u64 unexplained[] = { 0, 3, 1, 4 };
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 2);
	for (u32 i = 0; i < ARRAY_SIZE(unexplained); i++) {
		s.frames.skipped_unexplained = unexplained[i];
		interval(&s, 1);
		expect(&s, "blklat_capture_skipped_runs_total", i == 3 ? "4" : i ? "3" : "0");
	}
	end(&s);
	begin(&s, 2);
	expect(&s, "blklat_capture_skipped_runs_total", "4");
	s.frames.skipped_unexplained = 1;
	interval(&s, 1);
	expect(&s, "blklat_capture_skipped_runs_total", "5");
	end(&s);
	service_uninit(&s);
}

/* From the next interval on; by reason, and across captures. */
static void refusals_are_counted(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	interval(&s, 1);
	expect(&s, "blklat_http_refused_total{reason=\"crowded\"}", "0");
	prometheus_refused(s.p, REFUSAL_PASSWORD);
	prometheus_refused(s.p, REFUSAL_STREAMS);
	prometheus_refused(s.p, REFUSAL_STREAMS);
	expect(&s, "blklat_http_refused_total{reason=\"streams\"}", "0");
	interval(&s, 1);
	end(&s);
	begin(&s, 1);
	prometheus_refused(s.p, REFUSAL_STREAMS);
	interval(&s, 1);
	expect(&s, "blklat_http_refused_total{reason=\"password\"}", "1");
	expect(&s, "blklat_http_refused_total{reason=\"streams\"}", "3");
	expect(&s, "blklat_http_refused_total{reason=\"slow\"}", "0");
	end(&s);
	service_uninit(&s);
}

static void a_device_that_comes_back_goes_on(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 2);
	interval(&s, 10);
	s.frames.f[1].gone = true;
	interval(&s, 3);
	expect(&s, READS("sda"), "13");
	expect(&s, READS("sdb"), "absent");
	end(&s);
	begin(&s, 1);
	interval(&s, 1);
	expect(&s, READS("sdb"), "absent");
	end(&s);
	begin(&s, 3);
	interval(&s, 1);
	expect(&s, READS("sda"), "15");
	expect(&s, READS("sdb"), "14");
	expect(&s, READS("sdc"), "1");
	expect(&s, CREATED("sdc", "read"), "1795246503");
	end(&s);
	service_uninit(&s);
}

static void a_device_that_is_no_more_watched_is_dropped(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 2);
	interval(&s, 10);
	end(&s);
	begin(&s, 1);
	expect(&s, READS("sdb"), "10");
	interval(&s, 10);
	expect(&s, READS("sdb"), "absent");
	assert_null(strstr(s.text, "sdb"));
	end(&s);
	service_uninit(&s);
}

static void an_op_is_exposed_from_its_first_io_on(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	interval(&s, 1);
	expect(&s, CREATED("sda", "write"), "1795246500");
	expect(&s, CREATED("sda", "flush"), "absent");
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].ios = 1;
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].hist.cells[CELL_60US] = 1;
	interval(&s, 0);
	expect(&s, CREATED("sda", "flush"), "1795246501");
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].ios = 0;
	interval(&s, 0);
	expect(&s, CREATED("sda", "flush"), "1795246501");
	end(&s);
	service_uninit(&s);
}

static void losses_never_fall_nor_count_twice(void **state)
{
	struct service s;
	u64 *lost_by;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	lost_by = s.frames.f[0].accounting.lost_by;
	lost_by[LOST_NO_START] = 3;
	interval(&s, 1);
	expect(&s, LOST("no_start"), "3");
	/* Two of them are explained now. */
	lost_by[LOST_NO_START] = 1;
	lost_by[LOST_RECURSION] = 2;
	interval(&s, 1);
	expect(&s, LOST("no_start"), "3");
	expect(&s, LOST("recursion"), "0");
	/* And one is new. */
	lost_by[LOST_RECURSION] = 3;
	interval(&s, 1);
	expect(&s, LOST("no_start"), "3");
	expect(&s, LOST("recursion"), "1");
	/* A loss that was unexplained for a moment stays reported. */
	lost_by[LOST_UNEXPLAINED] = 1;
	interval(&s, 1);
	lost_by[LOST_UNEXPLAINED] = 0;
	interval(&s, 1);
	expect(&s, LOST("unexplained"), "1");
	end(&s);
	begin(&s, 1);
	s.frames.f[0].accounting.lost_by[LOST_NO_START] = 2;
	interval(&s, 1);
	expect(&s, LOST("no_start"), "5");
	end(&s);
	service_uninit(&s);
}

/* Otherwise an alert for a hung IO would never end. An IO that really hangs is in flight for the kernel, too. */
static void what_only_the_kernel_saw_end_does_not_hang(void **state)
{
	struct service s;
	struct frame *f;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	f = s.frames.f;
	f->in_flight = f->accounting.in_flight = 3;
	f->oldest_ns = 31 * NSEC_PER_SEC;
	f->accounting.completed = 10;
	f->accounting.kernel_known = true;
	f->accounting.kernel_ios = 13;
	f->accounting.kernel_in_flight = 1;
	interval(&s, 0);
	expect(&s, GAUGE("in_flight"), "3");
	expect(&s, GAUGE("oldest_age_seconds"), "31");
	f->accounting.kernel_in_flight = 0;
	interval(&s, 0);
	expect(&s, GAUGE("in_flight"), "0");
	expect(&s, GAUGE("oldest_age_seconds"), "0");
	f->accounting.kernel_ios = 12;
	interval(&s, 0);
	expect(&s, GAUGE("in_flight"), "3");
	end(&s);
	service_uninit(&s);
}

static void a_coarser_capture_lowers_the_buckets_for_good(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin_at(&s, 1, 6);
	interval(&s, 10);
	expect(&s, BUCKET("6.1035e-05"), "10");
	expect(&s, BUCKET("8.6316e-05"), "10");
	end(&s);
	begin_at(&s, 1, 0);
	interval(&s, 5);
	end(&s);
	begin_at(&s, 1, 6);
	interval(&s, 1);
	expect(&s, BUCKET("6.1035e-05"), "16");
	expect(&s, BUCKET("8.6316e-05"), "absent");
	end(&s);
	service_uninit(&s);
}

static void a_sum_outgrows_64_bits(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, 1);
	for (u32 i = 0; i < 4; i++) {
		interval(&s, 0);
		s.frames.f[0].ops[BLKLAT_OP_READ].sum_ns = 1ULL << 63;
		assert_int_equal(s.sink->ops->interval(s.sink, &s.frames), 0);
	}
	/* 2^65 ns; the next double, computed by Python */
	expect(&s, SUM, "36893488147.419106");
	end(&s);
	service_uninit(&s);
}

/* The memory stays bounded even if a host makes and drops devices all day. */
static void the_one_gone_longest_is_forgotten(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	for (u32 i = 0; i < 1026; i++) {
		snprintf(s.devices[0].name, DEVICE_NAME_MAX, "dm-%u", 2000 - i);
		begin(&s, 1);
		interval(&s, 7);
		end(&s);
	}
	/* 1025 had gone before the last one came: the first is forgotten, the second is not. */
	strcpy(s.devices[0].name, "dm-1999");
	strcpy(s.devices[1].name, "dm-2000");
	begin(&s, 2);
	interval(&s, 1);
	expect(&s, READS("dm-1999"), "8");
	expect(&s, READS("dm-2000"), "1");
	end(&s);
	service_uninit(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_go_on_with_the_next_capture),
		cmocka_unit_test(parts_of_ios_are_counted_once),
		cmocka_unit_test(skipped_runs_never_fall),
		cmocka_unit_test(refusals_are_counted),
		cmocka_unit_test(a_device_that_comes_back_goes_on),
		cmocka_unit_test(a_device_that_is_no_more_watched_is_dropped),
		cmocka_unit_test(an_op_is_exposed_from_its_first_io_on),
		cmocka_unit_test(losses_never_fall_nor_count_twice),
		cmocka_unit_test(what_only_the_kernel_saw_end_does_not_hang),
		cmocka_unit_test(a_coarser_capture_lowers_the_buckets_for_good),
		cmocka_unit_test(a_sum_outgrows_64_bits),
		cmocka_unit_test(the_one_gone_longest_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
