/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slow IOs, and those that failed: each is told by itself besides being counted, through a ring that is used for nothing else. The
 * rules are those of bpf/slow.bpf.h, so that both engines tell the same.
 *
 * Who sent an IO is noted where its bio is queued, as that alone runs in the sender's name; requests are made, issued and ended by
 * whoever comes by. Notes stand in a table without chains, where a later bio takes the place of an earlier one: rarely a note is
 * gone when it is looked for, which is told, but none is ever another IO's.
 *
 * Ring and limits are in memory that userspace may write to. The number of what is told next is not, and where that stands follows
 * from it alone; so whatever a reader writes costs no more than what it would have been told.
 */
#ifndef KMOD_SLOW_H
#define KMOD_SLOW_H

#include <linux/atomic.h>
#include <linux/cache.h>

#include "blklat/slow.h"
#include "session.h"

struct bio;
struct request;
struct blklat_bio;
struct blklat_note;

struct blklat_teller {
	const u64 *from;		/* [watch][op] */
	u64 *untold;			/* [watch] */
	struct blklat_slow_ring *ring;
	u32 places;			/* in it, a power of two */
	u32 note_bits;
	struct blklat_note *notes;	/* 1 << note_bits; NULL: nothing is noted */
	bool owners;			/* notes have them */
	atomic_t next ____cacheline_aligned_in_smp;	/* number of what is told next */
};

/* By a checked configuration. Returns 0 or -ENOMEM; *@ret is NULL where slow IOs are not told. */
int blklat_teller_new(const struct blklat_setup *setup, struct blklat_teller **ret);
void blklat_teller_free(struct blklat_teller *t);	/* takes NULL */

/* Once there is a region, empty and laid out as @h says at its begin: no IO is slow yet. */
void blklat_teller_begin(struct blklat_teller *t, struct blklat_header *h);

/* What follows is for sessions that have a teller. Watches are numbers + 1; @whole is one that is no part. */
static inline bool blklat_is_slow(const struct blklat_session *s, u32 whole, u32 op, u64 ns)
{
	return ns >= READ_ONCE(s->slow->from[(whole - 1) * BLKLAT_OPS + op]);
}

/* @watch: that it is counted in; @error: 0, or what the tracepoint says. To be called before its bin is written. */
void blklat_tell_request(const struct blklat_session *s, const struct request *rq, u32 watch, u64 ns, int error);
void blklat_tell_bio(const struct blklat_session *s, const struct bio *bio, u8 op, u32 bytes, u32 watch, u64 ns, int error);

/* A bio is queued, of a watched device or not. */
void blklat_note_bio(const struct blklat_session *s, struct bio *bio);

/* What the request of @bio, or of NULL, took in a stage that has ended, for those that come after it. */
void blklat_note_stage(const struct blklat_session *s, const struct bio *bio, enum blklat_stage stage, u64 ns);

#endif
