/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the events of requests (capture.c) and of bios (capture_bios.c) share: the clock, the op, and where this CPU
 * counts.
 */
#ifndef KMOD_COUNT_H
#define KMOD_COUNT_H

#include <linux/ktime.h>
#include <linux/smp.h>

#include "hist.h"
#include "kernel.h"
#include "session.h"

/* The clock that userspace calls CLOCK_MONOTONIC, safe in any context; the BPF programs read the same clock. */
static inline u64 blklat_now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

/* The enum blklat_op in the flags of a request or bio. A zone append is a write, in the kernel's statistics as well. */
static inline u32 blklat_op_of(u32 flags)
{
	u32 op = flags & REQ_OP_MASK;

	BUILD_BUG_ON((int)REQ_OP_READ != BLKLAT_OP_READ || (int)REQ_OP_WRITE != BLKLAT_OP_WRITE ||
		     (int)REQ_OP_FLUSH != BLKLAT_OP_FLUSH || (int)REQ_OP_DISCARD != BLKLAT_OP_DISCARD);
	if (likely(op <= BLKLAT_OP_OTHER))
		return op;
	return op == (__force u32)REQ_OP_ZONE_APPEND ? BLKLAT_OP_WRITE : BLKLAT_OP_OTHER;
}

/* Of a bio: at this level a flush is an empty preflush. */
static inline u32 blklat_bio_op(const struct bio *bio)
{
	return !bio->bi_iter.bi_size && bio->bi_opf & REQ_PREFLUSH ? BLKLAT_OP_FLUSH : blklat_op_of(bio->bi_opf);
}

static __always_inline struct blklat_series *blklat_this_series(const struct blklat_session *s, u32 watch, u32 op,
								bool *ret_shared)
{
	return blklat_series_of(s, smp_processor_id(), watch, op, ret_shared);
}

/* Out of line, for what is rare. */
void blklat_account_here(const struct blklat_session *s, u32 watch, enum blklat_account cell);

/* Stage total is watched: ends the bios in the next @bytes of a request. @error: see blklat_capture_complete(). */
void blklat_capture_end_bios(struct blklat_session *s, const struct request *rq, u32 bytes, int error, u64 now);

#endif
