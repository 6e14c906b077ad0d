/* SPDX-License-Identifier: GPL-2.0-only */
/* All ops of a frame as one op. Only counts are merged, never percentiles. Pure. */
#ifndef REPORT_MERGED_H
#define REPORT_MERGED_H

#include "core/frame.h"

/* Makes an op without IO. Returns 0 or -ENOMEM. */
int merged_init(struct op_frame *m, u32 scale);
void merged_uninit(struct op_frame *m);

/* Sets @m, whatever was in it, to the counts, extremes and bins of all ops of @f. */
void merged_set(struct op_frame *m, const struct frame *f);

/*
 * Merges all ops of a run's @total, also their rates, with the percentiles run_of_total. Returns 0 or
 * -ENOMEM; free with merged_uninit().
 */
int merged_make(const struct frame *total, struct op_frame *ret);

#endif
