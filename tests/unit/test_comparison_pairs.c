// SPDX-License-Identifier: GPL-2.0-only
/* Two runs side by side, by hand; tests/cli/test_pairs.py has which devices are compared. */
#include "synthetic_run.h"

#include <errno.h>

#include "report/comparison.h"
#include "report/noise.h"
#include "report/series_run.h"

static void put(struct hist *h, u64 ns, u64 n)
{
	hist_put(h, blklat_cell(ns, h->scale), n);
}

static void assert_distance(const struct hist *a, const struct hist *b, double must)
{
	double d;

	assert_int_equal(ks_distance(a, b, &d), 0);
	assert_close(d, must, 1e-15);
	assert_int_equal(ks_distance(b, a, &d), 0);
	assert_close(d, must, 1e-15);
}

/* Cumulative 0.5, 0.75, 1 against 0, 0.25, 1: the largest distance, 0.5, is at the first two. */
TEST(ks_by_hand)
{
	u64 cells[3][BLKLAT_CELLS(6)] = { { 0 } };
	struct hist a = hist_on(cells[0], 6), b = hist_on(cells[1], 6), coarse = hist_on(cells[2], 2);
	double d;

	assert_int_equal(ks_distance(&a, &b, &d), -ENODATA);
	put(&a, 10000, 2);
	assert_int_equal(ks_distance(&a, &b, &d), -ENODATA);
	put(&a, 20000, 1);
	put(&a, 80000, 1);
	put(&b, 20000, 25);
	put(&b, 80000, 75);
	assert_distance(&a, &b, 0.5);
	assert_distance(&a, &a, 0);
	/* Another scale: 10 and 20 us are in different bins of a quarter octave, too. */
	put(&coarse, 20000, 1);
	put(&coarse, 80000, 3);
	assert_distance(&a, &coarse, 0.5);
	hist_clear(&b);
	put(&b, 1000000, 7);
	assert_distance(&a, &b, 1);
}

TEST(ratios)
{
	assert_close(ratio_of(200, 300), 1.5, 0);
	assert_true(ratio_of(0, 3) < 0);
	assert_true(ratio_of(3, -1) < 0);
	assert_close(ratio_of(3, 0), 0, 0);
}

static const struct device_maps no_maps;

static struct synthetic a, b;

static void init(struct synthetic *of)
{
	synthetic_uninit(of);
	synthetic_init(of);
}

void tear_down(void)
{
	init(&a);
	init(&b);
}

TEST(likeness)
{
	struct device one = { .name = "sda", .wwid = "naa.0" }, two = { .name = "sdb", .wwid = "naa.0" };

	assert_int_equal(device_compare(&one, &two), DEVICE_SAME);
	strcpy(one.kind, "partition");
	strcpy(one.name, "sda1");
	assert_int_equal(device_compare(&one, &two), DEVICE_OTHER);
	strcpy(two.kind, "partition");
	strcpy(two.name, "sdb2");
	assert_int_equal(device_compare(&one, &two), DEVICE_OTHER);
	strcpy(two.name, "sdb1");
	assert_int_equal(device_compare(&one, &two), DEVICE_SAME);

	/* Without a WWID the serial number, within a model; else nothing is known. */
	one.wwid[0] = '\0';
	assert_int_equal(device_compare(&one, &two), DEVICE_UNKNOWN);
	strcpy(one.serial, "S1");
	strcpy(two.serial, "S1");
	assert_int_equal(device_compare(&one, &two), DEVICE_SAME);
	strcpy(two.model, "another");
	assert_int_equal(device_compare(&one, &two), DEVICE_OTHER);
}

/* Whole, parts, whole, parts: parts follow their whole to its partner, and pair by what they are, not by position. */
TEST(parts_pair_with_their_like)
{
	static const struct part small = { "size", "4 KiB", 1 }, large = { "size", "8 KiB", 2 };
	struct pair p[6];

	init(&a);
	init(&b);
	strcpy(b.device[1].name, "nvme0n1");
	for (u32 i = 0; i < 6; i++) {
		a.watch[i] = (struct watch){ .device = &a.device[i / 3], .part = (const struct part *[]){ NULL, &small, &large }[i % 3] };
		b.watch[i] = (struct watch){ .device = &b.device[1 - i / 3], .part = (const struct part *[]){ NULL, &large, &small }[i % 3] };
	}
	synthetic_begin(&a, 6, 3, 1);
	synthetic_begin(&b, 6, 3, 1);
	/* sda, sdb and nvme0n1, sda: wholes first, then the parts of each. */
	assert_int_equal(comparison_pairs(&a.run, &b.run, &no_maps, p), 6);
	for (u32 i = 0; i < 6; i++) {
		assert_int_equal(p[i].base, ((const u32[]){ 0, 3, 1, 2, 4, 5 })[i]);
		assert_int_equal(p[i].other, ((const u32[]){ 3, 0, 5, 4, 2, 1 })[i]);
	}

	/* Not divided: only the whole has a partner. */
	init(&b);
	synthetic_begin(&b, 1, 3, 1);
	assert_int_equal(comparison_pairs(&a.run, &b.run, &no_maps, p), 1);
	assert_int_equal(comparison_pairs(&b.run, &a.run, &no_maps, p), 1);
}
