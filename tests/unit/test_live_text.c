// SPDX-License-Identifier: GPL-2.0-only
/* The text sink: whole blocks byte for byte, and the charts against counts made by hand. */
#include "sink_run.h"

#include <errno.h>

#include "blklat/parts.h"
#include "core/text_draw.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"

static const char header[] =
	"blklat 1.2.3  engine bpf, interval 1 s, 64 bins an octave (1.09 %), 1.30 MiB\n"
	"loop0   loop, 1.07 GB, scheduler none, S/N S4X\n"
	"stage   device (issue to completion)\n";

void set_up(void)
{
	sink_run_init(FORMAT_TEXT);
}

/* Runs one interval. Returns the text after the header. */
static const char *interval_text(void)
{
	setenv("TZ", "UTC", 1);
	sink_run_open();
	sink_run_interval();
	assert_memory_equal(r.text, header, strlen(header));
	return r.text + strlen(header);
}

/* Each runs one more, and returns what it says. */
static const char *next_interval(void)
{
	size_t told = r.len;

	sink_run_interval();
	return r.text + told;
}

static const char *summary(void)
{
	size_t told = r.len;

	assert_int_equal(r.sink->ops->summary(r.sink, &r.frames), 0);
	return r.text + told;
}

TEST(idle_stalled_and_late)
{
	static const struct {
		u64 in_flight, oldest_ns;
		double interval_s;
		const char *text;
		u64 kernel_ios;		/* 0: not known */
		u64 kernel_in_flight;
	} cases[] = {
		{ 0, 0, 1, "\n07:35:01\nloop0   no IO completed\n", 0, 0 },
		{ 3, 3200000000, 1, "\n07:35:01\nloop0   stalled: 3 in flight, oldest 3.20 s\n", 0, 0 },
		/* 7 had completed: the kernel has counted 2 ends that were not seen, or all 3. */
		{ 3, 3200000000, 1, "\n07:35:01\nloop0   stalled: 3 in flight, oldest 3.20 s\n", 9, 0 },
		{ 3, 3200000000, 1, "\n07:35:01\nloop0   no IO completed, 3 in flight, oldest 3.20 s; completed, says the kernel\n", 10, 0 },
		/* The kernel may count IOs that were not seen at all: one that hangs is in flight there, too. */
		{ 3, 3200000000, 1, "\n07:35:01\nloop0   stalled: 3 in flight, oldest 3.20 s\n", 10, 1 },
		/* Young IOs are on their way, not stuck. */
		{ 3, 200000, 1, "\n07:35:01\nloop0   no IO completed, 3 in flight, oldest 200 us\n", 0, 0 },
		{ 0, 0, 1.049, "\n07:35:01\nloop0   no IO completed\n", 0, 0 },
		{ 0, 0, 1.32, "\n07:35:01\n        this interval took 1.32 s\nloop0   no IO completed\n", 0, 0 },
		{ 0, 0, 0.4, "\n07:35:01\n        this interval took 400 ms\nloop0   no IO completed\n", 0, 0 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		sink_run_init(FORMAT_TEXT);
		r.frames.f[0].in_flight = cases[i].in_flight;
		r.frames.f[0].oldest_ns = cases[i].oldest_ns;
		r.frames.interval_s = r.frames.f[0].interval_s = cases[i].interval_s;
		r.frames.f[0].accounting = (struct accounting){
			.completed = 7, .in_flight = cases[i].in_flight,
			.kernel_in_flight = cases[i].kernel_in_flight,
			.kernel_ios = cases[i].kernel_ios, .kernel_known = cases[i].kernel_ios,
		};
		assert_string_equal(interval_text(), cases[i].text);
	}
}

/* Accounts are cumulative, but the warning is about the interval. */
TEST(a_loss_is_told_once)
{
	struct accounting *a = &r.frames.f[0].accounting;

	a->lost_by[LOST_NO_START] = 5;
	a->lost_by[LOST_UNEXPLAINED] = 1;
	assert_non_null(strstr(interval_text(), "warning: 6 IOs lost: 5 whose start was not seen, 1 unexplained\n"));
	assert_null(strstr(next_interval(), "lost"));
	a->lost_by[LOST_NO_START] = 6;
	assert_non_null(strstr(next_interval(), "warning: 1 IO lost: 1 whose start was not seen\n"));
}

/* They are of the whole run, so neither per watch nor per interval; and the summary has the last word. */
TEST(skipped_runs_are_told_once)
{
	assert_null(strstr(interval_text(), "skipped"));
	r.frames.skipped_unexplained = 3;
	assert_non_null(strstr(next_interval(), "\nskipped  the kernel skipped 3 program runs; IOs of any device may be missing\n"));
	r.frames.skipped_unexplained = 4;
	assert_null(strstr(next_interval(), "skipped"));
	r.frames.skipped_unexplained = 1;
	assert_non_null(strstr(summary(), "\nskipped  the kernel skipped 1 program run; IOs of any device may be missing\n"));
	/* The kernel's statistics have as many IOs as completed at stage device, of each device; then one more. */
	for (u32 i = 0; i < r.frames.n; i++) {
		r.frames.f[i].accounting.kernel_known = true;
		r.frames.f[i].accounting.kernel_ios = r.frames.f[i].accounting.completed;
	}
	for (u32 more = 0; more < 2; more++) {
		r.frames.f[0].accounting.kernel_ios += more;
		assert_int_equal(!strstr(summary(), "\nskipped  the kernel skipped 1 program run; nothing was missed at stage device:"), more);
	}
	r.frames.skipped_unexplained = 0;
	assert_null(strstr(summary(), "skipped"));
}

/* Watches that are gone are left out of an interval: the others keep their own accounts. */
TEST(losses_belong_to_the_watch_not_the_place)
{
	struct device second = { .name = "loop1", .kind = "loop", .scheduler = "none", .size_bytes = 1 << 30 };
	struct frames both, last;
	struct watch watches[2];
	size_t told;

	watches[0] = r.watch;
	watches[1] = (struct watch){ .device = &second, .stage = BLKLAT_STAGE_DEVICE };
	r.info.watches = watches;
	r.info.n_watches = 2;
	assert_int_equal(frames_init(&both, watches, 2, BLKLAT_SCALE_MAX), 0);
	both.interval_s = both.f[0].interval_s = both.f[1].interval_s = 1;
	both.f[0].accounting.lost_by[LOST_TAG_RANGE] = 2;
	both.f[1].accounting.lost_by[LOST_TAG_RANGE] = 4;
	sink_run_open();
	assert_int_equal(r.sink->ops->interval(r.sink, &both), 0);
	assert_non_null(strstr(r.text, "warning: 2 IOs lost"));
	assert_non_null(strstr(r.text, "warning: 4 IOs lost"));
	told = r.len;
	assert_int_equal(r.sink->ops->interval(r.sink, &both), 0);
	assert_null(strstr(r.text + told, "lost"));
	last = (struct frames){ .n = 1, .f = &both.f[1] };
	assert_int_equal(r.sink->ops->interval(r.sink, &last), 0);
	assert_null(strstr(r.text + told, "lost"));
	frames_uninit(&both);
}

/* From then on it has lines of its own; that it is at another stage shows in all names. */
TEST(a_device_comes)
{
	struct device second = { .name = "loop1", .kind = "loop", .scheduler = "none", .size_bytes = 1 << 30 };
	struct watch watches[2] = { r.watch, { .device = &second, .stage = BLKLAT_STAGE_TOTAL } };
	struct frames both;
	size_t told;

	r.info.watches = watches;
	r.info.most_watches = 2;
	assert_int_equal(frames_init(&both, watches, 2, BLKLAT_SCALE_MAX), 0);
	both.interval_s = both.f[0].interval_s = both.f[1].interval_s = 1;
	both.f[1].accounting.lost_by[LOST_TAG_RANGE] = 4;
	sink_run_open();
	both.n = 1;
	assert_int_equal(r.sink->ops->interval(r.sink, &both), 0);
	assert_non_null(strstr(r.text, "\nloop0   no IO"));
	told = r.len;
	both.n = r.info.n_watches = 2;
	assert_int_equal(r.sink->ops->interval(r.sink, &both), 0);
	assert_non_null(strstr(r.text + told, "loop0 device  no IO"));
	assert_non_null(strstr(r.text + told, "loop1 total  no IO"));
	assert_non_null(strstr(r.text + told, "warning: 4 IOs lost"));
	frames_uninit(&both);
}

/* The axis spans eleven decades, and the outermost bins have one bound each. Nothing else counts such IOs. */
TEST(beyond_the_grid)
{
	struct op_frame *o = &r.frames.f[0].ops[BLKLAT_OP_OTHER];
	const char *text;

	*o = (struct op_frame){ .ios = 2, .min_ns = 12, .max_ns = 130 * NSEC_PER_SEC, .hist = o->hist, .after_idle = o->after_idle };
	hist_put(&o->hist, blklat_cell(o->min_ns, BLKLAT_SCALE_MAX), 1);
	hist_put(&o->hist, blklat_cell(o->max_ns, BLKLAT_SCALE_MAX), 1);
	assert_non_null(strstr(interval_text(), "\n        ╵10ns ╵100ns╵1us  ╵10us ╵100us╵1ms  ╵10ms ╵100ms╵1s   ╵10s  ╵100s\n"));
	text = summary();
	assert_non_null(strstr(text, "\n   0 ns -   14 ns ████████████████████████████████████   1  50.0000 %  50.0000 %\n              ...\n"
			       "  128 s -    more ████████████████████████████████████   1  50.0000 % 100.0000 %\n"));
	assert_non_null(strstr(text, "\n        the kernel has no count of these\n"));
}

TEST(a_device_goes_after_a_pause)
{
	struct op_frame *o = &r.frames.f[0].ops[BLKLAT_OP_READ];
	const char *text;

	sink_run_reads();
	r.frames.f[0].gone = true;
	r.frames.idle_gap_ns = 100000000;
	/* Of 61 us and 2 ms. */
	hist_put(&o->after_idle, blklat_cell(61000, 3), 1);
	hist_put(&o->after_idle, blklat_cell(2000000, 3), 1);
	o->after_idle_ios = 2;
	o->after_idle_sum_ns = 2061000;
	assert_non_null(strstr(interval_text(), "loop0   queue depth <0.01, 32 in flight, oldest 81.2 us; the device went away\n"));
	text = summary();
	assert_non_null(strstr(text, "loop0   queue depth <0.01; the device went away\n"));
	assert_non_null(strstr(text, "2.00 ms\n        2 after an idle gap of 100 ms or more: mean 1.03 ms, median 60.0 us\n"));
}

TEST(the_kernel_disagrees)
{
	static const struct { u64 kernel; const char *note; } cases[] = {
		{ 100, NULL }, { 112, "note: the kernel counted 12 IOs more than blklat\n" },
		{ 99, "note: the kernel counted 1 IO fewer than blklat\n" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		sink_run_init(FORMAT_TEXT);
		r.frames.f[0].accounting = (struct accounting){
			.started = 100, .completed = 100, .kernel_ios = cases[i].kernel, .kernel_known = true,
		};
		sink_run_open();
		if (cases[i].note)
			assert_non_null(strstr(summary(), cases[i].note));
		else
			assert_null(strstr(summary(), "note:"));
	}
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

TEST(any_percentile_list_keeps_its_columns)
{
	sink_run_reads();
	r.look.columns = 40;
	sink_run_open();
	sink_run_interval();
	/* 40 columns hold four cells, or three of a longer name; no line is longer, whatever is drawn. */
	assert_non_null(strstr(r.text, "\n07:35:01    IOPS    MB/s    mean     p50\n           p99.9     max\n"));
	assert_non_null(strstr(r.text, "\nread        4.00    0.02  545 us 60.2 us\n         2.00 ms 2.00 ms\n"));
	sink_run_init(FORMAT_TEXT);
	strcpy(r.info.percentiles.p[1].name, "p99.99999");
	sink_run_reads();
	r.look.columns = 40;
	sink_run_open();
	sink_run_interval();
	assert_non_null(strstr(r.text, "\nread          4.00      0.02    545 us\n"));
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
