/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writes of a start and of an end in a slot, in abi.h's order. Nothing else is in this file, so
 * that tests/unit/test_slots_order.c can have these very functions write while a reader reads.
 */
#ifndef SLOTS_BPF_H
#define SLOTS_BPF_H

#include "blklat/abi.h"

/* Readers rely on the order of writes, see abi.h. This orders the compiler only, not the CPU. */
#ifndef order_writes
#define order_writes() asm volatile("" ::: "memory")
#endif

static __always_inline void start_slot(struct blklat_slot *slot, u64 ns)
{
	slot->ns = ns;
	order_writes();
	slot->started++;
}

/* @mark: 0 or BLKLAT_SLOT_SEEN_FREE. */
static __always_inline void end_slot(struct blklat_slot *slot, u64 mark)
{
	slot->ended++;
	order_writes();
	slot->ns = BLKLAT_SLOT_FREE | mark;
	order_writes();
}

#endif
