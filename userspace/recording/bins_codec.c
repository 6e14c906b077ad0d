// SPDX-License-Identifier: GPL-2.0-only
#include "recording/bins_codec.h"

#include <errno.h>

#define GROUP_BITS 3
#define MORE (1 << GROUP_BITS)	/* another nibble follows */
#define FILL MORE		/* unused half of the last byte: reads as a number that is cut off */

static u32 put_nibble(u8 *bytes, u32 at, u8 nibble)
{
	if (at % 2)
		bytes[at / 2] |= nibble;
	else
		bytes[at / 2] = nibble << 4;
	return at + 1;
}

/* Writes a difference from nibble @at on. Returns where the next one goes. */
static u32 put(u8 *bytes, u32 at, s64 d)
{
	u64 n = d < 0 ? 2 * ~(u64)d + 1 : 2 * (u64)d;

	for (; n >= MORE; n >>= GROUP_BITS)
		at = put_nibble(bytes, at, (n & (MORE - 1)) | MORE);
	return put_nibble(bytes, at, n);
}

u32 bins_encode(const struct hist *h, u8 *bytes)
{
	u32 at = 0, empty = 0;
	s64 before = 0;

	for (u32 cell = 0; cell < BLKLAT_CELLS(h->scale); cell++) {
		s64 n = h->cells[cell];

		if (!n) {
			empty++;
			continue;
		}
		if (empty) {
			at = put(bytes, at, 1 - (s64)empty - before);
			before = 0;
		}
		at = put(bytes, at, n - before);
		before = n;
		empty = 0;
	}
	if (at % 2)
		at = put_nibble(bytes, at, FILL);
	return at / 2;
}

/* The nibbles still to be read. */
struct nibbles {
	const u8 *bytes;
	size_t at, end;
};

static u8 peek(const struct nibbles *from)
{
	u8 byte = from->bytes[from->at / 2];

	return from->at % 2 ? byte & 15 : byte >> 4;
}

/* No nibble is left, except perhaps the one that fills the last byte. */
static bool at_end(const struct nibbles *from)
{
	return from->at == from->end || (from->at % 2 && from->at + 1 == from->end && peek(from) == FILL);
}

/* Reads a difference. Returns false if it is cut off, overlong or beyond 64 bits. */
static bool get(struct nibbles *from, s64 *ret)
{
	u64 n = 0;

	for (u32 shift = 0; from->at < from->end && shift < 64; shift += GROUP_BITS) {
		u8 nibble = peek(from);
		u64 group = nibble & (MORE - 1);

		from->at++;
		/* The 22nd nibble has one bit left. */
		if (shift == 63 && group > 1)
			return false;
		n |= group << shift;
		if (nibble & MORE)
			continue;
		*ret = n % 2 ? ~(n / 2) : n / 2;
		return nibble || !shift;
	}
	return false;
}

int bins_decode(const void *bytes, size_t len, struct hist *h, u64 *ios)
{
	struct nibbles from = { .bytes = bytes, .end = 2 * len };
	u64 cells = BLKLAT_CELLS(h->scale), cell = 0;
	bool skipped = false;
	s64 n = 0;

	while (!at_end(&from)) {
		s64 d;

		if (!get(&from, &d) || __builtin_add_overflow(n, d, &n))
			return -EBADMSG;
		if (n > 0) {
			if (cell == cells || __builtin_add_overflow(*ios, (u64)n, ios))
				return -EBADMSG;
			hist_put(h, cell++, n);
			skipped = false;
			continue;
		}
		/* At least one cell must be left for the IOs that follow. */
		if (skipped || -(u64)n + 1 >= cells - cell)
			return -EBADMSG;
		cell += -(u64)n + 1;
		skipped = true;
		n = 0;
	}
	return skipped ? -EBADMSG : 0;
}
