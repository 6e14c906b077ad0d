// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bins' codec against a second decoder, written for clarity: both accept the same input and get the
 * same cells, and what was accepted encodes to the same bytes. The first byte chooses the scale.
 */
#include "play.h"
#include "recording/bins_codec.h"

#define NUMBERS_MAX 8192

static u32 nibble_of(const u8 *data, size_t i)
{
	return i % 2 ? data[i / 2] % 16 : data[i / 2] / 16;
}

/* The numbers in @data, at most 2^64 - 1 each. Returns false if the encoding is not valid. */
static bool numbers_of(const u8 *data, size_t len, unsigned __int128 *ret, u32 *ret_n)
{
	size_t nibbles = len * 2;
	u32 n = 0;

	for (size_t i = 0; i < nibbles; n++) {
		unsigned __int128 number = 0;
		size_t begin = i;
		u32 nibble;

		do {
			/* A single nibble 8 pads the last byte. */
			if (i == nibbles && i - begin == 1 && nibble_of(data, begin) == 8) {
				*ret_n = n;
				return true;
			}
			if (i == nibbles || i - begin == 22)
				return false;
			nibble = nibble_of(data, i);
			number |= (unsigned __int128)(nibble % 8) << 3 * (i++ - begin);
		} while (nibble >= 8);
		/* The shortest form: the last group is not 0, unless it is the only one. */
		if ((i - begin > 1 && !nibble) || number >> 64 || n == NUMBERS_MAX)
			return false;
		ret[n] = number;
	}
	*ret_n = n;
	return true;
}

static bool plain_decode(const u8 *data, size_t len, u32 cells, u64 *ret)
{
	static unsigned __int128 numbers[NUMBERS_MAX + 1];
	unsigned __int128 sum = 0;
	__int128 cell = 0, value = 1;
	u32 n;

	if (!numbers_of(data, len, numbers, &n))
		return false;
	for (u32 i = 0; i < n; i++) {
		__int128 number = numbers[i], ios = i && value > 0 ? value : 0;
		bool skipped = value <= 0;

		value = ios + (number % 2 ? -(number + 1) / 2 : number / 2);
		if (value <= 0) {
			/* A skip comes first or after IOs, and IOs follow it. */
			if (skipped || i + 1 == n)
				return false;
			cell += 1 - value;
			continue;
		}
		if (cell >= cells || value >> 63)
			return false;
		ret[(u32)cell++] = value;
		sum += value;
	}
	return !(sum >> 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static u64 expected[BLKLAT_CELLS_MAX];
	static u8 again[BINS_CODEC_MAX];
	u32 scale = len ? *data % (BLKLAT_SCALE_MAX + 1) : 0;
	struct hist h;
	u64 ios = 0;
	bool taken;

	if (!len || hist_init(&h, scale))
		return 0;
	memset(expected, 0, sizeof(expected));
	taken = !bins_decode(data + 1, len - 1, &h, &ios);
	check(taken == plain_decode(data + 1, len - 1, BLKLAT_CELLS(scale), expected));
	if (taken) {
		check(!memcmp(expected, h.cells, BLKLAT_CELLS(scale) * sizeof(u64)));
		check(ios == hist_count(&h));
		check(bins_encode(&h, again) == len - 1 && !memcmp(again, data + 1, len - 1));
	}
	hist_uninit(&h);
	return 0;
}
