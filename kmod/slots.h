/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The start-time table of abi.h: one slot for each tag that a watched device's requests can carry. It
 * is in mapped memory, so a value read from it may be anything. The address to read depends on the
 * session alone.
 */
#ifndef KMOD_SLOTS_H
#define KMOD_SLOTS_H

#include "kernel.h"
#include "session.h"

/* False: the request's tag is beyond the slots. */
static __always_inline bool blklat_slot_number(const struct blklat_target *t, const struct request *rq, u32 *ret)
{
	u32 tag = rq->internal_tag >= 0 ? rq->internal_tag : rq->tag;
	u32 queue = rq->mq_hctx->queue_num;

	if (tag >= t->stride || queue >= t->queues)
		return false;
	*ret = t->first_slot + queue * t->distance + tag;
	return true;
}

struct blklat_slot {
	struct blklat_slots *in;
	u32 i;
};

static __always_inline bool blklat_slot_of(const struct blklat_session *s, const struct blklat_target *t,
					   const struct request *rq, struct blklat_slot *ret)
{
	u32 number;

	if (!blklat_slot_number(t, rq, &number))
		return false;
	*ret = (struct blklat_slot){ &s->slots[number / BLKLAT_SLOTS], number % BLKLAT_SLOTS };
	return true;
}

static __always_inline u64 blklat_slot_ns(struct blklat_slot slot)
{
	return READ_ONCE(slot.in->ns[slot.i]);
}

/*
 * A tag belongs to one request at a time, so its counts need not be atomic. The order of the writes is
 * abi.h's.
 */
static __always_inline void blklat_slot_start(struct blklat_slot slot, u64 ns)
{
	WRITE_ONCE(slot.in->ns[slot.i], ns);
	smp_wmb();
	slot.in->started[slot.i]++;
}

/* At stage queue. The start is to be counted then. */
static inline void blklat_slot_queue(struct blklat_slot slot, u64 ns)
{
	WRITE_ONCE(slot.in->ns[slot.i], ns | BLKLAT_SLOT_QUEUED);
	smp_wmb();
}

/* @to: BLKLAT_SLOT_FREE; or BLKLAT_SLOT_UNUSED, if stage device may begin. */
static __always_inline void blklat_slot_unqueue(struct blklat_slot slot, u64 to)
{
	smp_wmb();
	WRITE_ONCE(slot.in->ns[slot.i], to);
	smp_wmb();
}

static __always_inline void blklat_slot_end(struct blklat_slot slot)
{
	slot.in->ended[slot.i]++;
	blklat_slot_unqueue(slot, BLKLAT_SLOT_FREE);
}

#endif
