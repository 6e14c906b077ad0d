// SPDX-License-Identifier: GPL-2.0-only
/* The bytes of a histogram: worked rows, every way to be invalid, and the round trip. */
#include "unit.h"

#include <errno.h>

#include "recording/bins_codec.h"

#define BYTES(text) text, sizeof(text) - 1

struct made {
	struct hist h;
	u64 ios;
	u64 cells[BLKLAT_CELLS(BLKLAT_SCALE_MAX)];
};

static void made_init(struct made *m, u32 scale)
{
	m->ios = 0;
	m->h = hist_on(m->cells, scale);
	memset(m->cells, 0, sizeof(m->cells));
}

TEST(worked_rows)
{
	static const struct { u32 cells[3]; u64 ios[3]; const char *bytes; u32 len; } rows[] = {
		{ { 2, 3, 5 }, { 3, 70, 1 }, BYTES("\x16\xe8\x2b\x92\x28") },
		/* Differences 1, 0, 0. */
		{ { 0, 1, 2 }, { 1, 1, 1 }, BYTES("\x20\x08") },
		/* The limits of one nibble, 3 and -4, and the first values beyond it, 4 and -5. */
		{ { 0, 1, 2 }, { 4, 7, 3 }, BYTES("\x81\x67") },
		{ { 0, 1, 2 }, { 3, 8, 3 }, BYTES("\x6a\x19\x18") },
		/* Two nibbles hold -32, which skips 32 cells after an IO, but not the value 32. */
		{ { 0, 1, 34 }, { 6, 1, 32 }, BYTES("\xc1\x91\xf7\x88\x18") },
		/* Above the grid, at scale 0 cell 34: the most IOs that a cell may hold, and the longest skip. */
		{ { 34 }, { (1ULL << 62) - 1 }, BYTES("\x98\x1e\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf7") },
		{ { 0, 34 }, { (1ULL << 62) - 1, 1 },
		  BYTES("\xef\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7d\xf8\x88\x88\x88\x88\x88\x88\x88\x88\x88\x12") },
		{ { 0 }, { 0 }, BYTES("") },
	};
	u8 bytes[BINS_CODEC_MAX];

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m, back;
		u64 ios = 0;

		made_init(&m, 0);
		made_init(&back, 0);
		for (u32 k = 0; k < 3; k++) {
			hist_put(&m.h, rows[i].cells[k], rows[i].ios[k]);
			ios += rows[i].ios[k];
		}
		assert_int_equal(bins_encode(&m.h, bytes), rows[i].len);
		assert_memory_equal(bytes, rows[i].bytes, rows[i].len);
		assert_int_equal(bins_decode(rows[i].bytes, rows[i].len, &back.h, &back.ios), 0);
		assert_true(back.ios == ios);
		assert_memory_equal(back.h.cells, m.h.cells, BLKLAT_CELLS(0) * sizeof(u64));
	}
}

/* The largest possible difference: 2^63 - 1 IOs. */
#define MOST "\xef\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf1"

/* The largest count that is accepted, twice, and one more: 2^64 - 1. */
TEST(the_most)
{
	static const char bytes[] = MOST "\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x18";
	struct made m;

	made_init(&m, 0);
	assert_int_equal(bins_decode(bytes, sizeof(bytes) - 1, &m.h, &m.ios), 0);
	assert_true(m.h.cells[0] == INT64_MAX && m.h.cells[1] == INT64_MAX && m.h.cells[2] == 1);
	assert_true(m.ios == UINT64_MAX);
}

/* Longer than those of only_one_encoding(). At scale 0 there are 35 cells. */
TEST(what_is_no_encoding)
{
	static const struct { const char *bytes; u32 len; } rows[] = {
		{ BYTES("\x98\x12\x08") },			/* a 36th cell */
		{ BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xf1\x28") },	/* skips 2^63 + 1 */
		{ BYTES("\xa8\x88\x88\x88\x88\x88\x88\x88\x88\x88\x82") },	/* 2^64 + 2 */
		{ BYTES("\xa8\x88\x88\x88\x88\x88\x88\x88\x88\x88\x88\x28") },	/* a 23rd nibble */
		{ BYTES(MOST "\x28") },				/* 2^63 IOs */
		{ BYTES(MOST MOST "\x28") },			/* 2^64 - 2: -2 of 64 bits */
		{ BYTES(MOST "\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x18") },	/* 2^64 in all */
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m;

		made_init(&m, 0);
		if (bins_decode(rows[i].bytes, rows[i].len, &m.h, &m.ios) != -EBADMSG)
			fail_msg("row %u was taken", i);
	}
}

/*
 * All sequences of 1 and 2 bytes, and some of 3: each one that decodes is what its histogram encodes to. So skips at the end,
 * two skips in a row, overlong numbers and what is cut off do not decode.
 */
TEST(only_one_encoding)
{
	u8 bytes[3], again[BINS_CODEC_MAX];
	u32 taken = 0;

	for (u32 n = 0; n < 1 << 24; n += n < 1 << 16 ? 1 : 251) {
		u32 len = n < 1 << 8 ? 1 : n < 1 << 16 ? 2 : 3;
		struct made m;

		for (u32 i = 0; i < len; i++)
			bytes[i] = n >> 8 * i;
		made_init(&m, 0);
		if (!bins_decode(bytes, len, &m.h, &m.ios)) {
			assert_int_equal(bins_encode(&m.h, again), len);
			assert_memory_equal(again, bytes, len);
			assert_true(hist_count(&m.h) == m.ios);
			taken++;
		}
	}
	assert_true(taken > 1000);
}
