/* SPDX-License-Identifier: GPL-2.0-only */
/* The sink of 'blklat top': the whole terminal, drawn anew at each interval, and its keys. */
#ifndef LIVE_TOP_SINK_H
#define LIVE_TOP_SINK_H

#include "core/sink.h"
#include "core/text_draw.h"
#include "live/loop.h"

/*
 * Takes over the terminal that stdout is; @look says what it can show. The sink's close gives it back as it was. Until then what
 * is written to stderr is kept, if that is a terminal too: its last line is shown, and all of it is written by the close.
 * @run and @look outlive it, the input lives as long as the sink. Signals must be blocked by signals_block().
 * Returns 0, or -ENOTTY (the terminal can't be opened, or does not know how to move its cursor), -ENOMEM and a sentence.
 */
int top_open(const struct run_info *run, const struct look *look, struct sink **ret, struct loop_input **ret_input,
	     struct problem *p);

#endif
