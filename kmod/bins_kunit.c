// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests bins.h, as the kernel compiles it, against bins_vectors.h, whose bounds are computed in another
 * way (tests/vectors/gen_vectors.py). The expected cell is the number of bounds below an ns, which is
 * its definition, found by a binary search: nothing here uses the tables of bins.h.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <kunit/test.h>

#include "blklat/bins.h"
#include "blklat/bins_vectors.h"

#define FIRST_K (-1664)
#define SCALE_MAX 6
#define STEP(scale) (64U >> (scale))	/* bounds from one bin of a scale to the next */
#define RANDOM_ROUNDS 1000000		/* of three values each */
#define SEED 0x626c6b6c6174ULL

static const struct {
	int k;
	u64 ns;
} vectors[] = BLKLAT_VECTORS;

#define BOUNDS ARRAY_SIZE(vectors)

/* The number of bounds below @ns, counting every @step-th: by definition the cell. */
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

/* The bit of a cell's octave at scale 0: 0..32; 33 above the grid, 34 below. */
static u32 octave_of_coarse(u32 cell)
{
	return cell ? cell - 1 : 34;
}

/*
 * One comparison in C instead of an expectation for each, as there are millions. Returns false after a
 * failure.
 */
static bool agrees(struct kunit *test, u64 ns, u32 scale, u32 wanted, u32 octave)
{
	u32 cell = blklat_cell(ns, scale);

	if (likely(cell == wanted && blklat_octave(cell, scale) == octave))
		return true;
	KUNIT_FAIL(test, "%llu ns, scale %u: cell %u in octave %u, must be %u in %u", ns, scale,
		   cell, blklat_octave(cell, scale), wanted, octave);
	return false;
}

/* At all scales: a cell of a coarse scale consists of the finest scale's cells within its bounds. */
static bool merges(struct kunit *test, u64 ns)
{
	u32 finest = cell_by_search(ns, STEP(SCALE_MAX)), scale;
	u32 octave = octave_of_coarse((finest + STEP(0) - 1) / STEP(0));

	for (scale = 0; scale <= SCALE_MAX; scale++) {
		u32 step = STEP(scale);

		if (!agrees(test, ns, scale, (finest + step - 1) / step, octave))
			return false;
	}
	return true;
}

/* Checks first that both sides have the same grid. */
static void blklat_bins_test_vectors(struct kunit *test)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, (u32)BOUNDS, 2113U);
	KUNIT_EXPECT_EQ(test, (u64)BLKLAT_FIRST_NS, vectors[0].ns);
	KUNIT_EXPECT_EQ(test, (u64)BLKLAT_LAST_NS, vectors[BOUNDS - 1].ns);
	for (i = 0; i < BOUNDS; i++) {
		KUNIT_ASSERT_EQ(test, vectors[i].k, FIRST_K + (int)i);
		KUNIT_ASSERT_TRUE(test, !i || vectors[i - 1].ns <= vectors[i].ns);
	}
}

/* A bound belongs to the bin below it; if several bounds are the same ns, to the first of them. */
static void blklat_bins_test_each_bound(struct kunit *test)
{
	u32 i, cell = 0;

	for (i = 0; i < BOUNDS; i++) {
		if (i && vectors[i].ns != vectors[i - 1].ns)
			cell = vectors[i].k - FIRST_K;
		KUNIT_ASSERT_EQ(test, blklat_cell_finest(vectors[i].ns), cell);
		KUNIT_ASSERT_EQ(test, blklat_cell(vectors[i].ns, SCALE_MAX), cell);
	}
}

static void blklat_bins_test_neighbours_of_bounds(struct kunit *test)
{
	u32 i, scale;
	u64 ns;

	for (i = 0; i < BOUNDS; i++) {
		for (ns = vectors[i].ns - 1; ns <= vectors[i].ns + 1; ns++) {
			u32 octave = octave_of_coarse(cell_by_search(ns, STEP(0)));

			for (scale = 0; scale <= SCALE_MAX; scale++)
				if (!agrees(test, ns, scale, cell_by_search(ns, STEP(scale)), octave))
					return;
			if (!merges(test, ns))
				return;
		}
	}
}

