/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sink is told of an open capture. */
#ifndef CORE_INFO_H
#define CORE_INFO_H

#include "core/capture.h"
#include "core/sink.h"

/*
 * @interval_s is as asked for; a recording knows better. What it borrows is @c's, the version and the
 * percentiles are the caller's to fill in.
 */
struct run_info run_info_of(const struct capture *c, double interval_s);

#endif
