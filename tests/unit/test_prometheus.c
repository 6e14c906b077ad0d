// SPDX-License-Identifier: GPL-2.0-only
/* What is kept from one interval and capture to the next, as the plain text shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sink/prometheus.h"
#include "util/cleanup.h"

#define WATCHES 3
/* 2026-11-21T07:35:00Z, by date(1). */
#define START_NS 1795246500000000000LL
#define CELL_60US 767	/* at scale 6, see bins.h */

struct service {
	struct prometheus *p;
	struct device devices[WATCHES];
	struct watch watches[WATCHES];
	struct run_info run;
	struct sink_config cfg;
	struct sink *sink;
	struct frames frames;
	s64 now_ns;
	char *text;		/* the last scrape */
	size_t len;
};

static void begin_at(struct service *s, u32 n, u32 scale)
{
	for (u32 i = 0; i < n; i++)
		s->watches[i] = (struct watch){ &s->devices[i], BLKLAT_STAGE_DEVICE };
	s->run = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = s->watches, .n_watches = n, .scale = scale,
	};
	assert_int_equal(sink_prometheus.open(&s->run, &s->cfg, &s->sink), 0);
	assert_int_equal(frames_init(&s->frames, s->watches, n, scale), 0);
}

static void begin(struct service *s, u32 n)
{
	begin_at(s, n, BLKLAT_SCALE_MAX);
}

static void end(struct service *s)
{
	sink_prometheus.close(s->sink);
	frames_uninit(&s->frames);
}

static void service_init(struct service *s)
{
	const struct prometheus_config cfg = { .schema = 3, .classic_schema = 1 };

	*s = (struct service){ .now_ns = START_NS };
	for (u32 i = 0; i < WATCHES; i++)
		snprintf(s->devices[i].name, DEVICE_NAME_MAX, "sd%c", 'a' + i);
	assert_int_equal(prometheus_new(&cfg, &s->p), 0);
	s->cfg.prometheus = s->p;
}

static void service_uninit(struct service *s)
{
	prometheus_free(s->p);
	free(s->text);
}

/* An interval of 1 s in which each watch has @ios reads of 60 us and 4 KiB. */
static void interval(struct service *s, u64 ios)
{
	s->now_ns += NSEC_PER_SEC;
	for (u32 i = 0; i < s->frames.n; i++) {
		struct frame *f = &s->frames.f[i];
		struct op_frame *o = &f->ops[BLKLAT_OP_READ];

		f->end_ns = s->now_ns;
		f->interval_s = 1;
		o->ios = ios;
		o->bytes = 4096 * ios;
		o->sum_ns = 60000 * ios;
		o->hist.cells[blklat_coarser(CELL_60US, o->hist.scale)] = ios;
	}
	assert_int_equal(sink_prometheus.interval(s->sink, &s->frames), 0);
}

static const char *scrape(struct service *s, enum prometheus_format format)
{
	FILE *f;

	free(s->text);
	f = open_memstream(&s->text, &s->len);
	assert_non_null(f);
	assert_int_equal(prometheus_render(s->p, format, f), 0);
	fclose(f);
	return s->text;
}

/* The scrape has this line, or "absent" when nothing begins with @key. */
static void expect(struct service *s, const char *key, const char *value)
{
	char line[256];
	const char *text = scrape(s, PROMETHEUS_OPENMETRICS);

	snprintf(line, sizeof(line), "\n%s %s\n", key, value);
	if (strcmp(value, "absent")) {
		if (!strstr(text, line))
			fail_msg("no '%s %s' in:\n%s", key, value, text);
		return;
	}
	snprintf(line, sizeof(line), "\n%s ", key);
	assert_null(strstr(text, line));
}

#define READS(device) "blklat_io_latency_seconds_count{device=\"" device "\",op=\"read\",stage=\"device\"}"
#define CREATED(device, op) \
	"blklat_io_latency_seconds_created{device=\"" device "\",op=\"" op "\",stage=\"device\"}"
