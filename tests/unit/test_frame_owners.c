// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts by cgroup whose owner ends: the next owner has only its own counts; in the whole run those of the previous one go
 * to the rest.
 */
#include "unit.h"

#include "blklat/bins.h"
#include "blklat/parts.h"
#include "core/frame.h"

enum { SCALE = 6, CGROUPS = 2, PARTS = BLKLAT_CGROUP_REST + CGROUPS, N = 2 * (1 + PARTS), REST = BLKLAT_CGROUP_REST, FIRST = BLKLAT_CGROUP_FIRST };

static struct {
	struct watch *watches;
	u32 n;
	struct snapshot s[2];
	u32 now;
	struct frames interval, run;
} w;

static void begin_extremes(void)
{
	for (u32 i = 0; i < N; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			w.s[w.now].w[i].ops[op].min_ns = UINT64_MAX;
			w.s[w.now].w[i].ops[op].max_ns = 0;
		}
}

void set_up(void)
{
	static const struct device device = { .name = "sda" };
	static const struct watch wholes[] = {
		{ .device = &device, .stage = BLKLAT_STAGE_DEVICE }, { .device = &device, .stage = BLKLAT_STAGE_TOTAL },
	};

	assert_int_equal(watches_divide(wholes, 2, BLKLAT_BY_CGROUP, CGROUPS, &w.watches, &w.n), 0);
	assert_int_equal(w.n, N);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(snapshot_init(&w.s[i], N, SCALE), 0);
	begin_extremes();
	assert_int_equal(frames_init(&w.interval, w.watches, N, SCALE), 0);
	assert_int_equal(frames_init(&w.run, w.watches, N, SCALE), 0);
}

void tear_down(void)
{
	for (u32 i = 0; i < 2; i++)
		snapshot_uninit(&w.s[i]);
	frames_uninit(&w.interval);
	frames_uninit(&w.run);
	free(w.watches);
}

static void own(u32 part, const char *label)
{
	for (u32 whole = 0; whole < N; whole += 1 + PARTS)
		w.watches[whole + part].part = part_find("cgroup", label);
}

/* @n reads of 4 KiB in a part, and so in its whole, in the next interval. */
static void count(u32 whole, u32 part, u32 n, u64 ns)
{
	const u32 watches[] = { whole, whole + part };

	for (u32 i = 0; i < 2; i++) {
		struct op_counts *o = &w.s[w.now].w[watches[i]].ops[BLKLAT_OP_READ];

		hist_put(&o->hist, blklat_cell(ns, SCALE), n);
		o->sum_ns += n * ns;
		o->bytes += n * 4096;
		o->min_ns = ns < o->min_ns ? ns : o->min_ns;
		o->max_ns = ns > o->max_ns ? ns : o->max_ns;
	}
}

static void end_interval(void)
{
	w.s[w.now].mono_ns = w.s[!w.now].mono_ns + NSEC_PER_SEC;
	frames_between(&w.interval, &w.s[!w.now], &w.s[w.now], &percentiles_default, 1);
	frames_accumulate(&w.run, &w.interval, &percentiles_default);
	snapshot_copy(&w.s[!w.now], &w.s[w.now]);
	w.now = !w.now;
	begin_extremes();
}

static void check(const struct frames *fs, u32 at, u64 ios, u64 min_ns, u64 max_ns)
{
	const struct op_frame *o = &fs->f[at].ops[BLKLAT_OP_READ];

	assert_int_equal(o->ios, ios);
	assert_int_equal(hist_count(&o->hist), ios);
	if (!ios)
		return;
	assert_int_equal(o->bytes, ios * 4096);
	assert_int_equal(o->counted.bytes, ios * 4096);
	assert_int_equal(o->min_ns, min_ns);
	assert_int_equal(o->max_ns, max_ns);
}

static void check_sums(void)
{
	for (u32 whole = 0; whole < N; whole += 1 + PARTS) {
		struct op_sums sum = { 0 };
		u64 ios = 0;

		for (u32 p = 1; p <= PARTS; p++) {
			const struct op_frame *o = &w.run.f[whole + p].ops[BLKLAT_OP_READ];

			ios += o->ios;
			sum.bytes += o->bytes + o->partial.bytes;
			sum.sum_ns += o->sum_ns + o->partial.sum_ns;
		}
		assert_int_equal(ios, w.run.f[whole].ops[BLKLAT_OP_READ].ios);
		assert_int_equal(sum.bytes, w.run.f[whole].ops[BLKLAT_OP_READ].bytes + w.run.f[whole].ops[BLKLAT_OP_READ].partial.bytes);
		assert_int_equal(sum.sum_ns, w.run.f[whole].ops[BLKLAT_OP_READ].sum_ns);
	}
}

TEST(test_next_owner)
{
	const u32 total = 1 + PARTS;

	own(FIRST, "/a");
	count(0, FIRST, 5, 1000);
	count(0, REST, 1, 3000);
	count(total, FIRST, 7, 2000);
	end_interval();
	check(&w.run, FIRST, 5, 1000, 1000);
	check(&w.run, REST, 1, 3000, 3000);
	/* The owner has ended: its counts move to the rest, in the run only. */
	own(FIRST, "");
	end_interval();
	check(&w.interval, REST, 0, 0, 0);
	check(&w.run, FIRST, 0, 0, 0);
	check(&w.run, REST, 6, 1000, 3000);
	check(&w.run, total + REST, 7, 2000, 2000);
	check_sums();
	/* New owners; one of them is replaced with no interval in between. */
	own(FIRST, "/b");
	own(FIRST + 1, "/c");
	count(0, FIRST, 11, 4000);
	count(0, FIRST + 1, 13, 5000);
	end_interval();
	check(&w.interval, FIRST, 11, 4000, 4000);
	check(&w.run, FIRST, 11, 4000, 4000);
	own(FIRST + 1, "/d");
	count(0, FIRST + 1, 2, 9000);
	end_interval();
	check(&w.interval, FIRST + 1, 2, 9000, 9000);
	check(&w.run, FIRST, 11, 4000, 4000);
	check(&w.run, FIRST + 1, 2, 9000, 9000);
	check(&w.run, REST, 6 + 13, 1000, 5000);
	check(&w.run, total + REST, 7, 2000, 2000);
	check_sums();
}

/* Bytes that were counted without an IO wait for that IO, and do not go to the next owner. */
TEST(test_partial)
{
	own(FIRST, "/a");
	w.s[w.now].w[FIRST].ops[BLKLAT_OP_READ].bytes += 512;
	w.s[w.now].w[0].ops[BLKLAT_OP_READ].bytes += 512;
	end_interval();
	own(FIRST, "/b");
	count(0, FIRST, 3, 1000);
	count(0, REST, 1, 1000);
	end_interval();
	assert_int_equal(w.interval.f[FIRST].ops[BLKLAT_OP_READ].bytes, 3 * 4096);
	assert_int_equal(w.interval.f[REST].ops[BLKLAT_OP_READ].bytes, 4096 + 512);
	check_sums();
}
