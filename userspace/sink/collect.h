/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that keeps the run instead of writing it. */
#ifndef SINK_COLLECT_H
#define SINK_COLLECT_H

#include "model/run.h"
#include "sink/sink.h"

/*
 * Begins @into, which is all 0; it is finished after the sink's summary and is the caller's to uninit,
 * whatever happens. Returns 0 or -ENOMEM.
 */
int collect_open(const struct run_info *info, struct run *into, struct sink **ret);

#endif