#define LOST(reason) "blklat_io_lost_total{device=\"sda\",reason=\"" reason "\",stage=\"device\"}"
#define REQUEUES "blklat_io_requeues_total{device=\"sda\",stage=\"device\"}"

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
	expect(&s, READS("sda"), "20");	/* until it has an interval, what was stays */
	s.frames.f[0].accounting.requeued = 2;
	interval(&s, 1);
	interval(&s, 1);
	expect(&s, READS("sda"), "22");
	expect(&s, REQUEUES, "7");
	expect(&s, CREATED("sda", "read"), "1795246500");
	expect(&s, "blklat_io_bytes_total{device=\"sda\",op=\"read\",stage=\"device\"}", "90112");
	expect(&s, "blklat_io_latency_seconds_sum{device=\"sda\",op=\"read\",stage=\"device\"}", "0.00132");
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
	/* What was unexplained for a moment stays told. */
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

static void a_coarser_capture_lowers_the_buckets_for_good(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	begin_at(&s, 1, 6);
	interval(&s, 10);
	expect(&s, "blklat_io_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"device\",le=\"6.1035e-05\"}",
	       "10");
	expect(&s, "blklat_io_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"device\",le=\"8.6316e-05\"}",
	       "10");
	end(&s);
	begin_at(&s, 1, 0);
	interval(&s, 5);
	end(&s);
	begin_at(&s, 1, 6);
	interval(&s, 1);
	expect(&s, "blklat_io_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"device\",le=\"6.1035e-05\"}",
	       "16");
	expect(&s, "blklat_io_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"device\",le=\"8.6316e-05\"}",
	       "absent");
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
		assert_int_equal(sink_prometheus.interval(s.sink, &s.frames), 0);
	}
	/* 2^65 ns; the next double by Python */
	expect(&s, "blklat_io_latency_seconds_sum{device=\"sda\",op=\"read\",stage=\"device\"}", "36893488147.419106");
	end(&s);
	service_uninit(&s);
}

static void labels_are_escaped_and_well_formed(void **state)
{
	struct service s;

	(void)state;
	service_init(&s);
	strcpy(s.devices[0].name, "a\"b\\c\nd\xFF" "e");
	strcpy(s.devices[0].serial, "S\n1");
	strcpy(s.devices[0].wwid, "naa.5");
	begin(&s, 1);
	interval(&s, 1);
	expect(&s, READS("a\\\"b\\\\c\\nd\xEF\xBF\xBD" "e"), "1");
	expect(&s, "blklat_device_info{device=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD" "e\",kind=\"\",mapper=\"\",model=\"\","
		   "scheduler=\"\",serial=\"S\\n1\",wwid=\"naa.5\"}", "1");
	end(&s);
	service_uninit(&s);
}

/* Every label as long as it gets, of bytes that triple. */
static void the_longest_labels_fit(void **state)
{
	struct service s;
	struct device *d;

	(void)state;
	service_init(&s);
	d = &s.devices[0];
	memset(d->name, 0xFF, sizeof(d->name) - 1);
	memset(d->mapper, 0xFF, sizeof(d->mapper) - 1);
	memset(d->model, 0xFF, sizeof(d->model) - 1);
	memset(d->serial, 0xFF, sizeof(d->serial) - 1);
	memset(d->wwid, 0xFF, sizeof(d->wwid) - 1);
	begin(&s, 1);
	interval(&s, 1);
	for (u32 format = 0; format < PROMETHEUS_FORMATS; format++)
		scrape(&s, format);
	assert_true(s.len > 3 * (sizeof(d->wwid) - 1));
	end(&s);
	service_uninit(&s);
}

/* The memory of a host that makes and drops devices all day is bounded. */
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

static void devices_stand_in_the_order_of_their_numbers(void **state)
{
	struct service s;
	const char *text, *two, *ten;

	(void)state;
	service_init(&s);
	strcpy(s.devices[0].name, "nvme10n1");
	strcpy(s.devices[1].name, "nvme2n1");
	begin(&s, 2);
	interval(&s, 1);
	text = scrape(&s, PROMETHEUS_TEXT);
	two = strstr(text, "blklat_io_in_flight{device=\"nvme2n1\"");
	ten = strstr(text, "blklat_io_in_flight{device=\"nvme10n1\"");
	assert_non_null(two);
	assert_true(two < ten);
	end(&s);
	service_uninit(&s);
}

