// SPDX-License-Identifier: GPL-2.0-only
#include "capture.h"

#include <linux/ktime.h>
#include <linux/smp.h>

#include "bios.h"
#include "hist.h"
#include "parts.h"
#include "pauses.h"
#include "slots.h"

/* The clock that userspace calls CLOCK_MONOTONIC, safe in any context; BPF reads the same. */
static u64 now_ns(void)
{
	return ktime_get_mono_fast_ns();
}

static u32 op_of(u32 flags)
{
	BUILD_BUG_ON((int)REQ_OP_READ != BLKLAT_OP_READ || (int)REQ_OP_WRITE != BLKLAT_OP_WRITE ||
		     (int)REQ_OP_FLUSH != BLKLAT_OP_FLUSH || (int)REQ_OP_DISCARD != BLKLAT_OP_DISCARD);
	return min_t(u32, flags & REQ_OP_MASK, BLKLAT_OP_OTHER);
}

static __always_inline struct blklat_series *this_series(const struct blklat_session *s, u32 watch, u32 op)
{
	return blklat_series_of(s, smp_processor_id(), watch, op);
}

static noinline void account(const struct blklat_session *s, u32 watch, enum blklat_account cell)
{
	blklat_account(s, smp_processor_id(), watch, cell);
}

/* --- requests ------------------------------------------------------------------------------ */

typedef void (*request_event)(struct blklat_session *s, struct blklat_target *t, struct request *rq);

/* A request belongs to a queue and to a partition; either may be watched. */
static __always_inline void for_targets(struct blklat_session *s, struct request *rq, request_event event)
{
	struct blklat_target *t = blklat_target_of(s, rq->q);

	if (t)
		event(s, t, rq);
	if (s->partitions) {
		t = blklat_target_of(s, rq->part);
		if (t)
			event(s, t, rq);
	}
}

static __always_inline void start(struct blklat_session *s, struct blklat_target *t, struct request *rq,
				  enum blklat_stage stage)
{
	struct blklat_slot *slot;

	if (likely(blklat_slot_of(s, t, rq, stage, &slot)))
		blklat_slot_start(slot, now_ns());
	else
		account(s, t->watch[stage], BLKLAT_TAG_RANGE);
}

/* The same where the time has the IO's part, and at the stage device a mark if the device had been idle. */
static __always_inline void start_marked(struct blklat_session *s, struct blklat_target *t, struct request *rq,
					 enum blklat_stage stage)
{
	struct blklat_slot *slot;
	u64 now, time;

	if (!blklat_slot_of(s, t, rq, stage, &slot)) {
		account(s, t->watch[stage], BLKLAT_TAG_RANGE);
		return;
	}
	now = now_ns();
	time = s->parts ? blklat_parted_start(now, rq->__data_len) : now;
	if (s->idle_gap_ns && stage == BLKLAT_STAGE_DEVICE && blklat_follows_pause(&t->seen_ns, now, s->idle_gap_ns))
		time |= BLKLAT_SLOT_AFTER_IDLE;
	blklat_slot_start(slot, time);
}

/* Takes a start back. One that never happened (the driver was busy before it) is none. */
static noinline void unstart(struct blklat_session *s, struct blklat_target *t, struct request *rq,
			     enum blklat_stage stage)
{
	struct blklat_slot *slot;

	if (!t->watch[stage])
		return;
	if (!blklat_slot_of(s, t, rq, stage, &slot) || blklat_slot_ns(slot) <= BLKLAT_SLOT_FREE)
		return;
	blklat_slot_end(slot);
	if (s->idle_gap_ns && stage == BLKLAT_STAGE_DEVICE)
		blklat_note_use(&t->seen_ns, now_ns());
	account(s, t->watch[stage], BLKLAT_REQUEUED);
}

/* An IO that began in @slot ends, @bytes of it now. */
static __always_inline void end(struct blklat_session *s, struct blklat_series *series, struct blklat_slot *slot, u64 ns)
{
	u64 *bin = blklat_hist_begin(s, series, ns);

	blklat_slot_end(slot);
	blklat_hist_add(bin, 1);
}

static void insert(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	if (!t->watch[BLKLAT_STAGE_QUEUE] || READ_ONCE(t->gone))
		return;
	if (s->parts)
		start_marked(s, t, rq, BLKLAT_STAGE_QUEUE);
	else
		start(s, t, rq, BLKLAT_STAGE_QUEUE);
}

void blklat_capture_insert(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, insert);
}

