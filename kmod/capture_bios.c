// SPDX-License-Identifier: GPL-2.0-only
/* Stages total and wait: bios begin, wait for a request, and end, by themselves or with a request. */
#include "bios.h"
#include "capture.h"
#include "count.h"
#include "parts.h"
#include "pauses.h"
#include "slow.h"

/* A bio that begins has the object @key as its disk or partition: sets watch @i. */
static __always_inline void enter_total(const struct blklat_session *s, struct blklat_bio *start, u32 i,
					const void *key)
{
	const struct blklat_target *t = blklat_target_of(s, key);

	if (!t || !blklat_is_open(t, BLKLAT_STARTS(BLKLAT_STAGE_TOTAL)))
		return;
	start->watch[i] = t->watch[BLKLAT_STAGE_TOTAL];
	start->waits[i] = blklat_is_open(t, BLKLAT_STARTS(BLKLAT_STAGE_WAIT));
}

/*
 * The watch at stage wait of a bio that is counted at stage total in watch @i: the next whole (abi.h). 0: it does not
 * wait there.
 */
static u32 wait_watch(const struct blklat_session *s, const struct blklat_bio *bio, u32 i)
{
	return bio->waits[i] ? bio->watch[i] + 1 + s->parts : 0;
}

static __always_inline void account_wait(const struct blklat_session *s, const struct blklat_bio *bio,
					 enum blklat_account cell)
{
	if (bio->waits[0])
		blklat_account(s, smp_processor_id(), wait_watch(s, bio, 0), cell);
	if (bio->waits[1])
		blklat_account(s, smp_processor_id(), wait_watch(s, bio, 1), cell);
}

static void account_bio(const struct blklat_session *s, const struct blklat_bio *bio, enum blklat_account cell)
{
	if (bio->watch[0])
		blklat_account(s, smp_processor_id(), bio->watch[0], cell);
	if (bio->watch[1])
		blklat_account(s, smp_processor_id(), bio->watch[1], cell);
	account_wait(s, bio, cell);
}

/* @n more bios like @bio are in flight since @now: 1 or -1. */
static void count_bio(const struct blklat_session *s, const struct blklat_bio *bio, int n, u64 now)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (bio->watch[i])
			blklat_count_in_flight(s, blklat_whole_of(s, bio->watch[i]),
					       blklat_kind_of(s, bio->op, bio->bytes), n, now);
}

/*
 * Where times have marks (session.h): whether a bio that begins follows a pause, and its parts, in place of its wholes.
 * Sets its company in each, if company is kept.
 */
static noinline void mark_bio(const struct blklat_session *s, struct blklat_bio *start, struct bio *bio,
			      u32 ret_company[2])
{
	u32 i;

	for (i = 0; i < 2; i++) {
		u32 whole = start->watch[i];

		if (!whole)
			continue;
		if (s->idle_gap_ns)
			start->after_idle[i] = blklat_follows_pause(&s->bios_seen_ns[whole - 1], start->ns,
								    s->idle_gap_ns);
		if (s->parts)
			start->watch[i] += blklat_part_now(s, whole, start->op, bio->bi_opf, start->bytes, bio,
							   &ret_company[i]);
	}
}

/*
 * Fills @ret except for held, and @ret_company as mark_bio() does. Returns whether the bio is
 * watched.
 */
static __always_inline bool begin_bio(struct blklat_session *s, struct bio *bio, struct blklat_bio *ret,
				      u32 ret_company[2])
{
	*ret = (struct blklat_bio){ .bytes = bio->bi_iter.bi_size };
	enter_total(s, ret, 0, blklat_bio_disk(bio));
	if (s->partitions)
		enter_total(s, ret, 1, blklat_bio_part(bio));
	if (!ret->watch[0] && !ret->watch[1])
		return false;
	ret->op = blklat_bio_op(bio);
	ret->ns = blklat_now_ns();
	if (unlikely(s->marks))
		mark_bio(s, ret, bio, ret_company);
	return true;
}

static __always_inline void count_start(struct blklat_session *s, const struct bio *bio,
					const struct blklat_bio *started, const u32 company[2])
{
	account_bio(s, started, BLKLAT_STARTED);
	if (unlikely(s->in_flight))
		count_bio(s, started, 1, started->ns);
	if (s->keeps_company)
		blklat_keep_bio_company(s, bio, company);
}

void blklat_capture_bio_hold(struct blklat_session *s, struct bio *bio)
{
	struct blklat_bio started;
	u32 company[2] = { 0 };

	/* Ignore the rest of a bio that was split: it began with its first piece. */
	if (bio_flagged(bio, BIO_TRACE_COMPLETION) || !begin_bio(s, bio, &started, company))
		return;
	started.held = true;
	if (blklat_bio_hold(s->bios, bio, &started))
		count_start(s, bio, &started, company);
}

static noinline void account_missed_bio(struct blklat_session *s, const struct bio *bio,
					const struct blklat_bio *started)
{
	struct blklat_bio missed;

	blklat_bio_replace(s->bios, bio, started, &missed);
	account_bio(s, &missed, BLKLAT_OVERWRITTEN);
	if (s->in_flight)
		count_bio(s, &missed, -1, started->ns);
}

