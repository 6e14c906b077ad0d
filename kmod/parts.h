/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part that an IO begins in, in the topmost bits of a request's start time (abi.h), beside the mark of a pause. Times come
 * from memory that userspace may write to, so a part there may be anything.
 */
#ifndef KMOD_PARTS_H
#define KMOD_PARTS_H

#include "blklat/parts.h"
#include "session.h"

/* The start time of an IO of @bytes. */
static inline u64 blklat_parted_start(u64 now, u32 bytes)
{
	return (now & ((1ULL << BLKLAT_SLOT_PART_SHIFT) - 1)) | (u64)blklat_size_part(bytes) << BLKLAT_SLOT_PART_SHIFT;
}

/* How far behind its whole's row is that of an IO which began at @start; 0: it has a part that there is not. */
static inline u32 blklat_part_of(const struct blklat_session *s, u64 start)
{
	u32 part = start >> BLKLAT_SLOT_PART_SHIFT & BLKLAT_PARTS_MAX;

	return part <= s->parts ? part : 0;
}

/* A latency: @ns, the difference to such a start time, without the bits that are no time's, of a pause too. */
static inline u64 blklat_unparted(u64 ns)
{
	const u32 no_time = 64 - BLKLAT_SLOT_PART_SHIFT;

	return (s64)(ns << no_time) >> no_time;
}

#endif
