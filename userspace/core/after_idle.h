/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Figures of the IOs after a pause (op_frame.after_idle). Their sum is exact. Their extremes are only
 * known from their bins and from the extremes of all IOs of the op. Pure.
 */
#ifndef CORE_AFTER_IDLE_H
#define CORE_AFTER_IDLE_H

#include "core/frame.h"

/* Mean latency in ns; NAN when there are none. */
double after_idle_mean_ns(const struct op_frame *o);

/* As quantile_ns(), right within a bin; NAN when there are none. */
double after_idle_quantile_ns(const struct op_frame *o, double q);

#endif
