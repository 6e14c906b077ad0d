/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sink is told about an open capture. */
#ifndef CORE_INFO_H
#define CORE_INFO_H

#include "core/capture.h"
#include "core/sink.h"

/*
 * @interval_s is the interval asked for; a recording's own takes precedence. Pointers are borrowed from
 * @c. The caller fills in the version and the percentiles.
 */
struct run_info run_info_of(const struct capture *c, double interval_s);

#endif
