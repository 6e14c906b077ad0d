// SPDX-License-Identifier: GPL-2.0-only
/* The bytes of a histogram: worked rows, every way to be wrong, and back again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "model/bins_codec.h"

#define BYTES(text) text, sizeof(text) - 1

struct made {
	struct hist h;
	u64 ios;
};

static void made_init(struct made *m, u32 scale)
{
	m->ios = 0;
	assert_int_equal(hist_init(&m->h, scale), 0);
}

static void worked_rows(void **state)
{
	static const struct { u32 cells[3]; u64 ios[3]; const char *bytes; u32 len; } rows[] = {
		{ { 2, 3, 5 }, { 3, 70, 1 }, BYTES("\x05\x06\x8c\x01\x03\x02") },
		{ { 0, 1, 2 }, { 1, 1, 1 }, BYTES("\x02\x02\x02") },
		{ { 0, 1, 34 }, { 63, 64, 8191 }, BYTES("\x7e\x80\x01\x41\xfe\x7f") },
		/* Above the grid, at scale 0 cell 34; as much as 9 bytes hold, then 10. */
		{ { 34 }, { (1ULL << 62) - 1 }, BYTES("\x45\xfe\xff\xff\xff\xff\xff\xff\xff\x7f") },
		{ { 34 }, { (1ULL << 63) - 1 }, BYTES("\x45\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
		{ { 0 }, { 0 }, BYTES("") },
	};
	u8 bytes[BINS_CODEC_MAX];

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m, back;
		u64 ios = 0;

		made_init(&m, 0);
		made_init(&back, 0);
		for (u32 k = 0; k < 3; k++) {
			m.h.cells[rows[i].cells[k]] += rows[i].ios[k];
			ios += rows[i].ios[k];
		}
		assert_int_equal(bins_encode(&m.h, bytes), rows[i].len);
		assert_memory_equal(bytes, rows[i].bytes, rows[i].len);
		assert_int_equal(bins_decode(rows[i].bytes, rows[i].len, &back.h, &back.ios), 0);
		assert_true(back.ios == ios);
		assert_memory_equal(back.h.cells, m.h.cells, BLKLAT_CELLS(0) * sizeof(u64));
		hist_uninit(&m.h);
		hist_uninit(&back.h);
	}
}

/* At scale 0 there are 35 cells. */
static void what_is_no_encoding(void **state)
{
	static const struct { const char *bytes; u32 len; } rows[] = {
		{ BYTES("\x00") },				/* no IO */
		{ BYTES("\x01") },				/* skips none */
		{ BYTES("\x01\x02") },
		{ BYTES("\x03") },				/* skips at the end */
		{ BYTES("\x02\x03") },
		{ BYTES("\x03\x03\x02") },			/* skips twice */
		{ BYTES("\x80") },				/* cut off */
		{ BYTES("\x02\x8c") },
		{ BYTES("\x82\x00") },				/* overlong 2 */
		{ BYTES("\x82\x80\x00") },
		{ BYTES("\x80\x00") },
		{ BYTES("\x47\x02") },				/* skips all 35 cells */
		{ BYTES("\x45\x02\x02") },			/* a 36th cell */
		{ BYTES("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02") },	/* skips 2^63 - 1 */
		{ BYTES("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02") },		/* 2^64 */
		{ BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00") },	/* an eleventh byte */
		{ BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"		/* sum beyond 2^64 */
			"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" "\x04") },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m;

		made_init(&m, 0);
		if (bins_decode(rows[i].bytes, rows[i].len, &m.h, &m.ios) != -EBADMSG)
			fail_msg("row %u was taken", i);
		hist_uninit(&m.h);
	}
}

/* Sequences of 1, 2 and some of 3 bytes: each that decodes is what its histogram encodes to. */
static void only_one_encoding(void **state)
{
	u8 bytes[3], again[BINS_CODEC_MAX];
	u32 taken = 0;

	(void)state;
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
		hist_uninit(&m.h);
	}
	assert_true(taken > 1000);
}

static u64 random_number(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void random_histograms_come_back(void **state)
{
	u8 *bytes = malloc(BINS_CODEC_MAX);
	u64 seed = 88172645463325252ULL;

	(void)state;
	for (u32 round = 0; round < 2000; round++) {
		u32 scale = round % (BLKLAT_SCALE_MAX + 1), share = random_number(&seed) % 100, len;
		struct made m, back;

		made_init(&m, scale);
		made_init(&back, scale);
		for (u32 i = 0; i < BLKLAT_CELLS(scale); i++)
			if (random_number(&seed) % 100 < share)
				m.h.cells[i] = random_number(&seed) >> (12 + random_number(&seed) % 52);
		len = bins_encode(&m.h, bytes);
		assert_true(len <= BINS_CODEC_MAX);
		assert_int_equal(bins_decode(bytes, len, &back.h, &back.ios), 0);
		assert_true(back.ios == hist_count(&m.h));
		assert_memory_equal(back.h.cells, m.h.cells, BLKLAT_CELLS(scale) * sizeof(u64));
		/* Cut anywhere it may be another's encoding, but not this one's. */
		if (len) {
			hist_clear(&back.h);
			back.ios = 0;
			assert_true(bins_decode(bytes, random_number(&seed) % len, &back.h, &back.ios) ||
				    back.ios < hist_count(&m.h));
		}
		hist_uninit(&m.h);
		hist_uninit(&back.h);
	}
	free(bytes);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(worked_rows),
		cmocka_unit_test(what_is_no_encoding),
		cmocka_unit_test(only_one_encoding),
		cmocka_unit_test(random_histograms_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
