/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part in which an IO begins, and the count of IOs in flight that it may depend on. A request's
 * part is in the topmost bits of its start time (abi.h), beside the mark of a pause. Start times are in
 * memory that userspace may write to, so a part or kind read from there may be anything. The counts of
 * IOs in flight are not in that memory.
 */
#ifndef KMOD_PARTS_H
#define KMOD_PARTS_H

#include <linux/atomic.h>

#include "blklat/parts.h"
#include "cgroups.h"
#include "count.h"
#include "slots.h"

/*
 * A watch's IOs in flight, if they are counted: the number of occupied slots, or of entries in the
 * table of bios.
 */
struct blklat_in_flight {
	atomic_t of_kind[BLKLAT_KINDS];	/* unused if they are of one kind */
	atomic_t all;
} ____cacheline_aligned;

/* From a watch (number + 1) to its whole. */
static inline u32 blklat_whole_of(const struct blklat_session *s, u32 watch)
{
	return watch - (watch - 1) % (1 + s->parts);
}

static inline u32 blklat_flags_part_of(u32 op, u32 flags)
{
	return blklat_flags_part(op, !!(flags & (REQ_FUA | REQ_PREFLUSH)), !!(flags & REQ_META), !!(flags & REQ_RAHEAD),
				 !!(flags & REQ_SYNC));
}

/* @op: the enum blklat_op in @flags. */
static inline u32 blklat_operation_part_of(u32 op, u32 flags)
{
	u32 is = flags & REQ_OP_MASK;

	if (is >= BLKLAT_REQ_OP_PASSTHROUGH)
		return BLKLAT_OPERATION_PASSTHROUGH_IN + is % 2;
	switch (is) {
	case (__force u32)REQ_OP_ZONE_APPEND:
		return BLKLAT_OPERATION_ZONE_APPEND;
	case (__force u32)REQ_OP_WRITE_ZEROES:
		return BLKLAT_OPERATION_WRITE_ZEROES;
	case (__force u32)REQ_OP_SECURE_ERASE:
		return BLKLAT_OPERATION_SECURE_ERASE;
	case (__force u32)REQ_OP_ZONE_OPEN:
		return BLKLAT_OPERATION_ZONE_OPEN;
	case (__force u32)REQ_OP_ZONE_CLOSE:
		return BLKLAT_OPERATION_ZONE_CLOSE;
	case (__force u32)REQ_OP_ZONE_FINISH:
		return BLKLAT_OPERATION_ZONE_FINISH;
	case (__force u32)REQ_OP_ZONE_RESET:
		return BLKLAT_OPERATION_ZONE_RESET;
	case (__force u32)REQ_OP_ZONE_RESET_ALL:
		return BLKLAT_OPERATION_ZONE_RESET_ALL;
	default:
		return op < BLKLAT_OP_OTHER ? BLKLAT_OPERATION_READ + op : BLKLAT_OPERATION_OTHER;
	}
}

/* By depth alone, all IOs in flight are counted as one kind. */
static inline bool blklat_one_kind(const struct blklat_session *s)
{
	return s->by == BLKLAT_BY_DEPTH && !s->keeps_company;
}

static inline u32 blklat_kind_of(const struct blklat_session *s, u32 op, u32 bytes)
{
	return blklat_one_kind(s) ? 1 : blklat_kind(op, bytes);
}

/* @n more IOs are in flight since @now: 1 or -1. @whole: number + 1. */
static inline void blklat_count_in_flight(const struct blklat_session *s, u32 whole, u32 kind, int n, u64 now)
{
	struct blklat_in_flight *f = &s->in_flight[whole - 1];
	size_t row;

	if (!kind || kind > BLKLAT_KINDS)
		return;
	if (!blklat_one_kind(s))
		atomic_add(n, &f->of_kind[kind - 1]);
	if (atomic_fetch_add(n, &f->all) != (n < 0))
		return;
	row = (size_t)(s->cpus - 1) * s->wholes + blklat_whole_number(s, whole);
	now += BLKLAT_PERIOD;
	blklat_hist_add(&s->accounts[row * BLKLAT_ACCOUNTS + BLKLAT_BUSY], n < 0 ? now : -now, true);
}

