// SPDX-License-Identifier: GPL-2.0-only
/* Lists of slow IOs: their order, what is left out and counted; and from which latency on an IO is slow. */
#include "unit.h"

#include <errno.h>

#include "blklat/slow.h"
#include "core/intervals.h"
#include "core/slow.h"
#include "engine/slow.h"
#include "folder.h"

static struct slow_io io(u32 watch, u64 latency_ns, s32 error)
{
	return (struct slow_io){ .watch = watch, .told = { .latency_ns = latency_ns, .end_ns = latency_ns, .error = error } };
}

static void add(struct slow_ios *s, u32 watch, u64 latency_ns, s32 error)
{
	const struct slow_io one = io(watch, latency_ns, error);

	assert_int_equal(slow_ios_add(s, &one), 0);
}

/* The list of a watch has just these @latencies, ended by 0, and @dropped more were found. */
static void check(const struct slow_ios *s, u32 watch, const u64 *latencies, u64 dropped)
{
	const struct slow_of *of = &s->of[watch];
	u32 n = 0;

	for (; latencies[n]; n++) {
		assert_true(n < of->n);
		assert_int_equal(s->io[of->first + n].watch, watch);
		assert_int_equal(s->io[of->first + n].told.latency_ns, latencies[n]);
	}
	assert_int_equal(of->n, n);
	assert_int_equal(of->found - of->n, dropped);
}

TEST(test_order)
{
	struct slow_ios s;

	assert_int_equal(slow_ios_init(&s, 3, 3), 0);
	add(&s, 2, 10, 0);
	add(&s, 0, 20, 0);
	add(&s, 2, 30, 0);
	add(&s, 2, 5, 7);
	add(&s, 2, 40, 0);
	add(&s, 2, 6, 10);
	s.of[0].found += 4;
	slow_ios_sort(&s);
	check(&s, 0, (u64[]){ 20, 0 }, 4);
	check(&s, 1, (u64[]){ 0 }, 0);
	/* Failed IOs come first. */
	check(&s, 2, (u64[]){ 6, 5, 40, 0 }, 2);
	slow_ios_clear(&s);
	slow_ios_sort(&s);
	check(&s, 2, (u64[]){ 0 }, 0);
	slow_ios_uninit(&s);
}

/* More than are ever held at once: at the end the slowest are there, whenever they came. */
TEST(test_very_many)
{
	struct slow_ios s;

	assert_int_equal(slow_ios_init(&s, 2, 4), 0);
	for (u64 i = 1; i <= 300000; i++)
		add(&s, i & 1, i * 7919 % 300007, 0);
	slow_ios_sort(&s);
	assert_int_equal(s.n, 8);
	assert_true(s.room <= 65536);
	assert_int_equal(s.of[0].found, 150000);
	assert_int_equal(s.of[1].found, 150000);
	for (u32 w = 0; w < 2; w++) {
		u64 best[5] = { 0 };

		for (u64 i = 2 - w; i <= 300000; i += 2) {
			u64 ns = i * 7919 % 300007;

			for (u32 k = 0; k < 4; k++)
				if (ns > best[k]) {
					memmove(&best[k + 1], &best[k], (3 - k) * sizeof(*best));
					best[k] = ns;
					break;
				}
		}
		check(&s, w, best, 150000 - 4);
	}
	slow_ios_uninit(&s);
}

/* Very many watches share a limit on what is held; all slow IOs are counted. */
TEST(test_no_end)
{
	const u32 watches = 40000;
	struct slow_ios s;
	u64 found = 0;

	assert_int_equal(slow_ios_init(&s, watches, 10000), 0);
	for (u32 i = 0; i < 10 * watches; i++)
		add(&s, i % watches, 1 + i, 0);
	slow_ios_sort(&s);
	assert_int_equal(s.room, 1 << 18);
	assert_in_range(s.n, 1 << 17, 1 << 18);
	for (u32 w = 0; w < watches; w++)
		found += s.of[w].found;
	assert_int_equal(found, 10 * watches);
	slow_ios_uninit(&s);
}

TEST(test_copy)
{
	struct slow_ios from, to;

	assert_int_equal(slow_ios_init(&from, 2, 3), 0);
	assert_int_equal(slow_ios_init(&to, 4, 3), 0);
	add(&from, 0, 10, 0);
	add(&from, 1, 30, 0);
	from.io[1].cgroup = strdup("/a");
	from.of[1].found += 5;
	slow_ios_sort(&from);
	assert_int_equal(slow_ios_copy(&to, 3, &from, &from.of[1]), 0);
	assert_int_equal(slow_ios_copy(&to, 3, &from, &from.of[0]), 0);
	slow_ios_sort(&to);
	check(&to, 3, (u64[]){ 30, 10, 0 }, 5);
	check(&from, 1, (u64[]){ 30, 0 }, 5);
	assert_string_equal(to.io[to.of[3].first].cgroup, "/a");
	slow_ios_uninit(&from);
	slow_ios_uninit(&to);
}