/* Literals, so that an error common to vectors and code is found. "worked row" is that of bins.h. */
static void blklat_bins_test_known_values(struct kunit *test)
{
	static const struct {
		u64 ns;
		u32 scale, cell, octave;
	} cases[] = {
		{ 0, 6, 0, 34 },
		{ 0, 0, 0, 34 },
		{ 14, 6, 0, 34 },
		{ 15, 6, 1, 0 },
		{ 15, 0, 1, 0 },
		{ 29, 6, 62, 0 },
		{ 30, 6, 65, 1 },
		{ 59727, 6, 766, 11 },
		{ 60000, 6, 767, 11 },	/* worked row */
		{ 60377, 6, 767, 11 },
		{ 60378, 6, 768, 11 },
		{ 1000000000, 6, 1664, 25 },
		{ 1000000001, 6, 1665, 26 },
		{ 1000000000, 0, 26, 25 },
		{ 1000000001, 0, 27, 26 },
		{ 128000000000, 6, 2112, 32 },
		{ 128000000000, 0, 33, 32 },
		{ 128000000001, 6, 2113, 33 },
		{ 128000000001, 0, 34, 33 },
		{ U64_MAX, 6, 2113, 33 },
		{ U64_MAX, 3, 265, 33 },
		{ U64_MAX, 0, 34, 33 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		agrees(test, cases[i].ns, cases[i].scale, cases[i].cell, cases[i].octave);
		merges(test, cases[i].ns);
	}
}

static u64 next_random(u64 *state)	/* splitmix64 */
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Uniform over all u64 (nearly all above the grid), uniform over twice the grid, and of all magnitudes. */
static void blklat_bins_test_random_values(struct kunit *test)
{
	u64 seed = SEED;
	u32 i;

	for (i = 0; i < RANDOM_ROUNDS; i++) {
		u64 any = next_random(&seed);
		u64 magnitude = next_random(&seed) >> any % 64;

		if (!merges(test, any) || !merges(test, any >> 26) || !merges(test, magnitude))
			return;
		if (i % 1024 == 0)
			cond_resched();
	}
}

static void blklat_bins_test_number_of_cells(struct kunit *test)
{
	static const u32 cells[] = { 35, 68, 134, 266, 530, 1058, 2114 };
	u32 scale;

	KUNIT_ASSERT_EQ(test, (u32)BLKLAT_SCALE_MAX, (u32)SCALE_MAX);
	for (scale = 0; scale <= SCALE_MAX; scale++) {
		KUNIT_EXPECT_EQ(test, (u32)BLKLAT_CELLS(scale), cells[scale]);
		KUNIT_EXPECT_EQ(test, blklat_cell(U64_MAX, scale), cells[scale] - 1);
	}
}

/* Cell by cell: an octave has 1 << scale bins, and each cell outside the grid has its own bit. */
static void blklat_bins_test_octaves(struct kunit *test)
{
	u32 scale, octave, i, cell;

	for (scale = 0; scale <= SCALE_MAX; scale++) {
		KUNIT_EXPECT_EQ(test, blklat_octave(0, scale), 34U);
		cell = 1;
		for (octave = 0; octave < 33; octave++)
			for (i = 0; i < 1U << scale; i++)
				KUNIT_ASSERT_EQ(test, blklat_octave(cell++, scale), octave);
		KUNIT_EXPECT_EQ(test, blklat_octave(cell, scale), 33U);
	}
}

static void blklat_bins_test_log2(struct kunit *test)
{
	u32 e;

	KUNIT_EXPECT_EQ(test, blklat_log2(1), 0U);
	for (e = 1; e < 40; e++) {
		u64 power = 1ULL << e;

		KUNIT_EXPECT_EQ(test, blklat_log2(power - 1), e - 1);
		KUNIT_EXPECT_EQ(test, blklat_log2(power), e);
		KUNIT_EXPECT_EQ(test, blklat_log2(power + 1), e);
		KUNIT_EXPECT_EQ(test, blklat_log2(power * 2 - 1), e);
	}
}

static struct kunit_case blklat_bins_test_cases[] = {
	KUNIT_CASE(blklat_bins_test_vectors),
	KUNIT_CASE(blklat_bins_test_each_bound),
	KUNIT_CASE(blklat_bins_test_neighbours_of_bounds),
	KUNIT_CASE(blklat_bins_test_known_values),
	KUNIT_CASE(blklat_bins_test_random_values),
	KUNIT_CASE(blklat_bins_test_number_of_cells),
	KUNIT_CASE(blklat_bins_test_octaves),
	KUNIT_CASE(blklat_bins_test_log2),
	{}
};

static struct kunit_suite blklat_bins_test_suite = {
	.name = "blklat_bins",
	.test_cases = blklat_bins_test_cases,
};
kunit_test_suite(blklat_bins_test_suite);
