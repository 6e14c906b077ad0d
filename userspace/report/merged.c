// SPDX-License-Identifier: GPL-2.0-only
#include "report/merged.h"

#include "report/percentiles_run.h"

int merged_init(struct op_frame *m, u32 scale)
{
	struct op_frame made = { 0 };
	int err = hist_init(&made.hist, scale);

	if (err)
		return err;
	hist_track(&made.hist);
	*m = made;
	return 0;
}

void merged_uninit(struct op_frame *m)
{
	hist_uninit(&m->hist);
}

void merged_set(struct op_frame *m, const struct frame *f)
{
	hist_clear(&m->hist);
	*m = (struct op_frame){ .hist = m->hist };
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		op_frame_merge(m, &f->ops[op]);
}

int merged_make(const struct frame *total, struct op_frame *ret)
{
	struct op_frame m;
	int err = merged_init(&m, total->ops[0].hist.scale);

	if (err)
		return err;
	merged_set(&m, total);
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		m.iops += total->ops[op].iops;
		m.bytes_per_s += total->ops[op].bytes_per_s;
	}
	m.mean_ns = m.ios ? (double)m.sum_ns / m.ios : 0;
	for (u32 i = 0; i < run_of_total.n; i++)
		m.percentile_ns[i] = quantile_ns(&m.hist, run_of_total.p[i].q, m.min_ns, m.max_ns);
	*ret = m;
	return 0;
}
