/* SPDX-License-Identifier: GPL-2.0-only */
/* The sink of 'blklat top': draws the whole terminal at each interval, and reads its keys. */
#ifndef LIVE_TOP_SINK_H
#define LIVE_TOP_SINK_H

#include "core/sink.h"
#include "core/text_draw.h"
#include "live/loop.h"

/*
 * Takes over the terminal that stdout is; @look says what it can show. Closing the sink restores it. If
 * stderr is a terminal too, what is written to it meanwhile is kept: its last line is shown, and
 * closing the sink writes all of it. @run and @look must outlive the sink; the input lives as long as
 * the sink. Signals must be blocked by signals_block(). Returns 0, or a sentence and -ENOTTY (the
 * terminal can't be opened, or can't move its cursor) or -ENOMEM.
 */
int top_open(const struct run_info *run, const struct look *look, struct sink **ret, struct loop_input **ret_input,
	     struct problem *p);

#endif
