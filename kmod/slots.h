/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The start-time table of abi.h: one slot for each tag that a watched device's requests can carry. It
 * is in mapped memory, so a value read from it may be anything. The address to read depends on the
 * session alone.
 */
#ifndef KMOD_SLOTS_H
#define KMOD_SLOTS_H

#include <asm/local64.h>

#include "kernel.h"
#include "session.h"

/* False: the request's tag is beyond the slots. */
static __always_inline bool blklat_slot_number(const struct blklat_target *t, const struct request *rq, enum blklat_stage stage,
					       u32 *ret)
{
	u32 tag = rq->internal_tag >= 0 ? rq->internal_tag : rq->tag;
	u32 queue = rq->mq_hctx->queue_num;

	if (tag >= t->stride || queue >= t->queues)
		return false;
	*ret = t->first_slot[stage] + queue * t->distance + tag;
	return true;
}

static __always_inline bool blklat_slot_of(const struct blklat_session *s, const struct blklat_target *t,
					   const struct request *rq, enum blklat_stage stage,
					   struct blklat_slot **ret)
{
	u32 number;

	if (!blklat_slot_number(t, rq, stage, &number))
		return false;
	*ret = BLKLAT_SLOT_IN(&s->slots[number / BLKLAT_SLOTS], number % BLKLAT_SLOTS);
	/* Otherwise the compiler keeps both parts of the address, which takes one more register. */
	OPTIMIZER_HIDE_VAR(*ret);
	return true;
}

static inline u64 blklat_slot_ns(const struct blklat_slot *slot)
{
	return READ_ONCE(slot->ns);
}

/*
 * A tag belongs to one request at a time, so its counts need not be atomic. The order of the writes is
 * abi.h's.
 */
static inline void blklat_slot_start(struct blklat_slot *slot, u64 ns)
{
	WRITE_ONCE(slot->ns, ns);
	smp_wmb();
	local64_inc((local64_t *)&slot->started);
}

static inline void blklat_slot_end(struct blklat_slot *slot)
{
	local64_inc((local64_t *)&slot->ended);
	smp_wmb();
	WRITE_ONCE(slot->ns, BLKLAT_SLOT_FREE);
	smp_wmb();
}

#endif
