// SPDX-License-Identifier: GPL-2.0-only
#include "capture.h"

#include "count.h"
#include "parts.h"
#include "pauses.h"
#include "slow.h"
#include "slots.h"

noinline void blklat_account_here(const struct blklat_session *s, u32 watch, enum blklat_account cell)
{
	blklat_account(s, smp_processor_id(), watch, cell);
}

typedef void request_event(struct blklat_session *s, struct blklat_target *t, struct request *rq,
			   enum blklat_stage stage);

/* A request belongs to a queue and to a partition; either may be watched. */
static __always_inline void for_targets(struct blklat_session *s, struct request *rq, request_event *event,
					enum blklat_stage stage)
{
	struct blklat_target *t = blklat_target_of(s, rq->q);

	if (t)
		event(s, t, rq, stage);
	if (s->partitions) {
		t = blklat_target_of(s, rq->part);
		if (t)
			event(s, t, rq, stage);
	}
}

static __always_inline void start(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	struct blklat_slot slot;

	if (likely(blklat_slot_of(s, t, rq, &slot)))
		blklat_slot_start(slot, blklat_now_ns());
	else
		blklat_account_here(s, t->watch[BLKLAT_STAGE_DEVICE], BLKLAT_TAG_RANGE);
}

/* The same if times have more than the clock's bits: the IO's part, and a mark if the device had been idle. */
static __always_inline void start_marked(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	struct blklat_slot slot;
	u64 now, time, was;

	if (!blklat_slot_of(s, t, rq, &slot)) {
		blklat_account_here(s, t->watch[BLKLAT_STAGE_DEVICE], BLKLAT_TAG_RANGE);
		return;
	}
	now = blklat_now_ns();
	was = blklat_slot_ns(slot);
	time = s->parts ? blklat_begin_in_part(s, t, rq, BLKLAT_STAGE_DEVICE, now, was & BLKLAT_SLOT_QUEUED ? 0 : was)
			: now;
	if (s->idle_gap_ns && blklat_follows_pause(&t->seen_ns, now, s->idle_gap_ns))
		time |= BLKLAT_SLOT_AFTER_IDLE;
	blklat_slot_start(slot, time);
}

/* A request begins to wait in a slot with a time: the end of the one before was missed. */
static noinline void account_missed(struct blklat_session *s, const struct blklat_target *t, u64 began)
{
	bool queued = began & BLKLAT_SLOT_QUEUED;
	u32 watch = t->watch[queued ? BLKLAT_STAGE_QUEUE : BLKLAT_STAGE_DEVICE];

	if (!watch)
		return;
	blklat_leave(s, watch, began, blklat_now_ns());
	if (queued)
		blklat_account_here(s, watch, BLKLAT_OVERWRITTEN);
}

/*
 * Takes the start of a stage back, unless there was none: if the driver was busy, the request may be requeued before
 * its issue.
 */
static noinline void unstart(struct blklat_session *s, struct blklat_target *t, struct request *rq,
			     enum blklat_stage stage)
{
	struct blklat_slot slot;
	u64 began;

	if (!blklat_is_open(t, BLKLAT_ENDS(stage)) || !blklat_slot_of(s, t, rq, &slot))
		return;
	began = blklat_slot_ns(slot);
	if (began <= BLKLAT_SLOT_FREE || !!(began & BLKLAT_SLOT_QUEUED) != (stage == BLKLAT_STAGE_QUEUE))
		return;
	if (stage == BLKLAT_STAGE_QUEUE)
		blklat_slot_unqueue(slot, BLKLAT_SLOT_FREE);
	else
		blklat_slot_end(slot);
	blklat_leave(s, t->watch[stage], began, blklat_now_ns());
	if (s->idle_gap_ns && stage == BLKLAT_STAGE_DEVICE)
		blklat_note_use(&t->seen_ns, blklat_now_ns());
	blklat_account_here(s, t->watch[stage], BLKLAT_REQUEUED);
}

/*
 * Reports a request that ends a stage and is counted in @watch, or a portion of it that fails. Called
 * before its bin is written: a reader that sees the bin sees the report.
 */
