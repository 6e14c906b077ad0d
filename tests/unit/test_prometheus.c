// SPDX-License-Identifier: GPL-2.0-only
/*
 * A service whose devices come and go, and its scrapes: what is kept from one interval to the next, also when another capture is
 * opened; and rendering: labels, order, failures.
 */
#include "unit.h"

#include <errno.h>

#include "service/prometheus.h"

#define WATCHES 3
/* 2026-11-21T07:35:00Z, by date(1). */
#define START_NS 1795246500000000000LL
#define CELL_60US 767	/* at scale 6, see bins.h */

struct service {
	struct totals p;
	struct device devices[WATCHES];
	struct watch watches[WATCHES];
	struct run_info run;
	bool begun;		/* a run has */
	struct frames frames;
	s64 now_ns;
	u32 numbers;		/* of watches so far */
	struct blob *scraped;
};

static struct service s;

static void end(void)
{
	s.begun = false;
	frames_uninit(&s.frames);
}

/* @n devices come, in place of those before. */
static void begin(u32 n)
{
	if (s.begun)
		end();
	for (u32 i = 0; i < n; i++)
		s.watches[i] = (struct watch){ .device = &s.devices[i], .stage = BLKLAT_STAGE_DEVICE };
	s.run = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = s.watches, .n_watches = n, .scale = BLKLAT_SCALE_MAX,
	};
	s.begun = true;
	totals_begin(&s.p, &s.run);
	assert_int_equal(frames_init(&s.frames, s.watches, n, BLKLAT_SCALE_MAX), 0);
	for (u32 i = 0; i < n; i++)
		s.frames.f[i].number = s.numbers++;
}

void set_up(void)
{
	s = (struct service){ .now_ns = START_NS };
	for (u32 i = 0; i < WATCHES; i++)
		snprintf(s.devices[i].name, DEVICE_NAME_MAX, "sd%c", 'a' + i);
	totals_init(&s.p, 3);
}

void tear_down(void)
{
	if (s.begun)
		end();
	totals_uninit(&s.p);
	blob_unref(s.scraped);
}

/* An interval of 1 s in which each watch has @ios reads of 60 us and 4 KiB. */
static void interval(u64 ios)
{
	s.now_ns += NSEC_PER_SEC;
	for (u32 i = 0; i < s.frames.n; i++) {
		struct frame *f = &s.frames.f[i];
		struct op_frame *o = &f->ops[BLKLAT_OP_READ];

		f->end_ns = s.now_ns;
		f->interval_s = 1;
		o->ios = ios;
		o->bytes = 4096 * ios;
		o->counted.bytes = o->bytes;
		o->sum_ns = 60000 * ios;
		hist_clear(&o->hist);
		hist_put(&o->hist, CELL_60US, ios);
	}
	assert_int_equal(totals_add(&s.p, &s.frames), 0);
}

static const char *scrape(enum prometheus_format format)
{
	blob_unref(s.scraped);
	s.scraped = NULL;
	assert_int_equal(prometheus_render(&s.p, format, &s.scraped), 0);
	return s.scraped->data;	/* which ends in a 0 */
}