TEST(test_errors)
{
	static const struct { int error; const char *name; } cases[] = {
		{ 7, "medium" }, { -ENODATA, "medium" }, { -ETIMEDOUT, "timeout" }, { 4, "transport" }, { 10, "I/O" },
		{ -EIO, "I/O" }, { 17, "I/O" }, { -EROFS, "I/O" },
	};

	assert_null(slow_error(0));
	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(slow_error(cases[i].error), cases[i].name);
}

/* Whoever sends an IO chooses the name of his command, and may be given a cgroup in which to make others. */
TEST(test_names_that_others_chose)
{
	struct device_table devices = { 0 };
	struct watch watch = { 0 };
	struct slow_ios slow;
	const u64 untold = 0;
	struct watch_state of = { 0 };
	struct kernel_capture k = {
		.capture = { .devices = &devices, .n_watches = 1, .watches = &watch, .slow = &slow },
		.slow_untold = &untold,
		.state = &of,
	};
	struct blklat_slow told = { .comm = "\xFF\x1B]0;x\x07\xC2\x9By\n" };
	const struct part *known = NULL;
	char label[16];
	u32 number;

	folder_make(devices.root);
	told.cgroup = folder_make_in(devices.root, "/sys/fs/cgroup/blkio/a\x1B[31m\xE9");
	assert_int_equal(slow_ios_init(&slow, 1, 3), 0);
	assert_int_equal(slow_take(&k, &told), 0);
	watch.part = part_find("cgroup", "/named after the IO was taken");
	part_keep(&known, watch.part);
	number = known->number;
	assert_int_equal(slow_finish(&k), 0);
	assert_ptr_equal(slow.io[0].part, watch.part);
	assert_string_equal(slow.io[0].told.comm, "??]0;x???y");
	assert_string_equal(slow.io[0].cgroup, "/a?[31m?");
	slow_ios_uninit(&slow);
	folder_remove(devices.root);
	/* The list gave up what it kept, and no more. */
	for (u32 i = 0; i < 2 * PARTS_SPARE; i++) {
		snprintf(label, sizeof(label), "p (%u)", i);
		assert_non_null(part_find("process", label));
	}
	assert_int_equal(part_find("cgroup", "/named after the IO was taken")->number, number);
	part_keep(&known, NULL);
}

/* [BLKLAT_NAMES] as told by an engine, the file's own first. @path: NULL: unknown. */
static void check_names(u32 known, const char *const names[BLKLAT_NAMES], const char *path)
{
	struct slow_ios slow = { 0 };
	struct watch watch = { 0 };
	struct kernel_capture k = { .capture = { .n_watches = 1, .watches = &watch, .slow = &slow } };
	struct blklat_slow told = { .known = known };

	for (u32 i = 0; i < BLKLAT_NAMES; i++)
		memcpy(told.names[i], names[i], strlen(names[i]));
	assert_int_equal(slow_ios_init(&slow, 1, 1), 0);
	assert_int_equal(slow_take(&k, &told), 0);
	assert_int_equal(slow.io[0].told.known & BLKLAT_SLOW_FILE, path ? BLKLAT_SLOW_FILE : 0);
	assert_string_equal(slow.io[0].told.names[0], path ?: "");
	slow_ios_uninit(&slow);
}

TEST(test_joins_names_of_files)
{
	static const char cut[BLKLAT_NAME + 1] = "123456789012345678901234567890123456789012\xC3\xA9";
#define CUT "123456789012345678901234567890123456789012?"

	check_names(BLKLAT_SLOW_FILE, (const char *[]){ "a", "b", "c" }, "c/b/a");
	check_names(BLKLAT_SLOW_FILE, (const char *[]){ "a", "/", "/" }, "a");
	check_names(BLKLAT_SLOW_FILE, (const char *[]){ "a\n", "\x1B[2J", "/" }, "?[2J/a");
	check_names(BLKLAT_SLOW_FILE, (const char *[]){ cut, cut, cut }, CUT "/" CUT "/" CUT);
	check_names(BLKLAT_SLOW_FILE | BLKLAT_SLOW_DELETED, (const char *[]){ cut, cut, cut }, CUT "/" CUT " (deleted)");
	check_names(BLKLAT_SLOW_FILE | BLKLAT_SLOW_DELETED, (const char *[]){ "a", "/", "/" }, "a (deleted)");
	/* No folder has it; or nothing was read. */
	check_names(BLKLAT_SLOW_FILE, (const char *[]){ "/", "/", "/" }, NULL);
	check_names(BLKLAT_SLOW_DELETED, (const char *[]){ "stale", "", "" }, NULL);
}

/* --- limits -------------------------------------------------------------------------------- */

static struct {
	struct device device;
	struct watch watches[2];
	struct frames frames;
	struct slow_limits limits;
} w;

static void begin(const struct slow_wanted *wanted)
{
	strcpy(w.device.name, "sda");
	w.watches[0] = (struct watch){ .device = &w.device };
	w.watches[1] = (struct watch){ .device = &w.device, .stage = BLKLAT_STAGE_TOTAL };
	assert_int_equal(frames_init(&w.frames, w.watches, 2, BLKLAT_SCALE_MAX), 0);
	assert_int_equal(slow_limits_init(&w.limits, wanted, 2, BLKLAT_SCALE_MAX), 0);
	slow_limits_enter(&w.limits, 0, 2);
}

