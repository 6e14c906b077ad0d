// SPDX-License-Identifier: GPL-2.0-only
/* bins.h against bins_vectors.h, which is computed in another way (tests/vectors/gen_vectors.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bins_vectors.h"
#include "core/hist.h"

#define FIRST_K (-1664)
#define LAST_K 448
#define RANDOM_ROUNDS 4000000		/* of three values each */
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
			fail_msg("%llu ns, scale %u: cell %u, must be %u", ns, scale, cell,
				 expected);
		if (blklat_octave(cell, scale) != octave)
			fail_msg("%llu ns, scale %u: octave %u, must be %u", ns, scale,
				 blklat_octave(cell, scale), octave);
		if (place != expected || at_once != octave)
			fail_msg("%llu ns, scale %u: at once cell %u, octave %u, must be %u, %u", ns, scale, place,
				 at_once, expected, octave);
	}
}

static void vectors_are_whole(void **state)
{
	(void)state;
	assert_int_equal(BOUNDS, LAST_K - FIRST_K + 1);
	for (u32 i = 0; i < BOUNDS; i++) {
		assert_int_equal(vectors[i].k, FIRST_K + (int)i);
		assert_true(!i || vectors[i - 1].ns <= vectors[i].ns);
	}
}

static void bounds_and_neighbours(void **state)
{
	(void)state;

	for (u32 i = 0; i < BOUNDS; i++) {
		for (u64 ns = vectors[i].ns - 1; ns <= vectors[i].ns + 1; ns++) {
			check(ns);
			for (u32 scale = 0; scale <= 6; scale++)
				assert_int_equal(blklat_cell(ns, scale),
						 cell_by_search(ns, 64 >> scale));
		}
	}
}

/* Literals, so that vectors and code can't be wrong in the same way; "worked row" is that of bins.h. */
static void known_values(void **state)
{
	static const struct {
		u64 ns;
		u32 scale, cell;
	} cases[] = {
		{ 0, 6, 0 },
		{ 0, 0, 0 },
		{ 1, 6, 0 },
		{ 14, 6, 0 },
		{ 15, 6, 1 },
		{ 15, 0, 1 },
		{ 59727, 6, 766 },
		{ 60000, 6, 767 },	/* worked row */
		{ 60377, 6, 767 },
		{ 60378, 6, 768 },
		{ 1000000000, 6, 1664 },
		{ 1000000001, 6, 1665 },
		{ 1000000000, 0, 26 },
		{ 1000000001, 0, 27 },
		{ 128000000000, 6, 2112 },
		{ 128000000000, 0, 33 },
		{ 128000000001, 6, ABOVE },
		{ 128000000001, 0, 34 },
		{ UINT64_MAX, 6, ABOVE },
		{ UINT64_MAX, 3, 265 },
		{ UINT64_MAX, 0, 34 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		u32 cell = blklat_cell(cases[i].ns, cases[i].scale);

		if (cell != cases[i].cell)
			fail_msg("%llu ns, scale %u: cell %u, must be %u", cases[i].ns,
				 cases[i].scale, cell, cases[i].cell);
		check(cases[i].ns);
	}
}

static u64 next_random(u64 *state)	/* splitmix64 */
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void random_values(void **state)
{
	u64 seed = SEED;

	(void)state;
	print_message("seed %#llx\n", seed);
	for (u32 i = 0; i < RANDOM_ROUNDS; i++) {
		u64 any = next_random(&seed);

		check(any);			/* uniform: nearly all above the grid */
		check(any >> 26);		/* uniform, half of it in the grid */
		check(next_random(&seed) >> any % 64);	/* every magnitude alike */
	}
}

static void log2_of_powers(void **state)
{
	(void)state;
	assert_int_equal(blklat_log2(1), 0);
	for (u32 e = 1; e < 40; e++) {
		u64 power = 1ULL << e;

		assert_int_equal(blklat_log2(power - 1), e - 1);
		assert_int_equal(blklat_log2(power), e);
		assert_int_equal(blklat_log2(power + 1), e);
		assert_int_equal(blklat_log2(power * 2 - 1), e);
	}
}

static void octaves(void **state)
{
	static const struct {
		u32 scale, cell, octave;
	} cases[] = {
		{ 6, 0, 34 }, { 6, 1, 0 }, { 6, 64, 0 }, { 6, 65, 1 },
		{ 6, 767, 11 }, { 6, 2112, 32 }, { 6, 2113, 33 },
		{ 3, 0, 34 }, { 3, 8, 0 }, { 3, 9, 1 }, { 3, 264, 32 }, { 3, 265, 33 },
		{ 0, 0, 34 }, { 0, 1, 0 }, { 0, 33, 32 }, { 0, 34, 33 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(blklat_octave(cases[i].cell, cases[i].scale), cases[i].octave);
}

/* The reverse, hist_lower_ns() and hist_upper_ns(): from a cell to its bounds. */
static void bounds_of_cells(void **state)
{
	(void)state;

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_whole),
		cmocka_unit_test(bounds_and_neighbours),
		cmocka_unit_test(known_values),
		cmocka_unit_test(random_values),
		cmocka_unit_test(log2_of_powers),
		cmocka_unit_test(octaves),
		cmocka_unit_test(bounds_of_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