/* The scrape has this line, or "absent" when nothing begins with @key. */
static void expect(const char *key, const char *value)
{
	char line[256];
	const char *text = scrape(PROMETHEUS_OPENMETRICS);

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
#define CREATED(device, op) "blklat_io_latency_seconds_created{device=\"" device "\",op=\"" op "\",stage=\"device\"}"
#define SUM "blklat_io_latency_seconds_sum{device=\"sda\",op=\"read\",stage=\"device\"}"
#define LOST(reason) "blklat_io_lost_total{device=\"sda\",reason=\"" reason "\",stage=\"device\"}"
#define GAUGE(name) "blklat_io_" name "{device=\"sda\",stage=\"device\"}"
#define STARTED "blklat_io_started_total{device=\"sda\",stage=\"device\"}"
#define REQUEUES "blklat_io_requeues_total{device=\"sda\",stage=\"device\"}"

/* --- totals ---------------------------------------------------------------------------------- */

TEST(totals_go_on_with_another_device_of_the_name)
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

/* Runs that are explained later stay reported. */
TEST(skipped_runs_never_fall)
{
	static const u64 unexplained[] = { 0, 3, 1, 4 };

	begin(2);
	for (u32 i = 0; i < ARRAY_SIZE(unexplained); i++) {
		s.frames.skipped_unexplained = unexplained[i];
		interval(1);
		expect("blklat_capture_skipped_runs_total", i == 3 ? "4" : i ? "3" : "0");
	}
}

TEST(refusals_are_counted)
{
	begin(1);
	interval(1);
	expect("blklat_http_refused_total{reason=\"crowded\"}", "0");
	s.p.refused[REFUSAL_PASSWORD]++;
	s.p.refused[REFUSAL_STREAMS]++;
	s.p.refused[REFUSAL_STREAMS]++;
	begin(1);
	s.p.refused[REFUSAL_STREAMS]++;
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

/* It goes and comes back within an interval. The one that is gone may stand behind the one that is there. */
TEST(a_device_that_took_its_own_place_goes_on)
{
	begin(1);
	s.frames.f[0].accounting.started = 10;
	interval(10);
	begin(2);
	strcpy(s.devices[1].name, s.devices[0].name);
	s.frames.f[0].accounting.started = 4;
	s.frames.f[1].accounting.started = 12;
	s.frames.f[1].number = 0;
	s.frames.f[1].gone = true;
	interval(3);
	expect(READS("sda"), "16");
	expect(STARTED, "16");
	s.frames.n = 1;
	s.frames.f[0].accounting.started = 5;
	interval(1);
	expect(READS("sda"), "17");
	expect(STARTED, "17");
}

TEST(a_device_that_is_no_more_watched_is_dropped)
{
	begin(2);
	interval(10);
	begin(1);
	expect(READS("sdb"), "10");
	interval(10);
	expect(READS("sdb"), "absent");
	assert_null(strstr(s.scraped->data, "sdb"));
}

TEST(an_op_is_exposed_from_its_first_io_on)
{
	begin(1);
	interval(1);
	expect(CREATED("sda", "write"), "1795246500");
	expect(CREATED("sda", "flush"), "absent");
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].ios = 1;
	hist_put(&s.frames.f[0].ops[BLKLAT_OP_FLUSH].hist, CELL_60US, 1);
	interval(0);
	expect(CREATED("sda", "flush"), "1795246501");
	s.frames.f[0].ops[BLKLAT_OP_FLUSH].ios = 0;
	interval(0);
	expect(CREATED("sda", "flush"), "1795246501");
}

TEST(losses_never_fall_nor_count_twice)
{
	static const struct { u64 no_start, recursion, unexplained; const char *totals[3]; bool comes_back; } steps[] = {
		{ 3, 0, 0, { "3", "0", "0" }, false },
		{ 1, 2, 0, { "3", "0", "0" }, false },		/* two of them are explained now */
		{ 1, 3, 0, { "3", "1", "0" }, false },		/* and one is new */
		{ 1, 3, 1, { "3", "1", "1" }, false },
		{ 1, 3, 0, { "3", "1", "1" }, false },		/* what was unexplained for a moment stays reported */
		{ 2, 0, 0, { "5", "1", "1" }, true }, { 1, 0, 0, { "6", "1", "1" }, true },
	};

	begin(1);
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		u64 *lost_by;

		if (steps[i].comes_back)
			begin(1);
		lost_by = s.frames.f[0].accounting.lost_by;
		lost_by[LOST_NO_START] = steps[i].no_start;
		lost_by[LOST_RECURSION] = steps[i].recursion;
		lost_by[LOST_UNEXPLAINED] = steps[i].unexplained;
		interval(1);
		expect(LOST("no_start"), steps[i].totals[0]);
		expect(LOST("recursion"), steps[i].totals[1]);
		expect(LOST("unexplained"), steps[i].totals[2]);
	}
}