static void merge(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	unstart(s, t, rq, BLKLAT_STAGE_QUEUE);
}

/* A waiting request becomes part of another one and is never issued. */
void blklat_capture_merge(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, merge);
}

/* The end of the stage queue; requests that went straight to the driver never began it. */
static noinline void end_queue(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	u32 watch = t->watch[BLKLAT_STAGE_QUEUE];
	struct blklat_slot *slot;
	struct blklat_series *series;
	u64 began, ns;

	if (!blklat_slot_of(s, t, rq, BLKLAT_STAGE_QUEUE, &slot))
		return;
	began = blklat_slot_ns(slot);
	if (began <= BLKLAT_SLOT_FREE)
		return;
	ns = now_ns() - began;
	if (s->parts) {
		watch += blklat_part_of(s, began);
		ns = blklat_unparted(ns);
	}
	series = this_series(s, watch, op_of(rq->cmd_flags));
	blklat_hist_add(&series->bytes, rq->__data_len);
	end(s, series, slot, ns);
}

static void issue(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	if (t->watch[BLKLAT_STAGE_QUEUE])
		end_queue(s, t, rq);
	if (!t->watch[BLKLAT_STAGE_DEVICE] || READ_ONCE(t->gone))
		return;
	if (s->marks)
		start_marked(s, t, rq, BLKLAT_STAGE_DEVICE);
	else
		start(s, t, rq, BLKLAT_STAGE_DEVICE);
}

static noinline void issue_any(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, issue);
}

/* What is usual in one piece, so that a probe saves few registers; all else is a call away. */
notrace void blklat_capture_issue(struct blklat_session *s, struct request *rq)
{
	struct blklat_target *t = blklat_plain_target_of(s, rq->q);

	if (likely(t))
		start(s, t, rq, BLKLAT_STAGE_DEVICE);
	else
		issue_any(s, rq);
}

static void requeue(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	unstart(s, t, rq, BLKLAT_STAGE_DEVICE);
}

void blklat_capture_requeue(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, requeue);
}

/*
 * A completion without a start. Not a loss:
 * - no bytes and no error: a request of a flush sequence ends a second time, or, where it had no data,
 *   without having been issued itself (block/blk-flush.c; the flush flags are cleared by then);
 * - nothing was ever started in the slot: the request was issued before the capture began;
 * - an error: it failed on the way to the driver, as on a dead device (blk_mq_dispatch_rq_list()).
 */
static enum blklat_account unstarted_account(u64 slot_ns, const struct request *rq, int error, u32 bytes)
{
	if (!bytes && !error && op_of(rq->cmd_flags) != BLKLAT_OP_FLUSH)
		return rq->bio && !rq->bio->bi_io_vec ? BLKLAT_EMPTY_FLUSH : BLKLAT_ACCOUNTS;
	if (slot_ns == BLKLAT_SLOT_UNUSED)
		return BLKLAT_BEFORE;
	return error ? BLKLAT_UNISSUED : BLKLAT_NO_START;
}

static noinline void complete_unstarted(struct blklat_session *s, struct blklat_target *t, struct request *rq,
					u64 slot_ns, int error, u32 bytes)
{
	enum blklat_account cell = unstarted_account(slot_ns, rq, error, bytes);

	/* Of a device that was removed no start was seen any more; its address may be another's by now. */
	if (cell < BLKLAT_ACCOUNTS && !READ_ONCE(t->gone))
		account(s, t->watch[BLKLAT_STAGE_DEVICE], cell);
}

/*
 * A request that began at @began ends now, or a portion of it does: what there is in that time besides the time. Adds the part to
 * @watch; returns the latency so far.
 */
static u64 read_marks(struct blklat_session *s, struct blklat_target *t, struct request *rq, u64 now, u64 began, bool ends,
		      u32 *watch)
{
	u64 ns;

	if (s->parts) {
		*watch += blklat_part_of(s, began);
		ns = blklat_unparted(now - began);
	} else {
		ns = now - (began & ~BLKLAT_SLOT_AFTER_IDLE);
	}
	if (!ends || !s->idle_gap_ns)
		return ns;
	if (ns > BLKLAT_SEEN_EVERY_NS)
		blklat_note_use(&t->seen_ns, now);
	if (began & BLKLAT_SLOT_AFTER_IDLE)
		blklat_count_after_idle(s, *watch, op_of(rq->cmd_flags), ns);
	return ns;
}

