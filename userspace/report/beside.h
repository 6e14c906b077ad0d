/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For IOs divided by what they run beside (--by beside): which of an op's parts the others are compared
 * with. Pure.
 */
#ifndef REPORT_BESIDE_H
#define REPORT_BESIDE_H

#include "report/run.h"

/* A percentile of fewer IOs says little. */
#define PART_IOS_LEAST 100

/* Whether @whole is divided in this way. */
bool beside_divides(const struct run *r, const struct watch_run *whole);

/* The IOs of @op that began beside @kind, of enum blklat_kind, or beside nothing. */
const struct op_frame *beside_part(const struct watch_run *whole, u32 kind, u32 op);

/*
 * The base that the others are compared with: the IOs beside nothing or, if they are fewer than
 * PART_IOS_LEAST, those beside reads alone. NULL: these are too few as well, or took no time, so no
 * ratio can be computed.
 */
const struct op_frame *beside_base(const struct watch_run *whole, u32 op, u32 *ret_kind);

#endif
