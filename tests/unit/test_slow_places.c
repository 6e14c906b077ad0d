// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where engines note bios: few places are shared, and no two pages of bios share many, whatever their distance. With the
 * engines' default of 2^18 places.
 */
#include "unit.h"

#include "blklat/slow.h"
#include "util/types.h"

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
