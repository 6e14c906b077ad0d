/* SPDX-License-Identifier: GPL-2.0-only */
/* Where IOs are divided by what they are beside: which of an op's parts the others are held against. Pure. */
#ifndef REPORT_BESIDE_H
#define REPORT_BESIDE_H

#include "report/run.h"

/* Of fewer IOs a percentile says little. */
#define PART_IOS_LEAST 100

/* Is @whole divided so? */
bool beside_divides(const struct run *r, const struct watch_run *whole);

/* The IOs of @op that began beside one of enum blklat_kind, or nothing. */
const struct op_frame *beside_part(const struct watch_run *whole, u32 kind, u32 op);

/*
 * What the others are slower than: the IOs beside nothing, or beside reads alone where those are fewer than PART_IOS_LEAST. NULL:
 * these are too few, too, or took no time, of which nothing is a multiple.
 */
const struct op_frame *beside_base(const struct watch_run *whole, u32 op, u32 *ret_kind);

#endif
