// SPDX-License-Identifier: GPL-2.0-only
#include "report/run_room.h"

#define HEAT_BYTES (256ULL << 20)	/* limit for all series; enough for some twenty watches with all columns */
#define HEAT_SHARE 4			/* and at most this share of a run's memory limit */
#define HEAT_COLUMNS_LEAST 32

u32 run_heat_columns(const struct run *r)
{
	u64 share = r->max_bytes / HEAT_SHARE, bytes = share && share < HEAT_BYTES ? share : HEAT_BYTES;
	u64 columns = bytes / ((u64)(r->n_wholes ?: 1) * BLKLAT_OPS * heat_column_bytes(r->scale));

	if (columns > HEAT_COLUMNS_MAX)
		return HEAT_COLUMNS_MAX;
	return columns < HEAT_COLUMNS_LEAST ? HEAT_COLUMNS_LEAST : columns;
}

/* The memory of a run with room for this many intervals of all that it has. */
static u64 bytes_with(const struct run *r, u32 room, const struct run_has *has)
{
	const u64 interval = 2 * sizeof(double), watch = 3 * sizeof(u64) + sizeof(double);
	const u64 series = has->series * series_run_bytes() + has->all_ops * percentiles_run_bytes();

	return room * (interval + r->n_watches * watch + series) +
	       has->heats * heat_column_bytes(r->scale) * (room < r->heat_columns ? room : r->heat_columns);
}

static u64 besides(const struct run *r)
{
	return r->phases.bytes + slow_run_bytes(&r->slow);
}

u64 run_bytes(const struct run *r)
{
	return bytes_with(r, r->room, &r->has) + besides(r);
}

bool run_fits(struct run *r, u32 room, const struct run_has *has)
{
	r->full = r->max_bytes && bytes_with(r, room, has) + besides(r) > r->max_bytes;
	return !r->full;
}
