/* SPDX-License-Identifier: GPL-2.0-only */
/* A run of one watch and a sink on a memory stream, for the tests of the sinks. */
#ifndef TEST_SINK_RUN_H
#define TEST_SINK_RUN_H

#include "unit.h"

#include "live/formats.h"

struct sink_run {
	struct device device;
	struct watch watch;
	struct run_info info;
	struct look look;
	bool bins;
	struct frames frames;
	enum format format;
	struct sink *sink;
	char *text;
	size_t len;
};

/* 2026-11-21T07:35:01.000Z, by date(1). */
#define SINK_RUN_END_NS 1795246501000000000LL

static struct sink_run r;

void tear_down(void)
{
	if (!r.look.out)
		return;
	sink_close(r.sink);
	fclose(r.look.out);
	free(r.text);
	frames_uninit(&r.frames);
	r = (struct sink_run){ 0 };
}

/* Begins it anew. */
static inline void sink_run_init(enum format format)
{
	tear_down();
	r = (struct sink_run){
		.device = { .name = "loop0", .kind = "loop", .scheduler = "none", .serial = "S4X", .size_bytes = 1 << 30 },
		.watch = { .device = &r.device, .stage = BLKLAT_STAGE_DEVICE },
		.info = {
			.version = "1.2.3", .engine = "bpf", .watches = &r.watch, .n_watches = 1,
			.scale = BLKLAT_SCALE_MAX, .memory_bytes = 1363148, .interval_s = 1,
			.percentiles = { .n = 2, .p = { { 0.5, "p50" }, { 0.999, "p99.9" } } },
		},
		.look = { .utf8 = true, .columns = 80 },
		.format = format,
	};
	r.look.out = open_memstream(&r.text, &r.len);
	assert_non_null(r.look.out);
	assert_int_equal(frames_init(&r.frames, &r.watch, 1, BLKLAT_SCALE_MAX), 0);
	r.frames.f[0].end_ns = SINK_RUN_END_NS;
	r.frames.interval_s = r.frames.f[0].interval_s = 1;
}

static inline void sink_run_open(void)
{
	assert_int_equal(format_open(r.format, &r.info, &r.look, r.bins, &r.sink), 0);
}

/*
 * Four reads: 60 us twice, 61 us, 2 ms. The cells are those of the worked row in bins.h: 767 is
 * (59727, 60377], 768 is (60377, 61035], 1091 is (1995892, 2017626].
 */
static inline void sink_run_reads(void)
{
	struct op_frame *o = &r.frames.f[0].ops[BLKLAT_OP_READ];

	o->ios = 4;
	o->bytes = 16384;
	o->iops = 4;
	o->bytes_per_s = 16384;
	o->mean_ns = 545250;
	o->min_ns = 60000;
	o->max_ns = 2000000;
	o->percentile_ns[0] = 60188.44;
	o->percentile_ns[1] = 2000000;
	hist_put(&o->hist, 767, 2);
	hist_put(&o->hist, 768, 1);
	hist_put(&o->hist, 1091, 1);
	r.frames.f[0].in_flight = 32;
	r.frames.f[0].oldest_ns = 81234;
	r.frames.f[0].queue_depth = 0.002181;
	r.frames.f[0].accounting = (struct accounting){
		.started = 36, .completed = 4, .in_flight = 32, .kernel_ios = 4, .kernel_in_flight = 32, .kernel_known = true,
	};
}

static inline void sink_run_interval(void)
{
	assert_int_equal(r.sink->ops->interval(r.sink, &r.frames), 0);
}

#endif
