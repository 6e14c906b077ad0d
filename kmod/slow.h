/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of slow and failed IOs. Such an IO is counted as usual, and also reported by itself, through
 * a ring that is used for nothing else. The rules are those of bpf/slow.bpf.h, so that both engines
 * report the same IOs.
 *
 * The sender of an IO is noted when its bio is queued: only that runs in the sender's context. Requests
 * are allocated, issued and completed by whichever task or interrupt happens to run. Notes are kept in
 * a table without chains, where a later bio overwrites an earlier one. So a note is sometimes gone when
 * it is needed, and the report says so; but a note is never taken for another IO's.
 *
 * The ring and the limits are in memory that userspace may write to. The number of the next report is
 * not, and its place follows from the number alone. So whatever a reader writes there, it can only lose
 * reports that it would have got.
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
struct blklat_bio_company;
struct blklat_note;

struct blklat_teller {
	u64 *untold;			/* [watch] */
	struct blklat_slow_ring *ring;
	u32 places;			/* in the ring, a power of two */
	u32 note_shift;			/* 32 - log2(places of notes) */
	struct blklat_note *notes;	/* NULL: there are none */
	struct blklat_bio_company *bio_company;	/* as many; NULL: it is not kept */
	bool owners;			/* notes include process and cgroup; reports, the file */
	atomic_t next ____cacheline_aligned_in_smp;	/* number of the next report */
};

/*
 * Makes a teller for a checked configuration. Returns 0 or -ENOMEM; *@ret is NULL if slow IOs are not
 * reported.
 */
int blklat_teller_new(const struct blklat_setup *setup, struct blklat_teller **ret);
void blklat_teller_free(struct blklat_teller *t);	/* takes NULL */

/* Called when the region exists, empty and laid out as its header @h says. No IO is slow yet. */
void blklat_teller_begin(struct blklat_teller *t, struct blklat_header *h);

/*
 * The functions below are for sessions that have a teller. Watches are numbers + 1; @whole is a watch
 * that is not a part.
 */
static inline bool blklat_is_slow(const struct blklat_session *s, u32 whole, u32 op, u64 ns)
{
	return ns >= READ_ONCE(s->slow_from[(whole - 1) * BLKLAT_OPS + op]);
}

/*
 * @watch: the watch in which the request is counted. @error: 0, or the error from the tracepoint. @company: see
 * parts.h; 0: it is not known. Call this before writing its bin, and likewise the next one.
 */
void blklat_tell_request(const struct blklat_session *s, const struct request *rq, u32 watch, u64 ns, int error,
			 u32 company);

/*
 * The same for @bio, begun as @start says, in its watch @i. Its address is all that is used of it: what ends is
 * @ending, perhaps a piece that was split off it; NULL: nothing to look into.
 */
void blklat_tell_bio(const struct blklat_session *s, const struct bio *bio, const struct bio *ending,
		     const struct blklat_bio *start, u32 i, u64 ns);

/* Keeps the company of a bio that begins, in its two watches, for the report. */
void blklat_keep_bio_company(const struct blklat_session *s, const struct bio *bio, const u32 company[2]);

/* A bio is queued, whether its device is watched or not. */
void blklat_note_bio(const struct blklat_session *s, struct bio *bio);

/*
 * Notes how long the request of @bio took in a stage that has ended, for reports at later stages. @bio
 * may be NULL.
 */
void blklat_note_stage(const struct blklat_session *s, const struct bio *bio, enum blklat_stage stage, u64 ns);

#endif
