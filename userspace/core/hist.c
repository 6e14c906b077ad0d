// SPDX-License-Identifier: GPL-2.0-only
#include "core/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Mantissas of the bounds of one octave, ascending; 63 bits of fraction. */
static const u64 bounds[64] = BLKLAT_BOUNDS;

int hist_init(struct hist *h, u32 scale)
{
	u64 *cells;

	if (scale > BLKLAT_SCALE_MAX)
		return -EINVAL;
	cells = calloc(BLKLAT_CELLS(scale), sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	*h = hist_on(cells, scale);
	return 0;
}

void hist_uninit(struct hist *h)
{
	free(h->cells);
	h->cells = NULL;
	h->octaves = 0;
}

static u32 take_octave(u64 *octaves)
{
	u32 octave = __builtin_ctzll(*octaves);

	*octaves &= *octaves - 1;
	return octave;
}

static void clear_octaves(struct hist *h, u64 octaves)
{
	while (octaves) {
		u32 first, n = hist_octave(h->scale, take_octave(&octaves), &first);

		memset(h->cells + first, 0, n * sizeof(*h->cells));
	}
}

void hist_clear(struct hist *h)
{
	clear_octaves(h, h->octaves);
	h->octaves = 0;
}

u64 hist_count(const struct hist *h)
{
	u64 octaves = h->octaves, ios = 0;

	while (octaves) {
		u32 first, n = hist_octave(h->scale, take_octave(&octaves), &first);

		for (u32 i = first; i < first + n; i++)
			ios += h->cells[i];
	}
	return ios;
}

void hist_copy(struct hist *to, const struct hist *from)
{
	u64 octaves = from->octaves;

	clear_octaves(to, to->octaves & ~octaves);
	to->octaves = octaves;
	while (octaves) {
		u32 first, n = hist_octave(to->scale, take_octave(&octaves), &first);

		memcpy(to->cells + first, from->cells + first, n * sizeof(*to->cells));
	}
}

void hist_add(struct hist *to, const struct hist *from)
{
	u32 shift = from->scale - to->scale;
	u64 octaves = from->octaves;

	to->octaves |= octaves;
	while (octaves) {
		u32 first, n = hist_octave(from->scale, take_octave(&octaves), &first);

		for (u32 i = first; i < first + n; i++)
			to->cells[i ? ((i - 1) >> shift) + 1 : 0] += from->cells[i];
	}
}

void hist_diff(struct hist *to, const struct hist *now, const struct hist *before)
{
	u64 octaves = now->octaves | before->octaves, used = 0;

	clear_octaves(to, to->octaves & ~octaves);
	while (octaves) {
		u32 octave = take_octave(&octaves), first, n = hist_octave(now->scale, octave, &first);
		u64 any = 0;

		for (u32 i = first; i < first + n; i++) {
			to->cells[i] = now->cells[i] - before->cells[i];
			any |= to->cells[i];
		}
		used |= any ? 1ULL << octave : 0;
	}
	to->octaves = used;
}

void hist_add_diff(struct hist *to, const struct hist *now, const struct hist *before)
{
	u64 octaves = now->octaves | before->octaves;

	to->octaves |= octaves;
	while (octaves) {
		u32 first, n = hist_octave(now->scale, take_octave(&octaves), &first);

		for (u32 i = first; i < first + n; i++)
			to->cells[i] += now->cells[i] - before->cells[i];
	}
}

/* The inverse of blklat_cell_finest(): a cell is the number g of its upper bound, less the origin. */
static u64 bound_ns(u32 scale, u32 cell)
{
	u32 g = BLKLAT_ORIGIN + (cell << (BLKLAT_SCALE_MAX - scale));

	return bounds[g % 64] >> (63 - g / 64);
}

u64 hist_lower_ns(u32 scale, u32 cell)
{
	return cell ? bound_ns(scale, cell - 1) : 0;
}

u64 hist_upper_ns(u32 scale, u32 cell)
{
	u32 bins = BLKLAT_BINS(scale);

	return cell > bins ? UINT64_MAX : bound_ns(scale, cell);
}

s32 hist_bucket(u32 scale, u32 cell)
{
	return HIST_FIRST_LOG2 * (1 << scale) + (s32)cell;
}

bool hist_range(const struct hist *h, u32 *ret_first, u32 *ret_last)
{
	u32 first = hist_next(h, 0);

	if (first == (u32)BLKLAT_CELLS(h->scale))
		return false;
	*ret_first = first;
	hist_for_each(cell, h)
		*ret_last = cell;
	return true;
}

u32 hist_next(const struct hist *h, u32 cell)
{
	u32 end = BLKLAT_CELLS(h->scale);

	while (cell < end) {
		u32 octave = blklat_octave(cell, h->scale), first, n = hist_octave(h->scale, octave, &first);

		if (!(h->octaves >> octave & 1))
			cell = first + n;
		else if (!h->cells[cell])
			cell++;
		else
			break;
	}
	return cell;
}
