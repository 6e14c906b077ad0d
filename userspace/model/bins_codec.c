// SPDX-License-Identifier: GPL-2.0-only
#include "model/bins_codec.h"

#include <errno.h>

#define MORE 0x80	/* another byte follows */

static u8 *put(u8 *at, u64 n)
{
	for (; n >= MORE; n >>= 7)
		*at++ = (n & (MORE - 1)) | MORE;
	*at++ = n;
	return at;
}

u32 bins_encode(const struct hist *h, u8 *bytes)
{
	u8 *at = bytes;
	u32 empty = 0;

	for (u32 cell = 0; cell < BLKLAT_CELLS(h->scale); cell++) {
		if (!h->cells[cell]) {
			empty++;
			continue;
		}
		if (empty)
			at = put(at, 2 * (u64)empty + 1);
		at = put(at, 2 * h->cells[cell]);
		empty = 0;
	}
	return at - bytes;
}

/* Takes a number off [@at, @end). Returns what follows, or NULL when it is cut off, overlong or above 2^64. */
static const u8 *get(const u8 *at, const u8 *end, u64 *ret)
{
	u64 n = 0;

	for (u32 shift = 0; at < end && shift < 64; shift += 7, at++) {
		u64 group = *at & (MORE - 1);

		/* The tenth byte has one bit left. */
		if (shift == 63 && group > 1)
			return NULL;
		n |= group << shift;
		if (*at & MORE)
			continue;
		*ret = n;
		return *at || !shift ? at + 1 : NULL;
	}
	return NULL;
}

int bins_decode(const void *bytes, size_t len, struct hist *h, u64 *ios)
{
	/* An empty blob is NULL to SQLite. */
	const u8 *at = bytes, *end = len ? at + len : at;
	u64 cells = BLKLAT_CELLS(h->scale), cell = 0;
	bool skipped = false;

	while (at < end) {
		u64 number, n;

		at = get(at, end, &number);
		if (!at || number < 2)
			return -EBADMSG;
		n = number / 2;
		if (number % 2) {
			if (skipped || n >= cells - cell)
				return -EBADMSG;
			cell += n;
			skipped = true;
			continue;
		}
		if (cell == cells || __builtin_add_overflow(*ios, n, ios))
			return -EBADMSG;
		h->cells[cell++] += n;
		skipped = false;
	}
	return skipped ? -EBADMSG : 0;
}
