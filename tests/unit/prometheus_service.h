/* SPDX-License-Identifier: GPL-2.0-only */
/* A service that goes from capture to capture, and its scrapes, for the tests of what Prometheus gets. */
#ifndef TEST_PROMETHEUS_SERVICE_H
#define TEST_PROMETHEUS_SERVICE_H

#define SET_UP set_up
#define TEAR_DOWN tear_down
#include "unit.h"

#include <errno.h>

#include "service/prometheus.h"

#define WATCHES 3
/* 2026-11-21T07:35:00Z, by date(1). */
#define START_NS 1795246500000000000LL
#define CELL_60US 767	/* at scale 6, see bins.h */

struct service {
	struct prometheus *p;
	struct device devices[WATCHES];
	struct watch watches[WATCHES];
	struct run_info run;
	struct sink *sink;
	struct frames frames;
	s64 now_ns;
	char *text;		/* the last scrape */
	size_t len;
};

static struct service s;

static inline void end(void)
{
	sink_close(s.sink);
	s.sink = NULL;
	frames_uninit(&s.frames);
}

/* The next capture begins, in place of another one. */
static inline void begin_at(u32 n, u32 scale)
{
	if (s.sink)
		end();
	for (u32 i = 0; i < n; i++)
		s.watches[i] = (struct watch){ .device = &s.devices[i], .stage = BLKLAT_STAGE_DEVICE };
	s.run = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = s.watches, .n_watches = n, .scale = scale,
	};
	assert_int_equal(prometheus_source(s.p)->open(prometheus_source(s.p), &s.run, &s.sink), 0);
	assert_int_equal(frames_init(&s.frames, s.watches, n, scale), 0);
}

static inline void begin(u32 n)
{
	begin_at(n, BLKLAT_SCALE_MAX);
}

static inline int set_up(void **state)
{
	const struct prometheus_config cfg = { .schema = 3, .classic_schema = 1 };

	(void)state;
	s = (struct service){ .now_ns = START_NS };
	for (u32 i = 0; i < WATCHES; i++)
		snprintf(s.devices[i].name, DEVICE_NAME_MAX, "sd%c", 'a' + i);
	return prometheus_new(&cfg, &s.p);
}

static inline int tear_down(void **state)
{
	(void)state;
	if (s.sink)
		end();
	prometheus_free(s.p);
	free(s.text);
	return 0;
}

/* An interval of 1 s in which each watch has @ios reads of 60 us and 4 KiB. */
static inline void interval(u64 ios)
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
		o->hist.cells[blklat_coarser(CELL_60US, o->hist.scale)] = ios;
	}
	assert_int_equal(s.sink->ops->interval(s.sink, &s.frames), 0);
}

static inline const char *scrape(enum prometheus_format format)
{
	FILE *f;

	free(s.text);
	f = open_memstream(&s.text, &s.len);
	assert_non_null(f);
	assert_int_equal(prometheus_render(s.p, format, f), 0);
	fclose(f);
	return s.text;
}

/* The scrape has this line, or "absent" when nothing begins with @key. */
static inline void expect(const char *key, const char *value)
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

#define BUCKET(le) \
	"blklat_io_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"device\",le=\"" le "\"}"
#define READS(device) "blklat_io_latency_seconds_count{device=\"" device "\",op=\"read\",stage=\"device\"}"
#define CREATED(device, op) \
	"blklat_io_latency_seconds_created{device=\"" device "\",op=\"" op "\",stage=\"device\"}"
#define SUM "blklat_io_latency_seconds_sum{device=\"sda\",op=\"read\",stage=\"device\"}"
#define LOST(reason) "blklat_io_lost_total{device=\"sda\",reason=\"" reason "\",stage=\"device\"}"
#define GAUGE(name) "blklat_io_" name "{device=\"sda\",stage=\"device\"}"
#define REQUEUES "blklat_io_requeues_total{device=\"sda\",stage=\"device\"}"

#endif
