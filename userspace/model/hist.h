/* SPDX-License-Identifier: GPL-2.0-only */
/* A latency histogram on the grid of bins.h, and what can be done with it. Pure. */
#ifndef MODEL_HIST_H
#define MODEL_HIST_H

#include "blklat/bins.h"
#include "util/types.h"

struct hist {
	u32 scale;		/* bins an octave = 2^scale */
	u64 *cells;		/* BLKLAT_CELLS(scale): below the grid, the bins, above the grid */
};

/* Makes an empty one. Returns 0, or -ENOMEM, -EINVAL (scale above BLKLAT_SCALE_MAX). */
int hist_init(struct hist *h, u32 scale);
void hist_uninit(struct hist *h);
void hist_clear(struct hist *h);

/* Number of IOs. */
u64 hist_count(const struct hist *h);

/* @to = @from, both of one scale. */
void hist_copy(struct hist *to, const struct hist *from);

/* @to += @from. @from may be finer than @to (an exact merge), never coarser. */
void hist_add(struct hist *to, const struct hist *from);

/* @to = @now - @before, or += it; all of one scale, @before a former state of @now. */
void hist_diff(struct hist *to, const struct hist *now, const struct hist *before);
void hist_add_diff(struct hist *to, const struct hist *now, const struct hist *before);

/*
 * Bounds of a cell in ns, lower exclusive, upper inclusive. Cell 0 is (0, first bound]; the last one
 * has no upper bound and gives UINT64_MAX.
 */
u64 hist_lower_ns(u32 scale, u32 cell);
u64 hist_upper_ns(u32 scale, u32 cell);

/*
 * Bins are buckets of exponential histograms (Prometheus native, OpenTelemetry) whose schema is the
 * scale: bucket i is (2^((i - 1) / 2^scale), 2^(i / 2^scale)] s. The grid begins at 2^HIST_FIRST_LOG2 s,
 * up to which cell 0 reaches: there it is the bucket of zeroes and has no number. The cell above the
 * grid gets the number after the last bin's, so that it is merged as the others are.
 */
#define HIST_FIRST_LOG2 (-26)
s32 hist_bucket(u32 scale, u32 cell);

/* First and last cell that hold IOs. Returns false when there is none. */
bool hist_range(const struct hist *h, u32 *ret_first, u32 *ret_last);

#endif
