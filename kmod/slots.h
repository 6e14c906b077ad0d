/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The start-time table of abi.h: one slot for each tag that a watched device's requests can carry.
 * Its memory is mapped, so what is read from it may be anything; where to read is known from the
 * session alone.
 */
#ifndef KMOD_SLOTS_H
#define KMOD_SLOTS_H

#include "kernel.h"
#include "session.h"

/* A request's slot: sixteen of them, and which it is. */
struct blklat_slot {
	struct blklat_slots *in;	/* NULL: the tag is beyond the slots */
	u32 i;
};

static inline struct blklat_slot blklat_slot_of(const struct blklat_session *s, const struct blklat_target *t,
						const struct request *rq, enum blklat_stage stage)
{
	u32 tag = rq->internal_tag >= 0 ? t->tags + rq->internal_tag : (u32)rq->tag;
	u32 queue = rq->mq_hctx->queue_num, number;

	if (tag >= t->stride || queue >= t->queues)
		return (struct blklat_slot){ NULL };
	number = t->first_slot[stage] + queue * t->stride + tag;
	return (struct blklat_slot){ &s->slots[number / BLKLAT_SLOTS], number % BLKLAT_SLOTS };
}

static inline u64 blklat_slot_ns(struct blklat_slot slot)
{
	return READ_ONCE(slot.in->ns[slot.i]);
}

/* A tag is one request's at a time, so its counts need no atomic. The order is abi.h's. */
static inline void blklat_slot_start(struct blklat_slot slot, u64 ns)
{
	WRITE_ONCE(slot.in->ns[slot.i], ns);
	smp_wmb();
	WRITE_ONCE(slot.in->started[slot.i], slot.in->started[slot.i] + 1);
}

static inline void blklat_slot_end(struct blklat_slot slot)
{
	WRITE_ONCE(slot.in->ended[slot.i], slot.in->ended[slot.i] + 1);
	smp_wmb();
	WRITE_ONCE(slot.in->ns[slot.i], BLKLAT_SLOT_FREE);
	smp_wmb();
}

#endif
