// SPDX-License-Identifier: GPL-2.0-only
#include "model/hist.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Mantissas of the bounds of one octave, ascending; 63 bits of fraction. */
static const u64 bounds[64] = BLKLAT_BOUNDS;

static u32 n_cells(const struct hist *h)
{
	return BLKLAT_CELLS(h->scale);
}

int hist_init(struct hist *h, u32 scale)
{
	u64 *cells;

	if (scale > BLKLAT_SCALE_MAX)
		return -EINVAL;
	cells = calloc(BLKLAT_CELLS(scale), sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	*h = (struct hist){ .scale = scale, .cells = cells };
	return 0;
}

void hist_uninit(struct hist *h)
{
	free(h->cells);
	h->cells = NULL;
}

void hist_clear(struct hist *h)
{
	memset(h->cells, 0, n_cells(h) * sizeof(*h->cells));
}

u64 hist_count(const struct hist *h)
{
	u64 n = 0;

	for (u32 i = 0; i < n_cells(h); i++)
		n += h->cells[i];
	return n;
}

void hist_copy(struct hist *to, const struct hist *from)
{
	memcpy(to->cells, from->cells, BLKLAT_CELLS(to->scale) * sizeof(*to->cells));
}

void hist_add(struct hist *to, const struct hist *from)
{
	u32 shift = from->scale - to->scale;

	to->cells[0] += from->cells[0];
	for (u32 i = 1; i < n_cells(from); i++)
		to->cells[((i - 1) >> shift) + 1] += from->cells[i];
}

void hist_diff(struct hist *to, const struct hist *now, const struct hist *before)
{
	for (u32 i = 0; i < n_cells(now); i++)
		to->cells[i] = now->cells[i] - before->cells[i];
}

void hist_add_diff(struct hist *to, const struct hist *now, const struct hist *before)
{
	for (u32 i = 0; i < n_cells(now); i++)
		to->cells[i] += now->cells[i] - before->cells[i];
}

/* The inverse of blklat_cell_finest(), where a cell is a bound's number g, less the origin. */
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
	u32 first = 0, last = n_cells(h) - 1;

	while (first <= last && !h->cells[first])
		first++;
	if (first > last)
		return false;
	while (!h->cells[last])
		last--;
	*ret_first = first;
	*ret_last = last;
	return true;
}
