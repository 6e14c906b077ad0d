// SPDX-License-Identifier: GPL-2.0-only
/* bins.h against bins_vectors.h, which is computed in another way (tests/vectors/gen_vectors.py). */
#include "unit.h"

#include "bins_vectors.h"
#include "core/hist.h"

#define RANDOM_ROUNDS 1000000		/* of three values each */
#define SEED 0x626c6b6c6174ULL

static const struct {
	int k;
	u64 ns;
} vectors[] = BLKLAT_VECTORS;

#define BOUNDS ARRAY_SIZE(vectors)
#define ABOVE BOUNDS			/* cell at scale 6 */

/* Number of bounds below @ns, counting every @step-th: the cell by definition. */
static u32 cell_by_search(u64 ns, u32 step)
{
	u32 low = 0, high = (BOUNDS - 1) / step + 1;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (vectors[middle * step].ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void check(u64 ns)
{
	u32 finest = cell_by_search(ns, 1);
	u32 octave = cell_by_search(ns, 64);

	octave = octave ? octave - 1 : BLKLAT_OCTAVE_BELOW;
	for (u32 scale = 0; scale <= 6; scale++) {
		u32 step = 64 >> scale;
		u32 expected = scale == 6 ? finest : (finest + step - 1) / step;
		u32 cell = blklat_cell(ns, scale), at_once, place = blklat_place(ns, 6 - scale, &at_once);

		if (cell != expected)
			fail_msg("%llu ns, scale %u: cell %u, must be %u", ns, scale, cell, expected);
		if (blklat_octave(cell, scale) != octave)
			fail_msg("%llu ns, scale %u: octave %u, must be %u", ns, scale,
				 blklat_octave(cell, scale), octave);
		if (place != expected || at_once != octave)
			fail_msg("%llu ns, scale %u: at once cell %u, octave %u, must be %u, %u", ns, scale, place,
				 at_once, expected, octave);
	}
}

TEST(bounds_and_neighbours)
{
	for (u32 i = 0; i < BOUNDS; i++) {
		for (u64 ns = vectors[i].ns - 1; ns <= vectors[i].ns + 1; ns++) {
			check(ns);
			for (u32 scale = 0; scale <= 6; scale++)
				assert_int_equal(blklat_cell(ns, scale), cell_by_search(ns, 64 >> scale));
		}
	}
}

/* Literals, so that vectors and code can't be wrong in the same way; "worked row" is that of bins.h. */
TEST(known_values)
{
	static const struct { u64 ns; u32 scale, cell; } cases[] = {
		{ 0, 6, 0 }, { 0, 0, 0 }, { 1, 6, 0 }, { 14, 6, 0 }, { 15, 6, 1 }, { 15, 0, 1 }, { 59727, 6, 766 },
		{ 60000, 6, 767 },	/* worked row */
		{ 60377, 6, 767 }, { 60378, 6, 768 }, { 1000000000, 6, 1664 }, { 1000000001, 6, 1665 }, { 1000000000, 0, 26 },
		{ 1000000001, 0, 27 }, { 128000000000, 6, 2112 }, { 128000000000, 0, 33 }, { 128000000001, 6, ABOVE },
		{ 128000000001, 0, 34 }, { UINT64_MAX, 6, ABOVE }, { UINT64_MAX, 3, 265 }, { UINT64_MAX, 0, 34 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 cell = blklat_cell(cases[i].ns, cases[i].scale);

		if (cell != cases[i].cell)
			fail_msg("%llu ns, scale %u: cell %u, must be %u", cases[i].ns, cases[i].scale, cell, cases[i].cell);
		check(cases[i].ns);
	}
}

TEST(random_values)
{
	u64 seed = SEED;

	print_message("seed %#llx\n", seed);
	for (u32 i = 0; i < RANDOM_ROUNDS; i++) {
		u64 any = next_random(&seed);

		check(any);			/* uniform: nearly all above the grid */
		check(any >> 26);		/* uniform, half of it in the grid */
		check(next_random(&seed) >> any % 64);	/* every magnitude alike */
	}
}

/* The reverse, hist_lower_ns() and hist_upper_ns(): from a cell to its bounds. */
TEST(bounds_of_cells)
{
	for (u32 scale = 0; scale <= 6; scale++) {
		u32 step = 64 >> scale, above = (BOUNDS - 1) / step + 1;

		assert_int_equal(hist_lower_ns(scale, 0), 0);
		for (u32 cell = 0; cell < above; cell++) {
			assert_int_equal(hist_upper_ns(scale, cell), vectors[cell * step].ns);
			assert_int_equal(hist_lower_ns(scale, cell + 1), vectors[cell * step].ns);
		}
		assert_true(hist_upper_ns(scale, above) == UINT64_MAX);
	}
}
