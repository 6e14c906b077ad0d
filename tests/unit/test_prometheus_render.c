// SPDX-License-Identifier: GPL-2.0-only
/* Rendering: labels, order, failures, and what happens concurrently. */
#include <pthread.h>
#include <stdatomic.h>

#include "prometheus_service.h"
#include "util/cleanup.h"

TEST(labels_are_escaped_and_well_formed)
{
	strcpy(s.devices[0].name, "a\"b\\c\nd\xFF" "e");
	strcpy(s.devices[0].serial, "S\n1");
	strcpy(s.devices[0].wwid, "naa.5");
	begin(1);
	interval(1);
	expect(READS("a\\\"b\\\\c\\nd\xEF\xBF\xBD" "e"), "1");
	expect("blklat_device_info{device=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD" "e\",kind=\"\",mapper=\"\",model=\"\","
		   "scheduler=\"\",serial=\"S\\n1\",wwid=\"naa.5\"}", "1");
	scrape(PROMETHEUS_PROTOBUF);
	assert_non_null(memmem(s.text, s.len, "a\"b\\c\nd\xEF\xBF\xBD" "e", 11));
	assert_null(memmem(s.text, s.len, "d\xFF" "e", 3));
}

/* Every label as long as possible, of bytes that are each replaced by three. */
TEST(the_longest_labels_fit)
{
	struct device *d;

	d = &s.devices[0];
	memset(d->name, 0xFF, sizeof(d->name) - 1);
	memset(d->mapper, 0xFF, sizeof(d->mapper) - 1);
	memset(d->model, 0xFF, sizeof(d->model) - 1);
	memset(d->serial, 0xFF, sizeof(d->serial) - 1);
	memset(d->wwid, 0xFF, sizeof(d->wwid) - 1);
	begin(1);
	interval(1);
	for (u32 format = 0; format < PROMETHEUS_FORMATS; format++)
		scrape(format);
	assert_true(s.len > 3 * (sizeof(d->wwid) - 1));
}

TEST(devices_stand_in_the_order_of_their_numbers)
{
	const char *text, *two, *ten;

	strcpy(s.devices[0].name, "nvme10n1");
	strcpy(s.devices[1].name, "nvme2n1");
	begin(2);
	interval(1);
	text = scrape(PROMETHEUS_TEXT);
	two = strstr(text, "blklat_io_in_flight{device=\"nvme2n1\"");
	ten = strstr(text, "blklat_io_in_flight{device=\"nvme10n1\"");
	assert_non_null(two);
	assert_true(two < ten);
}

TEST(a_schema_beyond_the_grid_is_refused)
{
	struct prometheus *p;

	assert_int_equal(prometheus_new(&(struct prometheus_config){ .schema = 7 }, &p), -EINVAL);
	assert_int_equal(prometheus_new(&(struct prometheus_config){ .classic_schema = 7 }, &p), -EINVAL);
}

TEST(a_failed_write_is_told)
{
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	begin(1);
	interval(1);
	for (u32 format = 0; format < PROMETHEUS_FORMATS; format++)
		assert_int_equal(prometheus_render(s.p, format, full), -ENOSPC);
	fclose(full);
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

/* A scrape is of one moment: each interval gives every device as many IOs, and the bytes are 4096 times those. */
static void check_scrape(struct scraper *by, const char *text, u64 *last)
{
	u64 a = number_after(text, READS("sda") " "), c = number_after(text, READS("sdc") " ");
	u64 bytes = number_after(text, "blklat_io_bytes_total{device=\"sdb\",op=\"read\",stage=\"device\"} ");

	by->torn += a != c || bytes != 4096 * a;
	by->fallen += a < *last;
	*last = a;
}

static void *scrape_on(void *into)
{
	struct scraper *by = into;
	u64 last = 0;

	while (!atomic_load(by->stop) || !by->scrapes) {
		CLEANUP(cleanup_free) char *text = NULL;
		size_t len;
		FILE *f = open_memstream(&text, &len);

		if (!f || prometheus_render(by->p, by->format, f))
			by->torn++;
		if (f)
			fclose(f);
		if (by->format != PROMETHEUS_PROTOBUF && text)
			check_scrape(by, text, &last);
		by->scrapes++;
	}
	return NULL;
}

TEST(scrapes_are_of_one_moment_whatever_runs_meanwhile)
{
	struct scraper scrapers[PROMETHEUS_FORMATS];
	pthread_t threads[PROMETHEUS_FORMATS];
	atomic_bool stop = false;

	begin(WATCHES);
	for (u32 i = 0; i < PROMETHEUS_FORMATS; i++) {
		scrapers[i] = (struct scraper){ .p = s.p, .format = i, .stop = &stop };
		assert_int_equal(pthread_create(&threads[i], NULL, scrape_on, &scrapers[i]), 0);
	}
	for (u32 i = 0; i < 2000; i++) {
		interval(3);
		if (i % 500 == 499) {
			begin(WATCHES);
		}
	}
	atomic_store(&stop, true);
	for (u32 i = 0; i < PROMETHEUS_FORMATS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(scrapers[i].torn, 0);
		assert_int_equal(scrapers[i].fallen, 0);
		assert_true(scrapers[i].scrapes > 0);
	}
	interval(0);
	expect(READS("sda"), "6000");
}