void tear_down(void)
{
	slow_limits_uninit(&w.limits);
	frames_uninit(&w.frames);
	memset(&w, 0, sizeof(w));
}

/* An interval in which reads of the second watch took @ns, @n times each, and one in a hundred ten times as long. */
static u64 interval(u64 ns, u64 n)
{
	struct op_frame *o = &w.frames.f[1].ops[BLKLAT_OP_READ];

	hist_clear(&o->hist);
	o->ios = n;
	o->max_ns = n ? 10 * ns : 0;
	if (n) {
		hist_put(&o->hist, blklat_cell(ns, BLKLAT_SCALE_MAX), n - n / 100);
		hist_put(&o->hist, blklat_cell(10 * ns, BLKLAT_SCALE_MAX), n / 100);
	}
	slow_limits_follow(&w.limits, &w.frames);
	return w.limits.from_ns[BLKLAT_OPS + BLKLAT_OP_READ];
}

TEST(test_fixed)
{
	const struct slow_wanted wanted = { .wanted = true, .from_ns = 5000 };

	begin(&wanted);
	for (u32 i = 0; i < 2 * BLKLAT_OPS; i++)
		assert_int_equal(w.limits.from_ns[i], 5000);
	assert_int_equal(interval(1000000, 1000), 5000);
}

static void assert_near(u64 ns, u64 wanted)
{
	assert_in_range(ns, wanted * 0.978, wanted * 1.022);
}

/* The percentile of the last ten intervals: older ones are forgotten, and without IOs nothing is slow. */
TEST(test_follows)
{
	const struct slow_wanted wanted = { .wanted = true, .q = 0.995 };

	begin(&wanted);
	for (u32 i = 0; i < 2 * BLKLAT_OPS; i++)
		assert_true(w.limits.from_ns[i] == UINT64_MAX);
	assert_near(interval(100000, 1000), 1000000);
	assert_true(w.limits.from_ns[BLKLAT_OPS + BLKLAT_OP_WRITE] == UINT64_MAX);
	assert_true(w.limits.from_ns[BLKLAT_OP_READ] == UINT64_MAX);
	/* Of all 2000, ten took longer than 2 ms; when the first are forgotten, so did ten of the 1000 later ones. */
	assert_near(interval(2000000, 1000), 2000000);
	for (u32 i = 0; i < 9; i++)
		assert_near(interval(0, 0), i < 8 ? 2000000 : 20000000);
	assert_true(interval(0, 0) == UINT64_MAX);
	assert_near(interval(100000, 1000), 1000000);
}

/* A watch that takes another's place has no past. */
TEST(test_enters)
{
	const struct slow_wanted wanted = { .wanted = true, .q = 0.995 };

	begin(&wanted);
	assert_near(interval(100000, 1000), 1000000);
	slow_limits_enter(&w.limits, 1, 1);
	assert_true(w.limits.from_ns[BLKLAT_OPS + BLKLAT_OP_READ] == UINT64_MAX);
	assert_near(interval(2000000, 1000), 20000000);
}

/*
 * --- where engines note bios: few places are shared, and no two pages of bios share many, whatever their distance. With
 * the engines' default of 2^18 places.
 */

#define PLACES (1U << 18)
#define SHIFT (32 - 18)
#define PAGE 4096U
#define BIO 256U	/* bytes, as the slab rounds them up */
#define BIOS (PAGE / BIO)

static u8 taken[PLACES];

/* Of the bios of a page, how many have a place that one of an earlier page has. */
static u32 add_page(u32 at)
{
	u32 shared = 0;

	for (u32 i = 0; i < BIOS; i++)
		shared += taken[blklat_note_place(at + i * BIO, SHIFT)]++ > 0;
	return shared;
}

/* Pages at distances where the bios have the same place by a single product. */
TEST(test_distances)
{
	u32 distances = 0;

	for (u32 d = PAGE; d < 1U << 31; d += PAGE) {
		if (d * 0x9e3779b1 >> SHIFT && -d * 0x9e3779b1 >> SHIFT)
			continue;
		distances++;
		memset(taken, 0, sizeof(taken));
		add_page(0x12340000);
		assert_true(add_page(0x12340000 + d) <= 1);
	}
	assert_true(distances > 2);
}

/* n of them in N places: n^2 / 2N are expected to be shared, and in a Poisson distribution six deviations are never seen. */
TEST(test_spread)
{
	static const u32 pages[] = { 1, 7, 12345 };	/* from one to the next */

	for (u32 p = 0; p < 3; p++) {
		double expected = 2048.0 * 2048 / 2 / PLACES;
		u32 shared = 0;

		memset(taken, 0, sizeof(taken));
		for (u32 i = 0; i < 2048 / BIOS; i++)
			shared += add_page(0x40000000 + i * pages[p] * PAGE);
		assert_true(shared <= expected + 6 * 2.83);
	}
}