/* @marks: whether times may have some, a constant. */
static __always_inline void complete_request(struct blklat_session *s, struct blklat_target *t, struct request *rq,
					     int error, u32 bytes, bool marks)
{
	/* First of all: the slot may have to come from another CPU's cache, which is not the IO's time. */
	u64 now = now_ns(), began, ns;
	u32 watch = t->watch[BLKLAT_STAGE_DEVICE];
	struct blklat_slot *slot;
	struct blklat_series *series;

	if (!blklat_slot_of(s, t, rq, BLKLAT_STAGE_DEVICE, &slot))
		return;		/* counted when it was started */
	began = blklat_slot_ns(slot);
	if (unlikely(began <= BLKLAT_SLOT_FREE)) {
		if (bytes >= rq->__data_len)	/* else a part */
			complete_unstarted(s, t, rq, began, error, bytes);
		return;
	}
	ns = now - began;
	if (marks && s->marks)
		ns = read_marks(s, t, rq, now, began, bytes >= rq->__data_len, &watch);
	series = this_series(s, watch, op_of(rq->cmd_flags));
	blklat_hist_add(&series->bytes, bytes);
	if (unlikely(error))
		blklat_hist_add(&series->errors, 1);
	if (likely(bytes >= rq->__data_len))	/* else a part; the last one ends it */
		end(s, series, slot, ns);
}

/* --- bios ---------------------------------------------------------------------------------- */

static u32 total_watch(const struct blklat_session *s, const void *key)
{
	const struct blklat_target *t = blklat_target_of(s, key);

	return t && !READ_ONCE(t->gone) ? t->watch[BLKLAT_STAGE_TOTAL] : 0;
}

static void account_bio(const struct blklat_session *s, const struct blklat_bio *bio, enum blklat_account cell)
{
	if (bio->watch[0])
		account(s, bio->watch[0], cell);
	if (bio->watch[1])
		account(s, bio->watch[1], cell);
}

/* From a watch (number + 1) to its whole. */
static u32 whole_of(const struct blklat_session *s, u32 watch)
{
	return watch - (watch - 1) % (1 + s->parts);
}

/* The watches of a bio that begins, as its part has them. */
static void choose_parts(struct blklat_bio *bio)
{
	u32 part = blklat_size_part(bio->bytes), i;

	for (i = 0; i < 2; i++)
		if (bio->watch[i])
			bio->watch[i] += part;
}

/* Whether a bio queued now follows a pause. */
static bool bio_follows_pause(const struct blklat_session *s, u32 watch, u64 now)
{
	return watch && blklat_follows_pause(&s->bios_seen_ns[watch - 1], now, s->idle_gap_ns);
}

/* Fills all of @ret but whether it is held. Returns whether the bio is watched. */
static bool begin_bio(struct blklat_session *s, const struct bio *bio, struct blklat_bio *ret)
{
	*ret = (struct blklat_bio){
		.bytes = bio->bi_iter.bi_size,
		.watch = { total_watch(s, blklat_bio_disk(bio)),
			   s->partitions ? total_watch(s, blklat_bio_part(bio)) : 0 },
	};
	if (!ret->watch[0] && !ret->watch[1])
		return false;
	/* An empty preflush is what a flush is called at this level. */
	ret->op = !ret->bytes && bio->bi_opf & REQ_PREFLUSH ? BLKLAT_OP_FLUSH : op_of(bio->bi_opf);
	ret->ns = now_ns();
	if (s->idle_gap_ns) {
		ret->after_idle[0] = bio_follows_pause(s, ret->watch[0], ret->ns);
		ret->after_idle[1] = bio_follows_pause(s, ret->watch[1], ret->ns);
	}
	if (s->parts)
		choose_parts(ret);
	return true;
}

void blklat_capture_bio_hold(struct blklat_session *s, struct bio *bio)
{
	struct blklat_bio started;

	/* The rest of one that was split began with its first part. */
	if (bio_flagged(bio, BIO_TRACE_COMPLETION) || !begin_bio(s, bio, &started))
		return;
	started.held = true;
	if (blklat_bio_hold(s->bios, bio, &started))
		account_bio(s, &started, BLKLAT_STARTED);
}

void blklat_capture_bio_queue(struct blklat_session *s, struct bio *bio)
{
	struct blklat_bio started, missed;
	int err;

	if (!begin_bio(s, bio, &started))
		return;
	err = blklat_bio_add(s->bios, bio, &started, &missed);
	if (err == -EALREADY)
		return;
	if (!err && missed.ns)
		account_bio(s, &missed, BLKLAT_OVERWRITTEN);
	account_bio(s, &started, err ? BLKLAT_TABLE_FULL : BLKLAT_STARTED);
}