static void a_schema_beyond_the_grid_is_refused(void **state)
{
	struct prometheus *p;

	(void)state;
	assert_int_equal(prometheus_new(&(struct prometheus_config){ .schema = 7 }, &p), -EINVAL);
	assert_int_equal(prometheus_new(&(struct prometheus_config){ .classic_schema = 7 }, &p), -EINVAL);
}

static void a_failed_write_is_told(void **state)
{
	struct service s;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	service_init(&s);
	begin(&s, 1);
	interval(&s, 1);
	for (u32 format = 0; format < PROMETHEUS_FORMATS; format++)
		assert_int_equal(prometheus_render(s.p, format, full), -ENOSPC);
	fclose(full);
	end(&s);
	service_uninit(&s);
}

struct scraper {
	struct prometheus *p;
	enum prometheus_format format;
	atomic_bool *stop;
	u64 scrapes, torn, fallen;
};

/* The number after the first @key in @text. */
static u64 number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Of one moment: each interval gives every device as many IOs, and the bytes are 4096 times those. */
static void check_scrape(struct scraper *s, const char *text, u64 *last)
{
	u64 a = number_after(text, READS("sda") " "), c = number_after(text, READS("sdc") " ");
	u64 bytes = number_after(text, "blklat_io_bytes_total{device=\"sdb\",op=\"read\",stage=\"device\"} ");

	s->torn += a != c || bytes != 4096 * a;
	s->fallen += a < *last;
	*last = a;
}

static void *scrape_on(void *into)
{
	struct scraper *s = into;
	u64 last = 0;

	while (!atomic_load(s->stop) || !s->scrapes) {
		CLEANUP(cleanup_free) char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		if (!f || prometheus_render(s->p, s->format, f))
			s->torn++;
		if (f)
			fclose(f);
		if (s->format != PROMETHEUS_PROTOBUF && text)
			check_scrape(s, text, &last);
		s->scrapes++;
	}
	return NULL;
}

static void scrapes_are_of_one_moment_whatever_runs_meanwhile(void **state)
{
	struct scraper scrapers[PROMETHEUS_FORMATS];
	pthread_t threads[PROMETHEUS_FORMATS];
	atomic_bool stop = false;
	struct service s;

	(void)state;
	service_init(&s);
	begin(&s, WATCHES);
	for (u32 i = 0; i < PROMETHEUS_FORMATS; i++) {
		scrapers[i] = (struct scraper){ .p = s.p, .format = i, .stop = &stop };
		assert_int_equal(pthread_create(&threads[i], NULL, scrape_on, &scrapers[i]), 0);
	}
	for (u32 i = 0; i < 2000; i++) {
		interval(&s, 3);
		if (i % 500 == 499) {
			end(&s);
			begin(&s, WATCHES);
		}
	}
	atomic_store(&stop, true);
	for (u32 i = 0; i < PROMETHEUS_FORMATS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(scrapers[i].torn, 0);
		assert_int_equal(scrapers[i].fallen, 0);
		assert_true(scrapers[i].scrapes > 0);
	}
	interval(&s, 0);
	expect(&s, READS("sda"), "6000");
	end(&s);
	service_uninit(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_go_on_with_the_next_capture),
		cmocka_unit_test(a_device_that_comes_back_goes_on),
		cmocka_unit_test(a_device_that_is_no_more_watched_is_dropped),
		cmocka_unit_test(an_op_is_exposed_from_its_first_io_on),
		cmocka_unit_test(losses_never_fall_nor_count_twice),
		cmocka_unit_test(a_coarser_capture_lowers_the_buckets_for_good),
		cmocka_unit_test(a_sum_outgrows_64_bits),
		cmocka_unit_test(labels_are_escaped_and_well_formed),
		cmocka_unit_test(the_longest_labels_fit),
		cmocka_unit_test(the_one_gone_longest_is_forgotten),
		cmocka_unit_test(devices_stand_in_the_order_of_their_numbers),
		cmocka_unit_test(a_schema_beyond_the_grid_is_refused),
		cmocka_unit_test(a_failed_write_is_told),
		cmocka_unit_test(scrapes_are_of_one_moment_whatever_runs_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
