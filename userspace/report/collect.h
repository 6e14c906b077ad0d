/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that keeps the run instead of writing it. */
#ifndef REPORT_COLLECT_H
#define REPORT_COLLECT_H

#include "core/sink.h"
#include "report/run.h"

/*
 * Begins @into, which has to be all 0 and will take the intervals within @asked, and at most @max_bytes (0: no limit). The sink's summary finishes it, and
 * the caller has to uninit it, whatever happens. Returns 0 or -ENOMEM; the sink's interval may also return -E2BIG.
 */
int collect_open(const struct run_info *info, const struct asked_window *asked, u64 max_bytes, struct run *into,
		 struct sink **ret);

#endif