static void tell_if_slow(const struct blklat_session *s, const struct blklat_target *t, const struct request *rq,
			 enum blklat_stage stage, u32 watch, u64 ns, int error)
{
	if (error || blklat_is_slow(s, t->watch[stage], blklat_op_of(rq->cmd_flags), ns))
		blklat_tell_request(s, rq, watch, ns, error, blklat_kept_company(s, t, rq));
}

static void insert(struct blklat_session *s, struct blklat_target *t, struct request *rq, enum blklat_stage stage)
{
	struct blklat_slot slot;
	u64 was, now;

	if (!blklat_is_open(t, BLKLAT_STARTS(stage)))
		return;
	if (!blklat_slot_of(s, t, rq, &slot)) {
		blklat_account_here(s, t->watch[stage], BLKLAT_TAG_RANGE);
		return;
	}
	was = blklat_slot_ns(slot);
	if (unlikely(was > BLKLAT_SLOT_FREE))
		account_missed(s, t, was);
	now = blklat_now_ns();
	blklat_slot_queue(slot, s->parts ? blklat_begin_in_part(s, t, rq, stage, now, 0) : now);
	blklat_account_here(s, t->watch[stage], BLKLAT_STARTED);
}

void blklat_capture_insert(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, insert, BLKLAT_STAGE_QUEUE);
}

/* A waiting request becomes part of another one and is never issued. */
void blklat_capture_merge(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, unstart, BLKLAT_STAGE_QUEUE);
}

/* The end of stage queue; requests that went straight to the driver never began it. */
static noinline void end_queue(struct blklat_session *s, struct blklat_target *t, struct request *rq)
{
	u32 watch = t->watch[BLKLAT_STAGE_QUEUE];
	struct blklat_slot slot;
	struct blklat_series *series;
	u64 began, now, ns, *bin;
	bool shared;

	if (!blklat_slot_of(s, t, rq, &slot))
		return;
	began = blklat_slot_ns(slot);
	if (!(began & BLKLAT_SLOT_QUEUED))
		return;
	now = blklat_now_ns();
	ns = blklat_latency(s, now - began);
	if (s->parts) {
		blklat_leave(s, watch, began, now);
		watch += blklat_part_of(s, began);
	}
	series = blklat_this_series(s, watch, blklat_op_of(rq->cmd_flags), &shared);
	blklat_hist_add(&series->bytes, rq->__data_len, shared);
	if (s->slow) {
		tell_if_slow(s, t, rq, BLKLAT_STAGE_QUEUE, watch, ns, 0);
		blklat_note_stage(s, rq->bio, BLKLAT_STAGE_QUEUE, ns);
	}
	bin = blklat_hist_begin(s, series, ns, shared);
	blklat_slot_unqueue(slot, BLKLAT_SLOT_UNUSED);
	blklat_hist_add(bin, 1, shared);
}

static void issue(struct blklat_session *s, struct blklat_target *t, struct request *rq, enum blklat_stage stage)
{
	if (blklat_is_open(t, BLKLAT_ENDS(BLKLAT_STAGE_QUEUE)))
		end_queue(s, t, rq);
	if (!blklat_is_open(t, BLKLAT_STARTS(stage)))
		return;
	if (s->marks)
		start_marked(s, t, rq);
	else
		start(s, t, rq);
}

static noinline void issue_any(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, issue, BLKLAT_STAGE_DEVICE);
}

/* For a session with requests_only. */
static noinline void issue_only(struct blklat_session *s, struct request *rq)
{
	struct blklat_target *t = blklat_target_of(s, rq->q);

	if (t && blklat_is_open(t, BLKLAT_STARTS(BLKLAT_STAGE_DEVICE)))
		start_marked(s, t, rq);
}

/*
 * The usual path is in one piece, so that the probe saves few registers; everything else is a call
 * away.
 */
notrace void blklat_capture_issue(struct blklat_session *s, struct request *rq)
{
	struct blklat_target *t = blklat_plain_target_of(s, rq->q);

	if (likely(t))
		start(s, t, rq);
	else if (s->requests_only)
		issue_only(s, rq);
	else
		issue_any(s, rq);
}

