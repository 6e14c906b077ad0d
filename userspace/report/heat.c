// SPDX-License-Identifier: GPL-2.0-only
#include "report/series_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 16

static u32 scale_of(u32 scale)
{
	return scale < HEAT_SCALE_MAX ? scale : HEAT_SCALE_MAX;
}

void heat_init(struct heat *h, u32 scale, u32 columns_max)
{
	*h = (struct heat){ .scale = scale_of(scale), .columns_max = columns_max, .per_column = 1 };
}

u64 heat_column_bytes(u32 scale)
{
	return BLKLAT_CELLS(scale_of(scale)) * sizeof(u64);
}

void heat_uninit(struct heat *h)
{
	free(h->cells);
	h->cells = NULL;
	h->n = h->room = 0;
}

struct hist heat_column(const struct heat *h, u32 column)
{
	return (struct hist){
		.scale = h->scale,
		.cells = h->cells + (size_t)column * BLKLAT_CELLS(h->scale),
		.octaves = HIST_ALL_OCTAVES,
	};
}

/* Merges columns in pairs. The last one of an odd number remains half full, for the intervals that follow. */
static void halve(struct heat *h)
{
	u32 n = (h->n + 1) / 2;

	for (u32 i = 0; i < n; i++) {
		struct hist to = heat_column(h, i), first = heat_column(h, 2 * i);

		if (i)
			hist_copy(&to, &first);
		if (2 * i + 1 < h->n) {
			struct hist second = heat_column(h, 2 * i + 1);

			hist_add(&to, &second);
		}
	}
	h->n = n;
	h->per_column *= 2;
}

static int make_room(struct heat *h, u32 columns)
{
	u32 room = h->room ?: ROOM_FIRST;
	u64 *cells;

	while (room < columns)
		room *= 2;
	if (room > h->columns_max)
		room = h->columns_max;
	if (room <= h->room)
		return 0;
	cells = reallocarray(h->cells, room, BLKLAT_CELLS(h->scale) * sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	h->cells = cells;
	h->room = room;
	return 0;
}

int heat_reach(struct heat *h, u32 interval)
{
	u32 columns = interval / h->per_column + 1;
	int err = make_room(h, columns < h->columns_max ? columns : h->columns_max);

	if (err)
		return err;
	while (interval / h->per_column >= h->columns_max)
		halve(h);
	for (; h->n <= interval / h->per_column; h->n++) {
		struct hist added = heat_column(h, h->n);

		hist_clear(&added);
	}
	return 0;
}

void heat_add(struct heat *h, u32 interval, const struct hist *ios)
{
	struct hist column = heat_column(h, interval / h->per_column);

	hist_add(&column, ios);
}
