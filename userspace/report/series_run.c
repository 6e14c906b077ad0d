// SPDX-License-Identifier: GPL-2.0-only
#include "report/series_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* All arrays of a series with one u64 for each interval. */
#define SERIES_ARRAYS(s) { &(s)->ios, &(s)->bytes, &(s)->errors, &(s)->sum_ns, &(s)->min_ns, &(s)->max_ns }
#define N_SERIES_ARRAYS 6

void series_run_uninit(struct series_run *s)
{
	u64 **const arrays[] = SERIES_ARRAYS(s);

	for (u32 i = 0; i < N_SERIES_ARRAYS; i++)
		free(*arrays[i]);
	percentiles_run_uninit(&s->percentiles);
	heat_uninit(&s->heat);
}

int series_run_grow(struct series_run *s, u32 room)
{
	u64 **const arrays[] = SERIES_ARRAYS(s);
	int err = 0;

	for (u32 i = 0; !err && i < N_SERIES_ARRAYS; i++)
		err = array_grow(arrays[i], sizeof(u64), room);
	return err ?: percentiles_run_grow(&s->percentiles, room);
}

int series_run_begin(struct series_run *s, u32 n, u32 room)
{
	u64 **const arrays[] = SERIES_ARRAYS(s);
	struct series_run made = *s;

	if (series_run_grow(&made, room)) {
		series_run_uninit(&made);	/* its heat has no cells yet */
		return -ENOMEM;
	}
	*s = made;
	for (u32 i = 0; i < N_SERIES_ARRAYS; i++)
		memset(*arrays[i], 0, n * sizeof(u64));
	percentiles_run_clear(&s->percentiles, n);
	return 0;
}

void series_run_put(struct series_run *s, u32 i, const struct op_frame *o, bool has_heat)
{
	bool any = o && o->ios;

	s->ios[i] = any ? o->ios : 0;
	s->bytes[i] = o ? o->bytes : 0;
	s->errors[i] = o ? o->errors : 0;
	s->sum_ns[i] = o ? o->sum_ns : 0;
	s->min_ns[i] = any ? o->min_ns : 0;
	s->max_ns[i] = any ? o->max_ns : 0;
	percentiles_run_put(&s->percentiles, i, o);
	if (any && has_heat)
		heat_add(&s->heat, i, &o->hist);
}

u64 series_run_bytes(void)
{
	return N_SERIES_ARRAYS * sizeof(u64) + percentiles_run_bytes();
}

double series_percentile(const struct series_run *s, u32 i, u32 p)
{
	return percentiles_run_ns(&s->percentiles, i, p);
}
