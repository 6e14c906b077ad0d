// SPDX-License-Identifier: GPL-2.0-only
#include "unit.h"

#include <errno.h>

#include "core/hist.h"

TEST(scales)
{
	static const struct {
		u32 scale;
		int err;
		u32 cells;
	} cases[] = { { 0, 0, 35 }, { 3, 0, 266 }, { 6, 0, 2114 }, { 7, -EINVAL, 0 }, { UINT32_MAX, -EINVAL, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 untouched = 1;
		struct hist h = { .scale = 99, .cells = &untouched };

		assert_int_equal(hist_init(&h, cases[i].scale), cases[i].err);
		if (cases[i].err) {
			assert_int_equal(h.scale, 99);
			assert_ptr_equal(h.cells, &untouched);
			continue;
		}
		assert_int_equal(h.scale, cases[i].scale);
		/* Under SAN=1 a missing cell shows here. */
		for (u32 cell = 0; cell < cases[i].cells; cell++) {
			assert_int_equal(h.cells[cell], 0);
			hist_put(&h, cell, 1);
		}
		assert_int_equal(hist_count(&h), cases[i].cells);
		hist_clear(&h);
		assert_int_equal(hist_count(&h), 0);
		hist_uninit(&h);
		assert_null(h.cells);
	}
}

TEST(range)
{
	static const struct { u32 n, cell[3], first, last; } cases[] = {
		{ 0 }, { 1, { 0 }, 0, 0 }, { 1, { 2113 }, 2113, 2113 }, { 1, { 767 }, 767, 767 }, { 2, { 2113, 0 }, 0, 2113 },
		{ 3, { 900, 1, 30 }, 1, 900 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 cells[BLKLAT_CELLS(6)] = { 0 };
		struct hist h = hist_on(cells, 6);
		u32 first = 77, last = 78;

		for (u32 j = 0; j < cases[i].n; j++)
			hist_put(&h, cases[i].cell[j], 1);
		assert_int_equal(hist_range(&h, &first, &last), cases[i].n > 0);
		assert_int_equal(first, cases[i].n ? cases[i].first : 77);
		assert_int_equal(last, cases[i].n ? cases[i].last : 78);
	}
}

/* Merging must give what counting at the lower resolution would have given, cell for cell. */
TEST(merge)
{
	struct hist direct[7], merged[7];
	u64 seed = 42;

	for (u32 scale = 0; scale <= 6; scale++)
		assert_int_equal(hist_init(&direct[scale], scale), 0);
	for (u32 i = 0; i < 200000; i++) {
		u64 ns = next_random(&seed) >> (20 + next_random(&seed) % 44);

		for (u32 scale = 0; scale <= 6; scale++)
			hist_put(&direct[scale], blklat_cell(ns, scale), 1);
	}
	assert_true(direct[0].cells[0] && direct[0].cells[34]);
	for (u32 from = 0; from <= 6; from++) {
		for (u32 to = 0; to <= from; to++) {
			struct hist *m = &merged[to];

			assert_int_equal(hist_init(m, to), 0);
			hist_put(m, 0, 5);	/* it adds, it does not set */
			hist_add(m, &direct[from]);
			m->cells[0] -= 5;
			assert_int_equal(hist_count(m), 200000);
			assert_memory_equal(m->cells, direct[to].cells, BLKLAT_CELLS(to) * sizeof(u64));
			hist_uninit(m);
		}
	}
	for (u32 scale = 0; scale <= 6; scale++)
		hist_uninit(&direct[scale]);
}

TEST(difference)
{
	u64 cells[3][BLKLAT_CELLS(2)] = { { 0 } };
	struct hist before = hist_on(cells[0], 2), now = hist_on(cells[1], 2), d = hist_on(cells[2], 2);

	for (u32 cell = 0; cell < (u32)BLKLAT_CELLS(2); cell++) {
		hist_put(&before, cell, 1000 + cell);
		hist_put(&now, cell, 1000 + cell + cell * cell);
		hist_put(&d, cell, 9);
	}
	hist_diff(&d, &now, &before);
	for (u32 cell = 0; cell < (u32)BLKLAT_CELLS(2); cell++)
		assert_int_equal(d.cells[cell], cell * cell);
}

static void do_one(struct hist *h, u32 what, u32 a, u32 b, u32 cell)
{
	if (what == 0)
		hist_clear(&h[a]);
	else if (what == 1)
		hist_copy(&h[a], &h[b]);
	else if (what == 2)
		hist_add(&h[a], &h[b]);
	else if (what == 3 && a != b)
		hist_diff(&h[a], &h[b], &h[3 - a - b]);
	else
		hist_put(&h[a], cell, 1);
}

/* Whatever is done to them, a histogram equals one whose octaves are all marked as in use. */
TEST(octaves)
{
	struct hist plain[3], kept[3];
	u64 seed = 7;

	for (u32 i = 0; i < 3; i++) {
		assert_int_equal(hist_init(&plain[i], 3), 0);
		assert_int_equal(hist_init(&kept[i], 3), 0);
	}
	for (u32 round = 0; round < 20000; round++) {
		u32 a = next_random(&seed) % 3, b = next_random(&seed) % 3, what = next_random(&seed) % 8, ranges[4] = { 9, 9, 9, 9 };
		u32 cell = next_random(&seed) % 4 ? 60 + next_random(&seed) % 20 : next_random(&seed) % BLKLAT_CELLS(3);

		do_one(plain, what, a, b, cell);
		for (u32 i = 0; i < 3; i++)
			plain[i].octaves = HIST_ALL_OCTAVES;
		do_one(kept, what, a, b, cell);
		assert_memory_equal(plain[a].cells, kept[a].cells, BLKLAT_CELLS(3) * sizeof(u64));
		assert_int_equal(hist_count(&plain[a]), hist_count(&kept[a]));
		assert_int_equal(hist_range(&plain[a], &ranges[0], &ranges[1]), hist_range(&kept[a], &ranges[2], &ranges[3]));
		assert_int_equal(ranges[0], ranges[2]);
		assert_int_equal(ranges[1], ranges[3]);
	}
	for (u32 i = 0; i < 3; i++) {
		hist_uninit(&plain[i]);
		hist_uninit(&kept[i]);
	}
}
