/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a standby tells whether an earlier program did the work: see counters.bpf.h. It is a separate file so that
 * tests/unit/test_bio_cells_order.c can include it.
 */
#ifndef TURNS_BPF_H
#define TURNS_BPF_H

#include "capture.h"

#include "slots.bpf.h"

/* Accesses to memory that other programs may access at the same time. Tests define their own. */
#ifndef peek
#define peek(at) (*(at))
#define poke(at, value) (*(at) = (value))
#endif

#define TURN_FIRST 0

/* Whether there are programs of the event after the one with this turn, or are about to be. */
static __always_inline bool has_next(u32 turn, enum bpf_event event);

/*
 * Whether a program with this turn leaves a mark for those after it. The first one does not ask: the answer costs
 * more.
 */
static __always_inline bool leaves_mark(u32 turn, enum bpf_event event)
{
	return turn == TURN_FIRST || has_next(turn, event);
}

/*
 * For a standby: did an earlier program do the work, that is, leave @mark? The last standby removes the
 * mark.
 */
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
