/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The writes of a start and of an end in a slot, in abi.h's order. Nothing else is in this file, so
 * that tests/unit/test_slots_order.c can have these very functions write while a reader reads.
 */
#ifndef SLOTS_BPF_H
#define SLOTS_BPF_H

#include "blklat/abi.h"

/*
 * Readers rely on the order of writes, see abi.h. x86 keeps the compiler's. Elsewhere it takes a full barrier, which
 * BPF has only as an atomic operation that returns something (Documentation/atomic_t.txt), wherever that writes to.
 * What a kernel without these does not take is left out when programs are loaded (fit_program() in bpf_programs.c).
 */
#define keep_compiler_order() asm volatile("" ::: "memory")
#ifndef order_writes
#ifdef __TARGET_ARCH_x86
#define order_writes() keep_compiler_order()
#else
#define order_writes()						\
	do {							\
		u64 nowhere = 0;				\
								\
		keep_compiler_order();				\
		(void)__sync_lock_test_and_set(&nowhere, 0);	\
		keep_compiler_order();				\
	} while (0)
#endif
#endif

struct slot {
	u64 *ns;
	u32 *started;		/* and its ends, as many slots farther on */
};

static __always_inline void start_slot(struct slot slot, u64 ns)
{
	*slot.ns = ns;
	order_writes();
	++*slot.started;
}

/* At stage queue. The start is to be counted then (count_started()). */
static __always_inline void queue_in_slot(struct slot slot, u64 ns)
{
	*slot.ns = ns | BLKLAT_SLOT_QUEUED;
	order_writes();
}

static __always_inline void count_end(struct slot slot)
{
	++slot.started[BLKLAT_SLOTS];
}

/*
 * The end is counted, at stage device, and so is all about it but its bin. @to: BLKLAT_SLOT_FREE, perhaps with
 * BLKLAT_SLOT_SEEN_FREE; or BLKLAT_SLOT_UNUSED, if stage queue ends and stage device may begin.
 */
static __always_inline void free_slot(u64 *ns, u64 to)
{
	order_writes();
	*ns = to;
	order_writes();
}

#endif