void blklat_capture_requeue(struct blklat_session *s, struct request *rq)
{
	for_targets(s, rq, unstart, BLKLAT_STAGE_DEVICE);
}

/*
 * A completion without a start. It is not a loss in these cases:
 * - no bytes and no error: a request of a flush sequence ends a second time, or, if it had no data,
 *   ends without having been issued itself (block/blk-flush.c; the flush flags are cleared by then);
 * - nothing was ever started in the slot: the request was issued before the capture began;
 * - an error: the request failed on the way to the driver, for example on a dead device
 *   (blk_mq_dispatch_rq_list());
 * - no deadline, which it gets where it is issued (blk_mq_start_request()): nvme multipath ends a flush without bytes
 * and
 *   without an error if its path was lost before (nvme_host_path_error(), nvme_failover_req()).
 */
static enum blklat_account unstarted_account(u64 slot_ns, const struct request *rq, int error, u32 bytes)
{
	if (!bytes && !error && blklat_op_of(rq->cmd_flags) != BLKLAT_OP_FLUSH)
		return rq->bio && !rq->bio->bi_io_vec ? BLKLAT_EMPTY_FLUSH : BLKLAT_ACCOUNTS;
	if (slot_ns == BLKLAT_SLOT_UNUSED)
		return BLKLAT_BEFORE;
	return error || !rq->deadline ? BLKLAT_UNISSUED : BLKLAT_NO_START;
}

static noinline void complete_unstarted(struct blklat_session *s, struct blklat_target *t, struct request *rq,
					u64 slot_ns, int error, u32 bytes)
{
	enum blklat_account cell = unstarted_account(slot_ns, rq, error, bytes);

	/*
	 * Starts of a removed device are not seen any more, and its address may be another device's by
	 * now.
	 */
	if (cell < BLKLAT_ACCOUNTS && blklat_is_open(t, BLKLAT_STARTS(BLKLAT_STAGE_DEVICE)))
		blklat_account_here(s, t->watch[BLKLAT_STAGE_DEVICE], cell);
}

/*
 * Handles the part and the mark of a pause in @began, the start time of a request of which at least a portion
 * ends now. Adds the part to @watch and returns the latency so far.
 */
static __always_inline u64 read_marks(struct blklat_session *s, struct blklat_target *t, struct request *rq,
				      u64 now, u64 began, bool ends, u32 *watch)
{
	u64 ns = blklat_latency(s, now - began);

	if (s->parts) {
		if (ends)
			blklat_leave(s, *watch, began, now);
		*watch += blklat_part_of(s, began);
	}
	if (!ends || !s->idle_gap_ns)
		return ns;
	if (ns > BLKLAT_SEEN_EVERY_NS)
		blklat_note_use(&t->seen_ns, now);
	if (began & BLKLAT_SLOT_AFTER_IDLE)
		blklat_count_after_idle(s, *watch, blklat_op_of(rq->cmd_flags), ns);
	return ns;
}

/* Stage device ends for a request or a portion of it. */
static noinline void tell_completed(const struct blklat_session *s, const struct blklat_target *t,
				    const struct request *rq, u32 watch, u64 ns, int error, u32 bytes)
{
	bool ends = bytes >= rq->__data_len;

	if (ends || error)
		tell_if_slow(s, t, rq, BLKLAT_STAGE_DEVICE, watch, ns, error);
	if (ends && s->bios)
		blklat_note_stage(s, rq->bio, BLKLAT_STAGE_DEVICE, ns);
}

static noinline void complete_any(struct blklat_session *s, struct request *rq, int error, u32 bytes, u64 now);

/*
 * @now is read before anything else: the slot may have to come from another CPU's cache, and that time
 * must not be counted as the IO's. @more, a constant: there may be more to do than just counting.
 */
