/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which part of its watch an IO begins in, and what that may take: a count of what is in flight.
 *
 * What is counted there is that slots of the watch are occupied, or entries of the table of bios. So an end that is missed
 * counts until its tag, or its bio's address, is seen again, and no longer.
 */
#ifndef PARTS_BPF_H
#define PARTS_BPF_H

#include "counters.bpf.h"
#include "blklat/parts.h"

#include <bpf/bpf_core_read.h>

const volatile u32 cfg_by = BLKLAT_BY_NOTHING;	/* enum blklat_by */

/* [watch], wholes' alone are in use; where nothing is counted in flight, one. All CPUs write it. Its size is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct in_flight);
	__uint(map_flags, BPF_F_MMAPABLE);	/* so that each has a cache line */
} in_flight SEC(".maps");

/* From a watch's number + 1 to the whole's, where watches have parts. */
static __always_inline u32 whole_watch(u32 watch)
{
	return watch - (watch - 1) % (1 + cfg_parts);
}

static __always_inline u32 flags_part(u32 op, u32 flags)
{
	const u32 fua = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_FUA);
	const u32 preflush = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH);
	const u32 meta = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_META);
	const u32 ahead = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD);
	const u32 sync = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_SYNC);

	return blklat_flags_part(op, !!(flags & (fua | preflush)), !!(flags & meta), !!(flags & ahead), !!(flags & sync));
}

/* Where what is in flight is counted by depth, there is one kind. */
static __always_inline u32 kind_of(u32 op, u32 bytes)
{
	return cfg_by == BLKLAT_BY_DEPTH ? 1 : blklat_kind(op, bytes);
}

static __always_inline struct in_flight *in_flight_of(u32 whole)
{
	u32 number = whole - 1;

	return bpf_map_lookup_elem(&in_flight, &number);
}

/* @kind comes from memory, so it may be anything to the verifier. */
static __always_inline void count_in_flight(struct in_flight *f, u32 kind, u64 n)
{
	kind--;
	if (kind < BLKLAT_KINDS)
		ADD_ATOMICALLY(&f->of_kind[kind], n);
}

static __always_inline u32 part_beside(const struct in_flight *f)
{
	if (cfg_by == BLKLAT_BY_DEPTH)
		return blklat_depth_part(f->of_kind[0] + 1);
#pragma unroll
	for (u32 kind = 1; kind <= BLKLAT_KINDS; kind++)
		if (f->of_kind[kind - 1])
			return kind;
	return BLKLAT_BESIDE_NOTHING;
}

/*
 * Global functions are verified once, by themselves, and not for each way that leads to them.
 *
 * The part of what begins now, if it is not counted yet.
 */
__noinline int part_now(u32 whole)
{
	struct in_flight *f = in_flight_of(whole);

	return f ? part_beside(f) : 0;
}

/* The part of a request of @kind that begins where another one, at @was, was not seen to end; else @was is no time. */
__noinline int enter(u32 whole, u32 kind, u64 was)
{
	struct in_flight *f = in_flight_of(whole);
	u32 part;

	if (!f)
		return 0;
	if (was > BLKLAT_SLOT_VACANT)
		count_in_flight(f, blklat_slot_kind(was), -1);
	part = part_beside(f);
	count_in_flight(f, kind, 1);
	return part;
}

__noinline int change_in_flight(u32 whole, u32 kind, u64 more)
{
	struct in_flight *f = in_flight_of(whole);

	if (f)
		count_in_flight(f, kind, more);
	return 0;
}

/* The start time of a request that begins @now in a slot which holds @was. */
static __always_inline u64 begin_in_part(u32 whole, const struct request *rq, u64 now, u64 was)
{
	u32 op = op_of(rq->cmd_flags), kind;

	if (cfg_by == BLKLAT_BY_SIZE)
		return blklat_parted_start(now, blklat_size_part(rq->__data_len), 0);
	if (cfg_by == BLKLAT_BY_FLAGS)
		return blklat_parted_start(now, flags_part(op, rq->cmd_flags), 0);
	kind = kind_of(op, rq->__data_len);
	return blklat_parted_start(now, enter(whole, kind, was), kind);
}

/* One that began at @start is not in flight any more. */
static __always_inline void end_in_part(u32 whole, u64 start)
{
	if (blklat_counts_in_flight(cfg_by))
		change_in_flight(whole, blklat_slot_kind(start), -1);
}

/* The part of a bio that is to be remembered. */
static __always_inline u32 bio_part(u32 whole, u32 op, u32 flags, u32 bytes)
{
	if (cfg_by == BLKLAT_BY_SIZE)
		return blklat_size_part(bytes);
	if (cfg_by == BLKLAT_BY_FLAGS)
		return flags_part(op, flags);
	return part_now(whole);
}

/* The watches of a bio that begins, as their part has them. */
static __always_inline void choose_parts(struct bio_start *start, u32 flags)
{
	if (start->watch[0])
		start->watch[0] += bio_part(start->watch[0], start->op, flags, start->bytes);
	if (start->watch[1])
		start->watch[1] += bio_part(start->watch[1], start->op, flags, start->bytes);
}

/* @n more bios like @start are in flight: 1 or -1. */
static __always_inline void count_bio_in_flight(const struct bio_start *start, u64 n)
{
	if (start->watch[0])
		change_in_flight(whole_watch(start->watch[0]), kind_of(start->op, start->bytes), n);
	if (start->watch[1])
		change_in_flight(whole_watch(start->watch[1]), kind_of(start->op, start->bytes), n);
}

#endif
