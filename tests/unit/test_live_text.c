// SPDX-License-Identifier: GPL-2.0-only
/* Text: the charts against counts made by hand, and what is said of a slow IO; tests/cli/test_said_of_intervals.py has the rest. */
#include "unit.h"

#include "blklat/parts.h"
#include "core/text_draw.h"
#include "live/formats.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"

/* From then on it has lines of its own; that it is at another stage shows in all names. */
TEST(a_device_comes)
{
	const struct device d[2] = { { .name = "loop0" }, { .name = "loop1" } };
	const struct watch watches[2] = { { .device = &d[0], .stage = BLKLAT_STAGE_DEVICE }, { .device = &d[1], .stage = BLKLAT_STAGE_TOTAL } };
	struct run_info info = { .version = "1.2.3", .engine = "bpf", .watches = watches, .n_watches = 1, .most_watches = 2,
				 .scale = BLKLAT_SCALE_MAX, .interval_s = 1, .percentiles = percentiles_default };
	struct look look = { .utf8 = true, .columns = 80 };
	struct frames both;
	struct sink *sink;
	size_t len, told;
	char *text;

	look.out = open_memstream(&text, &len);
	assert_int_equal(frames_init(&both, watches, 2, BLKLAT_SCALE_MAX), 0);
	both.interval_s = both.f[0].interval_s = both.f[1].interval_s = 1;
	assert_int_equal(format_open(FORMAT_TEXT, &info, &look, false, &sink), 0);
	both.n = 1;
	assert_int_equal(sink->ops->interval(sink, &both), 0);
	assert_non_null(strstr(text, "\nloop0   no IO"));
	told = len;
	both.n = info.n_watches = 2;
	both.f[1].accounting.lost_by[LOST_TAG_RANGE] = 4;
	assert_int_equal(sink->ops->interval(sink, &both), 0);
	assert_non_null(strstr(text + told, "loop0 device  no IO"));
	assert_non_null(strstr(text + told, "loop1 total  no IO"));
	assert_non_null(strstr(text + told, "warning: 4 IOs lost"));
	sink_close(sink);
	fclose(look.out);
	free(text);
	frames_uninit(&both);
}

TEST(axis_only_grows)
{
	struct frame f = { 0 };
	struct axis a = { 0 };
	static const struct { u64 min_ns, max_ns; int first, last; } steps[] = {
		{ 60000, 70000, 4, 7 },			/* one decade, extended upwards to three */
		{ 10000, 10000000, 4, 7 },		/* bounds belong to their decade */
		{ 60000, 10000001, 4, 8 }, { 60000, 70000, 4, 8 }, { 900, 70000, 2, 8 }, { 0, UINT64_MAX, 1, 12 },
	};

	axis_cover(&a, &f);
	assert_int_equal(a.last, 0);
	f.ops[BLKLAT_OP_WRITE].ios = 1;
	for (u32 i = 0; i < ARRAY_SIZE(steps); i++) {
		f.ops[BLKLAT_OP_WRITE].min_ns = steps[i].min_ns;
		f.ops[BLKLAT_OP_WRITE].max_ns = steps[i].max_ns;
		axis_cover(&a, &f);
		assert_int_equal(a.first, steps[i].first);
		assert_int_equal(a.last, steps[i].last);
	}
}

/* The chart of @o, which the caller frees; its histogram goes. */
static char *distribution(struct op_frame *o, const struct axis *a, u32 columns, bool utf8)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	draw_distribution(to, o, a, columns, utf8);
	fclose(to);
	hist_uninit(&o->hist);
	return text;
}

/* Two equal peaks and one IO in a million: both full height, and visible. */
TEST(distribution_shows_every_io)
{
	struct op_frame o = { .ios = 2000001, .min_ns = 2000, .max_ns = 500000 };
	char *text CLEANUP(cleanup_free) = NULL;

	assert_int_equal(hist_init(&o.hist, BLKLAT_SCALE_MAX), 0);
	hist_put(&o.hist, blklat_cell(2000, BLKLAT_SCALE_MAX), 1000000);
	hist_put(&o.hist, blklat_cell(30000, BLKLAT_SCALE_MAX), 1);
	hist_put(&o.hist, blklat_cell(500000, BLKLAT_SCALE_MAX), 1000000);
	/* 10 columns a decade: log10 of 2, 30, 500 is 0.301, 1.477, 2.699. */
	text = distribution(&o, &(struct axis){ 3, 6 }, 30, false);
	assert_string_equal(text, "   @          .           @");
}

/* A flat logarithmic density is a flat line, though a column holds 8.9 bins. */
TEST(density_has_no_steps)
{
	struct op_frame o = { .ios = 1, .min_ns = 10000, .max_ns = 10000000 };
	char *text CLEANUP(cleanup_free) = NULL;

	assert_int_equal(hist_init(&o.hist, BLKLAT_SCALE_MAX), 0);
	for (u32 cell = blklat_cell(10000, 6) + 1; cell < blklat_cell(10000000, 6); cell++)
		hist_put(&o.hist, cell, 1000);
	/* The outermost bins are only partly on the axis. */
	hist_put(&o.hist, blklat_cell(10000, 6), 1);
	hist_put(&o.hist, blklat_cell(10000000, 6), 1);
	text = distribution(&o, &(struct axis){ 4, 7 }, 72, true);
	assert_int_equal(strlen(text), 72 * strlen("█"));
	for (u32 column = 1; column < 71; column++)
		assert_memory_equal(text + column * 3, "█", 3);
}

