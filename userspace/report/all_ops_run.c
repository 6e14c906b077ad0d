// SPDX-License-Identifier: GPL-2.0-only
#include "report/run.h"

#include <string.h>

#include "report/series_run.h"

bool all_ops_run_has(const struct watch_run *w)
{
	const struct part *part = w->watch->part;

	return part && !strcmp(part->by, by_names[BLKLAT_BY_CGROUP]);
}

bool all_ops_run_lacks(const struct watch_run *w)
{
	u32 begun = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		begun += w->ops[op].ios != NULL;
	return begun > 1 && !w->all_ops.ns && all_ops_run_has(w);
}

/* Where an op has no IO its percentile is negative. */
static void copy_interval(struct percentiles_run *to, const struct watch_run *w, u32 i)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (percentiles_run_ns(&w->ops[op].percentiles, i, RUN_P50) >= 0)
			percentiles_run_copy(to, &w->ops[op].percentiles, i);
}

int all_ops_run_begin(struct watch_run *w, u32 n, u32 room, struct budget *b)
{
	int err = percentiles_run_grow(&w->all_ops, 0, room, b);

	if (err)
		return err;
	percentiles_run_clear(&w->all_ops, n);
	for (u32 i = 0; i < n; i++)
		copy_interval(&w->all_ops, w, i);
	return 0;
}

void all_ops_run_put(struct watch_run *w, u32 i, const struct frame *f, struct op_frame *scratch)
{
	if (!w->all_ops.ns)
		return;
	if (f)
		frame_merge_ops(f, scratch);
	percentiles_run_put(&w->all_ops, i, f ? scratch : NULL);
}

const struct percentiles_run *all_ops_run_of(const struct watch_run *w)
{
	for (u32 op = 0; !w->all_ops.ns && op < BLKLAT_OPS; op++)
		if (w->ops[op].ios)
			return &w->ops[op].percentiles;
	return &w->all_ops;
}