static __always_inline void complete_request(struct blklat_session *s, struct blklat_target *t, struct request *rq,
					     u64 now, int error, u32 bytes, bool more)
{
	u64 began, ns, *bin;
	u32 watch = t->watch[BLKLAT_STAGE_DEVICE];
	struct blklat_slot slot;
	struct blklat_series *series;
	bool shared;

	if (!blklat_slot_of(s, t, rq, &slot))
		return;		/* counted when it was started */
	began = blklat_slot_ns(slot);
	if (more && unlikely(began & BLKLAT_SLOT_QUEUED)) {
		/* It failed before its issue, or needed none, and so never left the queue. */
		unstart(s, t, rq, BLKLAT_STAGE_QUEUE);
		began = blklat_slot_ns(slot);
		/* It was issued while stage device was not watched yet, or its queue not any more. */
		if (began & BLKLAT_SLOT_QUEUED)
			began = BLKLAT_SLOT_UNUSED;
	}
	if (unlikely(began <= BLKLAT_SLOT_FREE)) {
		if (bytes >= rq->__data_len)	/* else only a portion ended */
			complete_unstarted(s, t, rq, began, error, bytes);
		return;
	}
	ns = now - began;
	if (!more && unlikely(s->slow_from) && unlikely(error || blklat_is_slow(s, watch, blklat_op_of(rq->cmd_flags), ns))) {
		complete_any(s, rq, error, bytes, now);
		return;
	}
	if (more)
		ns = read_marks(s, t, rq, now, began, bytes >= rq->__data_len, &watch);
	series = blklat_this_series(s, watch, blklat_op_of(rq->cmd_flags), &shared);
	blklat_hist_add(&series->bytes, bytes, shared);
	if (unlikely(error))
		blklat_hist_add(&series->errors, 1, shared);
	if (more && s->slow)
		tell_completed(s, t, rq, watch, ns, error, bytes);
	if (unlikely(bytes < rq->__data_len))
		return;			/* a portion; the last one ends it */
	bin = blklat_hist_begin(s, series, ns, shared);
	blklat_slot_end(slot);
	blklat_hist_add(bin, 1, shared);
}

static noinline void complete_device(struct blklat_session *s, struct blklat_target *t, struct request *rq, u64 now,
				     int error, u32 bytes)
{
	complete_request(s, t, rq, now, error, bytes, true);
}

/* Returns whether the target, which may be NULL, is watched at stage total. */
static __always_inline bool complete_target(struct blklat_session *s, struct blklat_target *t, struct request *rq,
					    int error, u32 bytes, u64 now)
{
	if (!t)
		return false;
	if (blklat_is_open(t, BLKLAT_ENDS(BLKLAT_STAGE_DEVICE)))
		complete_device(s, t, rq, now, error, bytes);
	else if (blklat_is_open(t, BLKLAT_ENDS(BLKLAT_STAGE_QUEUE)))
		unstart(s, t, rq, BLKLAT_STAGE_QUEUE);
	return blklat_is_open(t, BLKLAT_ENDS(BLKLAT_STAGE_TOTAL));
}

/* @now: 0, or the time that the usual path read before it found that the IO is slow or has failed. */
static noinline void complete_any(struct blklat_session *s, struct request *rq, int error, u32 bytes, u64 now)
{
	bool total;

	now = now ?: blklat_now_ns();
	total = complete_target(s, blklat_target_of(s, rq->q), rq, error, bytes, now);
	if (s->partitions)
		total |= complete_target(s, blklat_target_of(s, rq->part), rq, error, bytes, now);
	if (s->bios && (total || READ_ONCE(s->bios_anywhere)))
		blklat_capture_end_bios(s, rq, bytes, error, now);
}

/* For a session with requests_only. */
static noinline void complete_only(struct blklat_session *s, struct request *rq, int error, u32 bytes)
{
	struct blklat_target *t = blklat_target_of(s, rq->q);

	if (t)
		complete_request(s, t, rq, blklat_now_ns(), error, bytes, true);
}

notrace void blklat_capture_complete(struct blklat_session *s, struct request *rq, int error, unsigned int bytes)
{
	struct blklat_target *t = blklat_plain_target_of(s, rq->q);

	if (likely(t))
		complete_request(s, t, rq, blklat_now_ns(), error, bytes, false);
	else if (s->requests_only)
		complete_only(s, rq, error, bytes);
	else
		complete_any(s, rq, error, bytes, 0);
}