void blklat_capture_bio_queue(struct blklat_session *s, struct bio *bio)
{
	struct blklat_bio started;
	u32 company[2] = { 0 };
	int err;

	if (!begin_bio(s, bio, &started, company))
		return;
	err = blklat_bio_add(s->bios, bio, &started);
	if (unlikely(err == -EEXIST))
		account_missed_bio(s, bio, &started);
	if (likely(!err || err == -EEXIST))
		count_start(s, bio, &started, company);
	else if (err == -ENOSPC)
		account_bio(s, &started, BLKLAT_TABLE_FULL);
}

/* @bio: the start of @of; @ending: that bio, or a piece that was split off it; @i: index of one of its watches. */
static void end_watch(struct blklat_session *s, const struct bio *of, const struct bio *ending,
		      const struct blklat_bio *bio, u32 i, u64 now)
{
	u64 ns = now - bio->ns;
	u32 watch = bio->watch[i];
	struct blklat_series *series;
	bool shared;

	if (s->idle_gap_ns && ns > BLKLAT_SEEN_EVERY_NS)
		blklat_note_use(&s->bios_seen_ns[blklat_whole_of(s, watch) - 1], now);
	if (bio->after_idle[i])
		blklat_count_after_idle(s, watch, bio->op, ns);
	series = blklat_this_series(s, watch, bio->op, &shared);
	blklat_hist_add(&series->bytes, bio->bytes, shared);
	if (bio->error)
		blklat_hist_add(&series->errors, 1, shared);
	if (s->slow && (bio->error || blklat_is_slow(s, blklat_whole_of(s, watch), bio->op, ns)))
		blklat_tell_bio(s, of, ending, bio, i, ns);
	blklat_hist_add(blklat_hist_begin(s, series, ns, shared), 1, shared);
}

static __always_inline void end_bio_of(struct blklat_session *s, const struct bio *of, const struct bio *ending,
				       const struct blklat_bio *bio, u64 now)
{
	if (bio->watch[0])
		end_watch(s, of, ending, bio, 0, now);
	if (bio->watch[1])
		end_watch(s, of, ending, bio, 1, now);
}

void blklat_capture_bio_split(struct blklat_session *s, const struct bio *piece)
{
	blklat_bio_split(s->bios, piece, piece->bi_private);
}

/*
 * A bio ends at stage total and still waits. Either it ended without a request, because of an error or as it must not
 * wait: then its start is taken back. Or the end of its wait was missed. No event tells that a discard is merged
 * (bio_attempt_discard_merge()), so its start is taken back, too.
 */
static noinline void end_without_request(const struct blklat_session *s, struct blklat_bio *bio, bool alone)
{
	account_wait(s, bio, alone || bio->op == BLKLAT_OP_DISCARD ? BLKLAT_REQUEUED : BLKLAT_OVERWRITTEN);
	bio->waits[0] = bio->waits[1] = false;
}

/*
 * A bio has got a request of its own, or was merged into another one. One that was split has then one for all of it:
 * its pieces come before what remains.
 */
void blklat_capture_bio_got(struct blklat_session *s, struct bio *bio)
{
	struct blklat_bio waited;
	u32 i;

	if (!blklat_bio_got(s->bios, bio, &waited))
		return;
	waited.error = 0;
	for (i = 0; i < 2; i++) {
		waited.watch[i] = wait_watch(s, &waited, i);
		waited.after_idle[i] = false;
	}
	end_bio_of(s, bio, bio, &waited, blklat_now_ns());
}

/*
 * A bio that is not in the table is not a loss. It was queued before the capture began, or on a device
 * that is not watched; or it found the table full and was accounted then. A bio that must not wait, but
 * would have had to (bio_wouldblock_error(), @would_block as an error), is taken back: its sender may
 * send it again. @alone: not with a request.
 */
static void end_bio(struct blklat_session *s, const struct bio *ending, int error, int would_block, bool alone, u64 now)
{
	const void *bio = ending;
	struct blklat_bio started;

	if (!blklat_bio_take(s->bios, &bio, error, alone, &started))
		return;
	if (unlikely(s->in_flight))
		count_bio(s, &started, -1, now);
	if (unlikely(started.waits[0] || started.waits[1]))
		end_without_request(s, &started, alone);
	if (unlikely(started.error == would_block)) {
		account_bio(s, &started, BLKLAT_REQUEUED);
		return;
	}
	end_bio_of(s, bio, ending, &started, now);
}

void blklat_capture_bio_complete(struct blklat_session *s, struct bio *bio)
{
	end_bio(s, bio, (__force int)bio->bi_status, (__force int)BLK_STS_AGAIN, true, blklat_now_ns());
}

/*
 * Bios that end with a request, or with a portion of one, have no block_bio_complete event of their
 * own: it was traced already, as blk_update_request() says. Those within the completed bytes end,
 * except that in a flush sequence all wait for its last step.
 */
void blklat_capture_end_bios(struct blklat_session *s, const struct request *rq, u32 bytes, int error, u64 now)
{
	const struct bio *bio;

	if (rq->rq_flags & RQF_FLUSH_SEQ)
		return;
	for (bio = rq->bio; bio && bio->bi_iter.bi_size <= bytes; bio = bio->bi_next) {
		bytes -= bio->bi_iter.bi_size;
		end_bio(s, bio, error, BLKLAT_RQ_AGAIN, false, now);
	}
}
