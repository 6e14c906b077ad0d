// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is said of a slow IO besides its figures: its depth and neighbour once each, and as exactly as they are known;
 * the class of its flags where its op does not imply it.
 */
#include "unit.h"

#include "blklat/parts.h"
#include "live/words.h"
#include "util/cleanup.h"
#include "util/stream.h"

static void assert_rest(const struct slow_io *io, const char *expected)
{
	struct print_buffer say CLEANUP(print_buffer_close) = { 0 };

	assert_int_equal(print_buffer_open(&say), 0);
	words_slow_rest(say.f, io, 80, true);
	assert_int_equal(fflush(say.f), 0);
	assert_string_equal(say.text, expected);
}

TEST(depth_and_neighbour)
{
	static const struct { u32 depth; u8 beside; const char *by, *label, *says; } cases[] = {
		{ 0, 0, NULL, NULL, "?" },
		{ 0, 0, "size", "4 KiB", "?, size 4 KiB" },
		{ 0, 0, "cgroup", "/a", "?" },
		{ 0, 0, "depth", "9-16", "?, depth 9-16" },
		{ 0, 0, "beside", "flush", "?, beside flush" },
		{ 12, BLKLAT_KIND_FLUSH, "depth", "9-16", "?, depth 12, beside flush" },
		{ 12, BLKLAT_KIND_FLUSH, "beside", "flush", "?, depth 12, beside flush" },
		{ 1, BLKLAT_BESIDE_NOTHING, "depth", "1", "?, depth 1, beside nothing" },
		{ UINT32_MAX, BLKLAT_KIND_LARGE_WRITE, NULL, NULL, "?, depth 4294967295, beside big write" },
		{ 12, 0, "beside", "flush", "?, depth 12, beside flush" },
		{ 0, BLKLAT_KIND_READ, "flags", "sync", "?, beside read, flags sync" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slow_io io = { .told = { .depth = cases[i].depth, .beside = cases[i].beside } };

		if (cases[i].by)
			io.part = part_find(cases[i].by, cases[i].label);
		assert_rest(&io, cases[i].says);
	}
}

/* For each op, the classes that it implies are left out. */
TEST(flags_that_say_more)
{
	static const struct { u8 op, flags; const char *says; } cases[] = {
		{ BLKLAT_OP_READ, 0, "?" },
		{ BLKLAT_OP_READ, BLKLAT_FLAGS_FUA, "?, flags FUA/flush" },
		{ BLKLAT_OP_READ, BLKLAT_FLAGS_METADATA, "?, flags metadata" },
		{ BLKLAT_OP_READ, BLKLAT_FLAGS_READAHEAD, "?, flags readahead" },
		{ BLKLAT_OP_READ, BLKLAT_FLAGS_SYNC, "?" },
		{ BLKLAT_OP_WRITE, BLKLAT_FLAGS_FUA, "?, flags FUA/flush" },
		{ BLKLAT_OP_WRITE, BLKLAT_FLAGS_METADATA, "?, flags metadata" },
		{ BLKLAT_OP_WRITE, BLKLAT_FLAGS_SYNC, "?" },
		{ BLKLAT_OP_WRITE, BLKLAT_FLAGS_WRITE_BACK, "?" },
		{ BLKLAT_OP_FLUSH, BLKLAT_FLAGS_FUA, "?" },
		{ BLKLAT_OP_FLUSH, BLKLAT_FLAGS_OTHER, "?, flags other" },
		{ BLKLAT_OP_DISCARD, BLKLAT_FLAGS_SYNC, "?, flags sync" },
		{ BLKLAT_OP_DISCARD, BLKLAT_FLAGS_OTHER, "?" },
		{ BLKLAT_OP_OTHER, BLKLAT_FLAGS_FUA, "?, flags FUA/flush" },
		{ BLKLAT_OP_OTHER, BLKLAT_FLAGS_OTHER, "?" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct slow_io io = { .told = { .op = cases[i].op, .flags = cases[i].flags } };

		assert_rest(&io, cases[i].says);
	}
}

TEST(flags_beside_a_part)
{
	struct slow_io io = { .told = { .op = BLKLAT_OP_WRITE, .flags = BLKLAT_FLAGS_METADATA, .depth = 12 } };

	io.part = part_find("size", "4 KiB");
	assert_rest(&io, "?, flags metadata, depth 12, size 4 KiB");
	io.part = part_find("flags", "metadata");
	assert_rest(&io, "?, depth 12, flags metadata");
	io.told.flags = BLKLAT_FLAGS_SYNC;
	io.part = part_find("flags", "sync");
	assert_rest(&io, "?, depth 12, flags sync");
}

TEST(what_comes_before)
{
	char cgroup[] = "/a/b";
	struct slow_io io = {
		.told = {
			.known = BLKLAT_SLOW_SUBMITTER | BLKLAT_SLOW_KERNEL_THREAD, .comm = "kworker/0:1H", .submitter = 12, .error = 7,
			.queue_ns = 1200000, .device_ns = 65000000, .depth = 3, .beside = BLKLAT_KIND_WRITE,
			.flags = BLKLAT_FLAGS_METADATA,
		},
		.cgroup = cgroup,
	};

	assert_rest(&io, "[kworker/0:1H] 12 /a/b, failed: medium, queue 1.20ms, device 65.0ms, flags metadata, depth 3, beside write");
}
