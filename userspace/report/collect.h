/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that keeps the run instead of writing it. */
#ifndef REPORT_COLLECT_H
#define REPORT_COLLECT_H

#include "core/sink.h"
#include "report/run.h"

/*
 * Begins @into, which is all 0 and takes @max_bytes at most (0: any); it is finished after the sink's summary and is the
 * caller's to uninit, whatever happens. Returns 0 or -ENOMEM; the sink's interval also -E2BIG.
 */
int collect_open(const struct run_info *info, u64 max_bytes, struct run *into, struct sink **ret);

#endif