static inline u32 blklat_part_beside(const struct blklat_session *s, u32 whole)
{
	const struct blklat_in_flight *f = &s->in_flight[whole - 1];
	u32 kind;

	if (s->by == BLKLAT_BY_DEPTH)
		return blklat_depth_part(atomic_read(&f->all) + 1);
	for (kind = 1; kind <= BLKLAT_KINDS; kind++)
		if (atomic_read(&f->of_kind[kind - 1]))
			return kind;
	return BLKLAT_BESIDE_NOTHING;
}

/* The company of an IO that begins now, in a session that keeps it. */
static inline u32 blklat_company_now(const struct blklat_session *s, u32 whole)
{
	const struct blklat_in_flight *f = &s->in_flight[whole - 1];
	u32 beside = BLKLAT_BESIDE_NOTHING, kind;

	for (kind = BLKLAT_KINDS; kind; kind--)
		if (atomic_read(&f->of_kind[kind - 1]))
			beside = kind;
	return blklat_company(atomic_read(&f->all) + 1, beside);
}

/* The part of an IO that begins now; @bio is its first bio. Sets @ret_company in a session that keeps it. */
static inline u32 blklat_part_now(const struct blklat_session *s, u32 whole, u32 op, u32 flags, u32 bytes,
				  struct bio *bio, u32 *ret_company)
{
	if (s->by == BLKLAT_BY_CGROUP)
		return blklat_cgroup_part(s->cgroups, bio);
	if (s->by == BLKLAT_BY_PROCESS)
		return blklat_process_part(s->cgroups);
	if (s->by == BLKLAT_BY_OPERATION)
		return blklat_operation_part_of(op, flags);
	if (s->by == BLKLAT_BY_PRIORITY)
		return blklat_priority_part(bio ? bio->bi_ioprio : 0);
	if (s->by == BLKLAT_BY_SIZE)
		return blklat_size_part(bytes);
	if (s->by == BLKLAT_BY_FLAGS)
		return blklat_flags_part_of(op, flags);
	if (!s->keeps_company)
		return blklat_part_beside(s, whole);
	*ret_company = blklat_company_now(s, whole);
	return blklat_company_part(*ret_company, s->by);
}

/* A request that began at @start is not in flight any more since @now. Does nothing if @start is not a time. */
static inline void blklat_leave(const struct blklat_session *s, u32 whole, u64 start, u64 now)
{
	if (s->in_flight && start > BLKLAT_SLOT_FREE)
		blklat_count_in_flight(s, whole, blklat_slot_kind(start), -1, now);
}

/*
 * The start time of a request that begins @stage @now in a slot which holds @was. If @was is a time, the
 * end of an earlier request was missed.
 */
static inline u64 blklat_begin_in_part(const struct blklat_session *s, const struct blklat_target *t,
				       const struct request *rq, enum blklat_stage stage, u64 now, u64 was)
{
	u32 op = blklat_op_of(rq->cmd_flags), kind = s->in_flight ? blklat_kind_of(s, op, rq->__data_len) : 0;
	u32 whole = t->watch[stage], part, company = 0, number;

	blklat_leave(s, whole, was, now);
	part = blklat_part_now(s, whole, op, rq->cmd_flags, rq->__data_len, rq->bio, &company);
	if (kind)
		blklat_count_in_flight(s, whole, kind, 1, now);
	if (s->keeps_company && blklat_slot_number(t, rq, &number))
		s->company[number] = company;
	return blklat_parted_start(now, part, kind);
}

/* The company of a request that ends a stage; 0: it is not kept. */
static inline u32 blklat_kept_company(const struct blklat_session *s, const struct blklat_target *t,
				      const struct request *rq)
{
	u32 number;

	return s->keeps_company && blklat_slot_number(t, rq, &number) ? s->company[number] : 0;
}

/*
 * The part of an IO that began at @start, to be added to its whole's number; 0 if the part in @start
 * does not exist.
 */
static inline u32 blklat_part_of(const struct blklat_session *s, u64 start)
{
	u32 part = blklat_slot_part(start, s->by);

	return part <= s->parts ? part : 0;
}

/* The latency in @ns, the difference from now to a start time, without the bits that are not part of the time. */
static inline u64 blklat_latency(const struct blklat_session *s, u64 ns)
{
	u32 no_time = s->parts ? 64 - BLKLAT_SLOT_PART_SHIFT : 3;

	return (s64)(ns << no_time) >> no_time;
}

#endif
