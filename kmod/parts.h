/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part that an IO begins in, in the topmost bits of a request's start time (abi.h), beside the mark of a pause, and what is
 * in flight, which it may depend on. Times come from memory that userspace may write to, so a part or a kind there may be
 * anything; the counts of what is in flight are not in that memory.
 */
#ifndef KMOD_PARTS_H
#define KMOD_PARTS_H

#include <linux/atomic.h>

#include "blklat/parts.h"
#include "cgroups.h"
#include "count.h"

/* What is in flight of a watch, where that is counted: that slots are occupied, or entries of the table of bios. */
struct blklat_in_flight {
	atomic_t of_kind[BLKLAT_KINDS];
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

/* Where what is in flight is counted by depth, there is one kind. */
static inline u32 blklat_kind_of(const struct blklat_session *s, u32 op, u32 bytes)
{
	return s->by == BLKLAT_BY_DEPTH ? 1 : blklat_kind(op, bytes);
}

/* @n more are in flight, or less. @whole: number + 1. */
static inline void blklat_count_in_flight(const struct blklat_session *s, u32 whole, u32 kind, int n)
{
	if (kind && kind <= BLKLAT_KINDS)
		atomic_add(n, &s->in_flight[whole - 1].of_kind[kind - 1]);
}

static inline u32 blklat_part_beside(const struct blklat_session *s, u32 whole)
{
	const struct blklat_in_flight *f = &s->in_flight[whole - 1];
	u32 kind;

	if (s->by == BLKLAT_BY_DEPTH)
		return blklat_depth_part(atomic_read(&f->of_kind[0]) + 1);
	for (kind = 1; kind <= BLKLAT_KINDS; kind++)
		if (atomic_read(&f->of_kind[kind - 1]))
			return kind;
	return BLKLAT_BESIDE_NOTHING;
}

/* The part of what begins now, of which @bio is the first. */
static inline u32 blklat_part_now(const struct blklat_session *s, u32 whole, u32 op, u32 flags, u32 bytes, struct bio *bio)
{
	if (s->by == BLKLAT_BY_CGROUP)
		return blklat_cgroup_part(s->cgroups, bio);
	if (s->by == BLKLAT_BY_SIZE)
		return blklat_size_part(bytes);
	if (s->by == BLKLAT_BY_FLAGS)
		return blklat_flags_part_of(op, flags);
	return blklat_part_beside(s, whole);
}

/* A request that began at @start, of another time if there is none, is not in flight any more. */
static inline void blklat_leave(const struct blklat_session *s, u32 whole, u64 start)
{
	if (s->in_flight && start > BLKLAT_SLOT_FREE)
		blklat_count_in_flight(s, whole, blklat_slot_kind(start), -1);
}

/* The start time of a request that begins @now in a slot which holds @was: the time of one whose end was not seen, or none. */
static inline u64 blklat_begin_in_part(const struct blklat_session *s, u32 whole, const struct request *rq, u64 now, u64 was)
{
	u32 op = blklat_op_of(rq->cmd_flags), kind = s->in_flight ? blklat_kind_of(s, op, rq->__data_len) : 0, part;

	blklat_leave(s, whole, was);
	part = blklat_part_now(s, whole, op, rq->cmd_flags, rq->__data_len, rq->bio);
	if (kind)
		blklat_count_in_flight(s, whole, kind, 1);
	return blklat_parted_start(now, part, kind);
}

/* How far behind its whole's row is that of an IO which began at @start; 0: it has a part that there is not. */
static inline u32 blklat_part_of(const struct blklat_session *s, u64 start)
{
	u32 part = blklat_slot_part(start, s->by);

	return part <= s->parts ? part : 0;
}

/* A latency: @ns, the difference to such a start time, without the bits that are no time's, of a pause too. */
static inline u64 blklat_unparted(u64 ns)
{
	const u32 no_time = 64 - BLKLAT_SLOT_PART_SHIFT;

	return (s64)(ns << no_time) >> no_time;
}

#endif