/* Otherwise an alert for a hung IO would never end. An IO that really hangs is in flight for the kernel, too. */
TEST(what_only_the_kernel_saw_end_does_not_hang)
{
	static const struct { u64 kernel_ios, kernel_in_flight; const char *in_flight, *age; } steps[] = {
		{ 13, 1, "3", "31" }, { 13, 0, "0", "0" }, { 12, 0, "3", "31" },
	};
	struct frame *f;

	begin(1);
	f = s.frames.f;
	f->in_flight = 3;
	f->oldest_ns = 31 * NSEC_PER_SEC;
	f->accounting = (struct accounting){ .in_flight = 3, .completed = 10, .kernel_known = true };
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		f->accounting.kernel_ios = steps[i].kernel_ios;
		f->accounting.kernel_in_flight = steps[i].kernel_in_flight;
		interval(0);
		expect(GAUGE("in_flight"), steps[i].in_flight);
		expect(GAUGE("oldest_age_seconds"), steps[i].age);
	}
}

TEST(a_sum_outgrows_64_bits)
{
	begin(1);
	for (u32 i = 0; i < 4; i++) {
		interval(0);
		s.frames.f[0].ops[BLKLAT_OP_READ].sum_ns = 1ULL << 63;
		assert_int_equal(totals_add(&s.p, &s.frames), 0);
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

/* --- rendering ------------------------------------------------------------------------------- */

TEST(labels_are_escaped_and_well_formed)
{
	strcpy(s.devices[0].name, "a\"b\\c\nd\xFF" "e");
	strcpy(s.devices[0].serial, "S\n1");
	strcpy(s.devices[0].wwid, "naa.5");
	strcpy(s.devices[0].firmware, "F1");
	strcpy(s.devices[0].volume, "pvc-8f1c");
	strcpy(s.devices[0].path, "pci0000:00/0000:41:00.0");
	begin(1);
	interval(1);
	expect(READS("a\\\"b\\\\c\\nd\xEF\xBF\xBD" "e"), "1");
	expect("blklat_device_info{device=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD" "e\",firmware=\"F1\",kind=\"\",mapper=\"\",model=\"\","
		   "path=\"pci0000:00/0000:41:00.0\",scheduler=\"\",serial=\"S\\n1\",volume=\"pvc-8f1c\",wwid=\"naa.5\"}", "1");
	scrape(PROMETHEUS_PROTOBUF);
	assert_non_null(memmem(s.scraped->data, s.scraped->len, "a\"b\\c\nd\xEF\xBF\xBD" "e", 11));
	assert_null(memmem(s.scraped->data, s.scraped->len, "d\xFF" "e", 3));
}

/* Every label as long as possible, of bytes that are each replaced by three. */
TEST(the_longest_labels_fit)
{
	struct device *d = &s.devices[0];

	memset(d->name, 0xFF, sizeof(d->name) - 1);
	memset(d->mapper, 0xFF, sizeof(d->mapper) - 1);
	memset(d->model, 0xFF, sizeof(d->model) - 1);
	memset(d->serial, 0xFF, sizeof(d->serial) - 1);
	memset(d->wwid, 0xFF, sizeof(d->wwid) - 1);
	memset(d->firmware, 0xFF, sizeof(d->firmware) - 1);
	memset(d->path, 0xFF, sizeof(d->path) - 1);
	begin(1);
	interval(1);
	for (u32 format = 0; format < PROMETHEUS_FORMATS; format++)
		scrape(format);
	assert_true(s.scraped->len > 3 * (sizeof(d->wwid) - 1));
}

TEST(devices_stand_in_the_order_of_their_numbers)
{
	const char *text, *two;

	strcpy(s.devices[0].name, "nvme10n1");
	strcpy(s.devices[1].name, "nvme2n1");
	begin(2);
	interval(1);
	text = scrape(PROMETHEUS_TEXT);
	two = strstr(text, "blklat_io_in_flight{device=\"nvme2n1\"");
	assert_non_null(two);
	assert_non_null(strstr(two, "blklat_io_in_flight{device=\"nvme10n1\""));
}
