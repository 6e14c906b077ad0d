// SPDX-License-Identifier: GPL-2.0-only
#include "pauses.h"

#include "blklat/bins.h"
#include "hist.h"

/* One row for all CPUs, as these IOs are rare. */
void blklat_count_after_idle(const struct blklat_session *s, u32 watch, u32 op, u64 ns)
{
	struct blklat_idle_series *series = s->idle + ((watch - 1) * BLKLAT_OPS + op) * (u64)s->idle_bytes;
	u32 octave, cell = blklat_place(ns, BLKLAT_SCALE_MAX - BLKLAT_IDLE_SCALE(s->scale), &octave);

	blklat_hist_add(&series->sum_ns, ns, true);
	blklat_hist_add(&series->bins[cell], 1, true);
}
