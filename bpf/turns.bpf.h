/* SPDX-License-Identifier: GPL-2.0-only */
/* How a standby tells whether a program before it did the work: see counters.bpf.h. Apart, for tests/unit/test_bio_cells_order.c. */
#ifndef TURNS_BPF_H
#define TURNS_BPF_H

#include "capture.h"

#include "slots.bpf.h"

/* What other programs may touch at the same time. Tests have others. */
#ifndef peek
#define peek(at) (*(at))
#define poke(at, value) (*(at) = (value))
#endif

#define TURN_FIRST 0

/* Whether one of this turn is to leave a mark for those behind it. */
static __always_inline bool leaves_mark(u32 turn, enum bpf_event event);

/* For a standby: was one before it there, that is, did it leave @mark? The last one takes it away. */
static __always_inline bool is_done(u64 *ns, u64 mark, u32 turn, enum bpf_event event)
{
	u64 was = peek(ns);

	if (turn == TURN_FIRST || !(was & mark))
		return false;
	if (!leaves_mark(turn, event))
		poke(ns, was & ~mark);
	return true;
}

#endif
