// SPDX-License-Identifier: GPL-2.0-only
#include "service/prometheus_families.h"

#include "util/cleanup.h"

/* From 2^-20 s = 954 ns to 2^5 s = 32 s, which is longer than drivers wait before they give up. */
#define CLASSIC_FIRST_LOG2 (-20)
#define CLASSIC_LAST_LOG2 5

int hist_coarser(struct hist *ret, const struct hist *h, u32 scale)
{
	int err = hist_init(ret, scale < h->scale ? scale : h->scale);

	if (!err)
		hist_add(ret, h);
	return err;
}

int classic_make(struct classic *c, const struct hist *h, u32 schema)
{
	struct hist merged CLEANUP(hist_uninit) = { 0 };
	int err = hist_coarser(&merged, h, schema);
	u32 first, last;
	u64 ios = 0;

	if (err)
		return err;
	first = (CLASSIC_FIRST_LOG2 - HIST_FIRST_LOG2) << merged.scale;
	last = (CLASSIC_LAST_LOG2 - HIST_FIRST_LOG2) << merged.scale;
	c->n = 0;
	for (u32 cell = 0; cell < BLKLAT_CELLS(merged.scale); cell++) {
		ios += merged.cells[cell];
		if (cell >= first && cell <= last)
			c->b[c->n++] = (struct classic_bucket){ hist_upper_ns(merged.scale, cell), ios };
	}
	c->ios = ios;
	return 0;
}