enum ending { FINE, FAILED, TAKEN_BACK };

/* One that must not wait and would have had to (bio_wouldblock_error()) is no IO: its sender tries again, or not. */
static enum ending ending_of(bool error, bool would_block)
{
	return would_block ? TAKEN_BACK : error ? FAILED : FINE;
}

/* @i: for which of the watches. */
static void end_bio_of(struct blklat_session *s, const struct blklat_bio *bio, u32 i, u64 now, bool error)
{
	u64 ns = now - bio->ns;
	u32 watch = bio->watch[i];
	struct blklat_series *series;

	if (!watch)
		return;
	if (s->idle_gap_ns && ns > BLKLAT_SEEN_EVERY_NS)
		blklat_note_use(&s->bios_seen_ns[whole_of(s, watch) - 1], now);
	if (bio->after_idle[i])
		blklat_count_after_idle(s, watch, bio->op, ns);
	series = this_series(s, watch, bio->op);
	blklat_hist_add(&series->bytes, bio->bytes);
	if (error)
		blklat_hist_add(&series->errors, 1);
	blklat_hist_add(blklat_hist_begin(s, series, ns), 1);
}

/*
 * A bio that is not in the table is no loss: it was queued before the capture began, or on a device
 * that is not watched, or is a part split off one that is (those complete, but are not queued), or
 * found the table full and was counted then.
 */
static void end_bio(struct blklat_session *s, const struct bio *bio, enum ending ending)
{
	u64 now = now_ns();
	struct blklat_bio started;

	if (!blklat_bio_take(s->bios, bio, &started))
		return;
	if (unlikely(ending == TAKEN_BACK)) {
		account_bio(s, &started, BLKLAT_REQUEUED);
		return;
	}
	end_bio_of(s, &started, 0, now, ending);
	end_bio_of(s, &started, 1, now, ending);
}

void blklat_capture_bio_complete(struct blklat_session *s, struct bio *bio)
{
	end_bio(s, bio, ending_of(bio->bi_status, bio->bi_status == BLK_STS_AGAIN));
}

/*
 * Bios that end with (a part of) a request have no block_bio_complete of their own; it was traced
 * already, as blk_update_request() says. Those within the completed bytes end, but within a flush
 * sequence all wait for its last step. A bio that was split ends with its last part.
 */
static void end_bios(struct blklat_session *s, const struct request *rq, u32 bytes, int error)
{
	enum ending ending = ending_of(error, error == BLKLAT_RQ_AGAIN);
	const struct bio *bio;

	if (rq->rq_flags & RQF_FLUSH_SEQ)
		return;
	for (bio = rq->bio; bio && bio->bi_iter.bi_size <= bytes; bio = bio->bi_next) {
		bytes -= bio->bi_iter.bi_size;
		end_bio(s, bio, ending);
	}
}

static void complete_target(struct blklat_session *s, struct blklat_target *t, struct request *rq, int error,
			    u32 bytes)
{
	if (t->watch[BLKLAT_STAGE_DEVICE])
		complete_request(s, t, rq, error, bytes, true);
	/* One that failed before it was issued, or needed no issue, never left the queue. */
	if (t->watch[BLKLAT_STAGE_QUEUE])
		unstart(s, t, rq, BLKLAT_STAGE_QUEUE);
}

static noinline void complete_any(struct blklat_session *s, struct request *rq, int error, u32 bytes)
{
	struct blklat_target *t = blklat_target_of(s, rq->q);
	bool total = t && t->watch[BLKLAT_STAGE_TOTAL];

	if (t)
		complete_target(s, t, rq, error, bytes);
	if (s->partitions) {
		t = blklat_target_of(s, rq->part);
		if (t)
			complete_target(s, t, rq, error, bytes);
		total |= t && t->watch[BLKLAT_STAGE_TOTAL];
	}
	/* A device without requests may hand its bios on as they are (nvme multipath, md raid0). */
	if (s->bios && (total || s->remapped))
		end_bios(s, rq, bytes, error);
}

notrace void blklat_capture_complete(struct blklat_session *s, struct request *rq, int error, unsigned int bytes)
{
	struct blklat_target *t = blklat_plain_target_of(s, rq->q);

	if (likely(t))
		complete_request(s, t, rq, error, bytes, false);
	else
		complete_any(s, rq, error, bytes);
}