static void assert_rest(const struct slow_io *io, const char *expected)
{
	struct print_buffer say CLEANUP(print_buffer_close) = { 0 };

	assert_int_equal(print_buffer_open(&say), 0);
	words_slow_rest(say.f, io, 80, true);
	assert_int_equal(fflush(say.f), 0);
	assert_string_equal(say.text, expected);
}

/*
 * What is said of a slow IO besides its figures: its depth and neighbour once each, and as exactly as they are known; the
 * class of its flags where its op does not imply it.
 */
TEST(depth_neighbour_and_flags)
{
	enum { READ = BLKLAT_OP_READ, WRITE = BLKLAT_OP_WRITE, FLUSH = BLKLAT_OP_FLUSH,
	       DISCARD = BLKLAT_OP_DISCARD, OTHER = BLKLAT_OP_OTHER };
	static const struct { u32 depth; u8 beside, op, flags; const char *by, *label, *says; } cases[] = {
		{ 0, 0, READ, 0, NULL, NULL, "?" }, { 0, 0, READ, 0, "size", "4 KiB", "?, size 4 KiB" },
		{ 0, 0, READ, 0, "cgroup", "/a", "/a" }, { 0, 0, READ, 0, "cgroup", "rest", "?" },
		{ 0, 0, READ, 0, "depth", "9-16", "?, depth 9-16" },
		{ 0, 0, READ, 0, "beside", "flush", "?, beside flush" },
		{ 12, BLKLAT_KIND_FLUSH, READ, 0, "depth", "9-16", "?, depth 12, beside flush" },
		{ 12, BLKLAT_KIND_FLUSH, READ, 0, "beside", "flush", "?, depth 12, beside flush" },
		{ 1, BLKLAT_BESIDE_NOTHING, READ, 0, "depth", "1", "?, depth 1, beside nothing" },
		{ UINT32_MAX, BLKLAT_KIND_LARGE_WRITE, READ, 0, NULL, NULL, "?, depth 4294967295, beside big write" },
		{ 12, 0, READ, 0, "beside", "flush", "?, depth 12, beside flush" },
		{ 0, BLKLAT_KIND_READ, READ, 0, "flags", "sync", "?, beside read, flags sync" },
		{ 0, 0, READ, BLKLAT_FLAGS_FUA, NULL, NULL, "?, flags FUA/flush" },
		{ 0, 0, READ, BLKLAT_FLAGS_METADATA, NULL, NULL, "?, flags metadata" },
		{ 0, 0, READ, BLKLAT_FLAGS_READAHEAD, NULL, NULL, "?, flags readahead" },
		{ 0, 0, READ, BLKLAT_FLAGS_SYNC, NULL, NULL, "?" },
		{ 0, 0, WRITE, BLKLAT_FLAGS_FUA, NULL, NULL, "?, flags FUA/flush" },
		{ 0, 0, WRITE, BLKLAT_FLAGS_METADATA, NULL, NULL, "?, flags metadata" },
		{ 0, 0, WRITE, BLKLAT_FLAGS_SYNC, NULL, NULL, "?" },
		{ 0, 0, WRITE, BLKLAT_FLAGS_WRITE_BACK, NULL, NULL, "?" },
		{ 0, 0, FLUSH, BLKLAT_FLAGS_FUA, NULL, NULL, "?" },
		{ 0, 0, FLUSH, BLKLAT_FLAGS_OTHER, NULL, NULL, "?, flags other" },
		{ 0, 0, DISCARD, BLKLAT_FLAGS_SYNC, NULL, NULL, "?, flags sync" },
		{ 0, 0, DISCARD, BLKLAT_FLAGS_OTHER, NULL, NULL, "?" },
		{ 0, 0, OTHER, BLKLAT_FLAGS_FUA, NULL, NULL, "?, flags FUA/flush" },
		{ 0, 0, OTHER, BLKLAT_FLAGS_OTHER, NULL, NULL, "?" },
		{ 12, 0, WRITE, BLKLAT_FLAGS_METADATA, "size", "4 KiB", "?, flags metadata, depth 12, size 4 KiB" },
		{ 12, 0, WRITE, BLKLAT_FLAGS_METADATA, "flags", "metadata", "?, depth 12, flags metadata" },
		{ 12, 0, WRITE, BLKLAT_FLAGS_SYNC, "flags", "sync", "?, depth 12, flags sync" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slow_io io = { .told = { .depth = cases[i].depth, .beside = cases[i].beside, .op = cases[i].op,
						.flags = cases[i].flags } };

		if (cases[i].by)
			io.part = part_find(cases[i].by, cases[i].label);
		assert_rest(&io, cases[i].says);
	}
}

TEST(what_file)
{
	struct slow_io io = { .told = { .pages = BLKLAT_PAGES_FILE, .inode = 12 }, .file_device = "8:1" };

	assert_rest(&io, "?, file 8:1 inode 12");
	io.told.known = BLKLAT_SLOW_FILE;
	strcpy(io.told.names[0], "a/\x1b[2Jb");
	assert_rest(&io, "?, file a/?[2Jb");
	io.told.pages = BLKLAT_PAGES_DIRECT;
	assert_rest(&io, "?, direct");
}
