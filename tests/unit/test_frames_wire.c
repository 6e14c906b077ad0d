// SPDX-License-Identifier: GPL-2.0-only
/* Runs and frames as messages: anything comes out as it went in, and what is cut off is refused. */
#include "any_frames.h"

#include <errno.h>

#include "service/frames_wire.h"

#define ROUNDS 200

static struct frames into;	/* what is decoded */

static void begin_into(void)
{
	frames_uninit(&into);
	assert_int_equal(frames_init(&into, w.watches, WATCHES, SCALE), 0);
}

static void put_run(struct wire_out *to)
{
	struct wire_out watches = { 0 };

	wire_put_watches(&watches, &w.run, NULL);
	wire_put_run(to, &w.run, &watches);
	wire_out_free(&watches);
}

TEST(test_runs_come_out_the_same)
{
	for (u32 seed = 0; seed < ROUNDS; seed++) {
		struct wire_out bytes = { 0 };
		struct wired_run got;

		world_init(seed);
		put_run(&bytes);
		assert_false(bytes.failed);
		assert_int_equal(wire_get_run(&(struct wire_in){ bytes.data, bytes.data + bytes.len, false }, &got), 0);
		got.info.devices = &got.devices;
		assert_same_run(&w.run, w.watches, WATCHES, &got.info);
		wired_run_free(&got);
		wire_out_free(&bytes);
	}
}

TEST(test_frames_come_out_the_same)
{
	for (u32 seed = 0; seed < ROUNDS; seed++) {
		struct wire_out bytes = { 0 };
		struct slow_ios slow;
		struct frames got;

		world_init(seed);
		assert_int_equal(frames_init(&got, w.watches, WATCHES, SCALE), 0);
		assert_int_equal(slow_ios_init(&slow, WATCHES, w.run.slow_most), 0);
		/* Decoded into what an earlier interval has left. */
		any_frames(&got);
		w.frames.idle_gap_ns = seed * 1000;
		w.frames.interval_s = seed / 7.0;
		w.frames.mono_ns = seed + 1;
		w.frames.reads = seed + 2;
		w.frames.drain_ns = seed + 3;
		wire_put_frames(&bytes, &w.run, &w.frames);
		assert_int_equal(wire_get_frames(&(struct wire_in){ bytes.data, bytes.data + bytes.len, false }, &w.run, &got, &slow, NULL), 0);
		assert_true(got.slow == (w.run.slow_most ? &slow : NULL));
		assert_same_slow_ios(&w.slow, &slow);
		assert_int_equal(got.idle_gap_ns, seed * 1000);
		assert_true(got.interval_s == w.frames.interval_s);
		assert_true(got.mono_ns == seed + 1 && got.reads == seed + 2 && got.drain_ns == seed + 3);
		assert_int_equal(got.skipped_unexplained, w.frames.skipped_unexplained);
		for (u32 i = 0; i < WATCHES; i++)
			assert_same_frame(&w.frames.f[i], &got.f[i]);
		slow_ios_uninit(&slow);
		frames_uninit(&got);
		wire_out_free(&bytes);
	}
}

/* On a copy of its own, so that a sanitizer sees reads beyond its end. */
static int read_run(const u8 *data, size_t len)
{
	u8 *copy = malloc(len ? len : 1);
	struct wired_run got;
	int err;

	memcpy(copy, data, len);
	err = wire_get_run(&(struct wire_in){ copy, copy + len, false }, &got);
	if (!err)
		wired_run_free(&got);
	free(copy);
	return err;
}

TEST(test_idle_watches_take_few_bytes)
{
	struct wire_out bytes = { 0 };
	struct frames idle;

	world_init(1);
	assert_int_equal(frames_init(&idle, w.watches, WATCHES, SCALE), 0);
	wire_put_frames(&bytes, &w.run, &idle);
	assert_true(bytes.len <= sizeof(struct frames) + WATCHES * 64);
	wire_out_free(&bytes);
	frames_uninit(&idle);
}

/* However many there are and however long their paths: the total is bounded, each whole gets a share, all are counted. */
TEST(test_very_many_slow_ios)
{
	struct wire_out bytes = { 0 };
	struct slow_ios got;
	char path[1000];

	world_init(7);
	slow_ios_uninit(&w.slow);
	w.run.slow_most = 50000;
	assert_int_equal(slow_ios_init(&w.slow, WATCHES, w.run.slow_most), 0);
	frames_set_slow(&w.frames, &w.slow);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (u32 i = 0; i < 30000; i++) {
		struct slow_io io = { .watch = 0, .told.latency_ns = i, .cgroup = path };

		assert_int_equal(slow_ios_add(&w.slow, &io), 0);
	}
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(slow_ios_add(&w.slow, &(struct slow_io){ .watch = 4, .told.latency_ns = i }), 0);
	slow_ios_sort(&w.slow);
	begin_into();
	assert_int_equal(slow_ios_init(&got, WATCHES, w.run.slow_most), 0);
	wire_put_frames(&bytes, &w.run, &w.frames);
	assert_true(bytes.len < WIRE_SLOW_BYTES + 65536);
	assert_int_equal(wire_get_frames(&(struct wire_in){ bytes.data, bytes.data + bytes.len, false }, &w.run, &into, &got, NULL), 0);
	assert_true(got.of[0].found == 30000 && got.of[4].found == 3);
	/* A third of the room, for the slowest ones. */
	assert_in_range(got.of[0].n, WIRE_SLOW_BYTES / 3 / 1300, WIRE_SLOW_BYTES / 3 / 1000);
	assert_int_equal(got.of[4].n, 3);
	assert_int_equal(got.io[got.of[0].first].told.latency_ns, 29999);
	wire_out_free(&bytes);
	slow_ios_uninit(&got);
}

/* --- what is no message ----------------------------------------------------------------------- */

static int read_frames(const u8 *data, size_t len)
{
	u8 *copy = malloc(len ? len : 1);
	struct slow_ios slow;
	int err;

	memcpy(copy, data, len);
	assert_int_equal(slow_ios_init(&slow, WATCHES, w.run.slow_most), 0);
	err = wire_get_frames(&(struct wire_in){ copy, copy + len, false }, &w.run, &into, &slow, NULL);
	slow_ios_uninit(&slow);
	free(copy);
	return err;
}

static struct wire_out run, frames;

static void put_both(u64 seed)
{
	world_init(seed);
	begin_into();
	put_run(&run);
	wire_put_frames(&frames, &w.run, &w.frames);
}

void tear_down(void)
{
	wire_out_free(&run);
	wire_out_free(&frames);
	frames_uninit(&into);
}

TEST(test_what_is_cut_off_is_refused)
{
	put_both(7);
	for (size_t len = 0; len < run.len; len++)
		assert_int_equal(read_run(run.data, len), -EBADMSG);
	for (size_t len = 0; len < frames.len; len++)
		assert_int_equal(read_frames(frames.data, len), -EBADMSG);
	/* One byte too many. */
	wire_put(&run, "", 1);
	wire_put(&frames, "", 1);
	assert_int_equal(read_run(run.data, run.len), -EBADMSG);
	assert_int_equal(read_frames(frames.data, frames.len), -EBADMSG);
}
