// SPDX-License-Identifier: GPL-2.0-only
/*
 * The capture: a time stamp where an IO starts, a bin where it ends. abi.h says what is counted,
 * docs/architecture.md why it is done this way.
 *
 * The hot path of a request has one lookup in the table of targets, one of its slot and, at completion,
 * one of its series. It has no hash of requests, no atomic operation, and no branch on configuration:
 * that is in constants, which the verifier folds. Rare cases are in functions of their own.
 */
#include "bios.bpf.h"
#include "counters.bpf.h"
#include "parts.bpf.h"
#include "pauses.bpf.h"
#include "series.bpf.h"
#include "slow.bpf.h"
#include "splits.bpf.h"
#include "wait.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The watch in whose rows an IO that began at @start is counted. */
static __always_inline u32 watch_of(const struct target *t, u32 stage, u64 start, enum mode mode)
{
	return t->watch[stage] + (has_parts(mode) ? blklat_slot_part(start, cfg_by) : 0);
}

/*
 * Reports a request that ends @stage, begun at @start. Called before its bin is written: a reader that
 * sees the bin sees the report.
 */
static __always_inline void tell_if_slow(const struct target *t, struct request *rq, u32 stage, u32 op, u64 start,
					 u64 ns, u32 error, enum mode mode)
{
	const u32 *kept = NULL;

	if (!error && !may_be_slow(stage, op, ns))
		return;
	if (cfg_company)
		kept = company_at(t, rq);
	tell_request(number_of(rq), watch_of(t, stage, start, mode), ns, error, kept ? *kept : 0);
}

/* Whether the times of a slot may be those of stage queue; @mode is a constant in the caller. */
static __always_inline bool has_queue(enum mode mode)
{
	return mode > MODE_DEVICE_MORE && cfg_queue;
}

/* The end of stage queue; requests that went straight to the driver never began it. */
static __always_inline void end_queue(struct target *t, struct request *rq, struct slot slot, u32 turn, enum mode mode)
{
	u32 op = op_of(rq->cmd_flags);
	u64 start = *slot.ns, now, ns, *bin;
	enum sharing sharing;
	struct blklat_series *s;

	if (!(start & BLKLAT_SLOT_QUEUED))
		return;
	s = series_of(watch_of(t, BLKLAT_STAGE_QUEUE, start, mode), op, turn, &sharing);
	if (!s)
		return;
	now = bpf_ktime_get_ns();
	ns = unmarked_latency(now, start, has_parts(mode));
	bin = count_latency(s, ns, sharing);
	add(&s->bytes, rq->__data_len, sharing);
	if (tells_slow(mode)) {
		tell_if_slow(t, rq, BLKLAT_STAGE_QUEUE, op, start, ns, 0, mode);
		note_stage(rq->bio, BLKLAT_STAGE_QUEUE, ns);
	}
	free_slot(slot.ns, BLKLAT_SLOT_UNUSED);
	if (has_parts(mode))
		end_in_part(t->watch[BLKLAT_STAGE_QUEUE], start, now);
	if (bin)
		add(bin, 1, sharing);
}

/* A request is inserted in a slot with a time: the end of the one before was missed. */
static __always_inline void account_missed_request(struct target *t, u64 start, u32 turn, enum mode mode)
{
	u32 watch = start & BLKLAT_SLOT_QUEUED ? t->watch[BLKLAT_STAGE_QUEUE] : t->watch[BLKLAT_STAGE_DEVICE];

	if (start & BLKLAT_SLOT_QUEUED)
		account(watch, BLKLAT_OVERWRITTEN, turn);
	if (has_parts(mode))
		end_in_part(watch, start, bpf_ktime_get_ns());
}

/* For a standby: did an earlier program begin the stage? */
static __always_inline bool has_begun(u64 *ns, u32 stage, u32 turn, enum bpf_event event)
{
	bool queued = *ns & BLKLAT_SLOT_QUEUED;

	return turn != TURN_FIRST && queued == (stage == BLKLAT_STAGE_QUEUE) &&
	       is_done(ns, BLKLAT_SLOT_SEEN, turn, event);
}

static __always_inline void start_request(struct target *t, struct request *rq, u32 stage, enum mode mode, u32 turn)
{
	const enum bpf_event event = stage == BLKLAT_STAGE_DEVICE ? BPF_RQ_ISSUE : BPF_RQ_INSERT;
	struct slot slot;
	u32 number;
	u64 now;

	if (!slot_number(t, rq, t->queues, &number)) {
		/* Since an earlier program began it, the device may have lost its slots: targets_move(). */
		if (turn != TURN_FIRST && !t->queues && slot_number(t, rq, -1, &number) && slot_at(number, &slot) &&
		    has_begun(slot.ns, stage, turn, event))
			return;
		if (mode <= MODE_DEVICE_MORE || t->watch[stage])
			account_tag_range(number_of(rq), t->watch[stage], event, turn);
		return;
	}
	if (!slot_at(number, &slot))
		return;
	if (stage == BLKLAT_STAGE_DEVICE && has_queue(mode))
		end_queue(t, rq, slot, turn, mode);
	if ((mode > MODE_DEVICE_MORE && !t->watch[stage]) || has_begun(slot.ns, stage, turn, event))
		return;
	if (stage == BLKLAT_STAGE_QUEUE && *slot.ns > BLKLAT_SLOT_VACANT) {
		account_missed_request(t, *slot.ns, turn, mode);
		*slot.ns = BLKLAT_SLOT_FREE;
	}
	now = bpf_ktime_get_ns();
	if (has_parts(mode)) {
		u64 marked = stage == BLKLAT_STAGE_DEVICE && wants_pauses(mode) ? marked_start(t, now) : now;

		now = begin_in_part(t, rq, stage, now, *slot.ns) | (marked & BLKLAT_SLOT_AFTER_IDLE);
	} else if (stage == BLKLAT_STAGE_DEVICE && wants_pauses(mode)) {
		now = marked_start(t, now);
	}
	if (leaves_mark(turn, event))
		now |= BLKLAT_SLOT_SEEN;
	if (stage == BLKLAT_STAGE_DEVICE) {
		start_slot(slot, now);
	} else {
		queue_in_slot(slot, now);
		count_started(t->watch[stage], turn);
	}
}

static __always_inline void issue_any(const u64 *ctx, u32 turn, enum mode mode)
{
	struct request *rq = argument(ctx, cfg_issue_arg1);
	struct target *t;

	if (target_of(rq->q, &t))
		start_request(t, rq, BLKLAT_STAGE_DEVICE, mode, turn);
	if (has_partitions(mode) && target_of(rq->part, &t))
		start_request(t, rq, BLKLAT_STAGE_DEVICE, mode, turn);
}

static __always_inline void issue_request(const u64 *ctx, u32 turn)
{
	struct request *rq = (void *)ctx[0];
	u32 mode = cfg_mode;
	struct target *t;

	if (mode == MODE_DEVICE || mode == MODE_DEVICE_SLOW) {
		if (target_of(rq->q, &t))
			start_request(t, rq, BLKLAT_STAGE_DEVICE, MODE_DEVICE, turn);
	} else if (mode == MODE_DEVICE_MORE) {
		if (target_of(rq->q, &t))
			start_request(t, rq, BLKLAT_STAGE_DEVICE, MODE_DEVICE_MORE, turn);
	} else if (mode == MODE_DISKS) {
		issue_any(ctx, turn, MODE_DISKS);
	} else if (mode == MODE_PARTITIONS) {
		issue_any(ctx, turn, MODE_PARTITIONS);
	} else {
		issue_any(ctx, turn, MODE_PARTS);
	}
}

PROGRAMS(on_rq_issue, "block_rq_issue", issue_request(ctx, turn))

/* Takes a start back. */
static __always_inline void unstart(struct target *t, struct slot slot, u32 turn)
{
	u64 start = *slot.ns;
	u32 stage = start & BLKLAT_SLOT_QUEUED ? BLKLAT_STAGE_QUEUE : BLKLAT_STAGE_DEVICE, watch = t->watch[stage];

	if (stage == BLKLAT_STAGE_DEVICE)
		count_end(slot);
	free_slot(slot.ns, BLKLAT_SLOT_FREE);
	if (cfg_idle_gap_ns && stage == BLKLAT_STAGE_DEVICE)
		note_use(&t->seen_ns, bpf_ktime_get_ns());
	end_in_part(watch, start, bpf_ktime_get_ns());
	account(watch, BLKLAT_REQUEUED, turn);
}

/* The same, if it is that of this stage: if the driver was busy, the request may be requeued before its issue. */
static __always_inline void unstart_in(struct target *t, struct request *rq, u32 stage, u32 turn)
{
	struct slot slot;

	if (!t->watch[stage] || !slot_of(t, rq, &slot) || *slot.ns <= BLKLAT_SLOT_VACANT)
		return;
	if (!!(*slot.ns & BLKLAT_SLOT_QUEUED) == (stage == BLKLAT_STAGE_QUEUE))
		unstart(t, slot, turn);
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
static __always_inline u32 unstarted_account(u64 ns, u32 error, u32 bytes, struct request *rq)
{
	struct bio *bio;

	if (!bytes && !error && op_of(rq->cmd_flags) != BLKLAT_OP_FLUSH) {
		bio = rq->bio;
		return bio && !bio->bi_io_vec ? BLKLAT_EMPTY_FLUSH : BLKLAT_ACCOUNTS;
	}
	if (!(ns & BLKLAT_SLOT_FREE))
		return BLKLAT_BEFORE;
	return error || !rq->deadline ? BLKLAT_UNISSUED : BLKLAT_NO_START;
}

static __always_inline void account_unstarted(u32 watch, u64 *ns, struct request *rq, u32 bytes, u32 error, u32 turn)
{
	u32 cell = unstarted_account(*ns, error, bytes, rq);

	if (leaves_mark(turn, BPF_RQ_COMPLETE))
		*ns |= BLKLAT_SLOT_SEEN_FREE;
	if (cell < BLKLAT_ACCOUNTS)
		account(watch, cell, turn);
}

static __noinline int complete_unstarted(u32 watch, u64 *ns, struct request *rq, u32 bytes, u32 error)
{
	if (ns && rq)
		account_unstarted(watch, ns, rq, bytes, error, TURN_FIRST);
	return 0;
}

/* @ctx: block_rq_complete's arguments; read where they are used, as keeping the values takes more instructions. */
static __always_inline void complete_vacant(struct target *t, struct request *rq, u64 *ns, const u64 *ctx, u32 turn)
{
	u32 watch = t->watch[BLKLAT_STAGE_DEVICE];

	if (ctx[2] < rq->__data_len)
		return;		/* only a portion ended */
	if (turn == TURN_FIRST)
		complete_unstarted(watch, ns, rq, ctx[2], ctx[1]);
	else if (!is_done(ns, BLKLAT_SLOT_SEEN_FREE, turn, BPF_RQ_COMPLETE))
		account_unstarted(watch, ns, rq, ctx[2], ctx[1], turn);
}

/* A portion of the request that began at @start ends; the last one ends the request. */
static __always_inline void complete_portion(struct target *t, struct request *rq, u64 *slot, u64 start, u32 op,
					     const u64 *ctx, enum mode mode, u32 turn)
{
	u32 error = (u64)argument(ctx, true);
	enum sharing sharing;
	struct blklat_series *s;

	if (turn != TURN_FIRST && is_marked(number_of(slot), 0, BPF_RQ_COMPLETE, turn))
		return;
	s = series_of(watch_of(t, BLKLAT_STAGE_DEVICE, start, mode), op, turn, &sharing);
	if (!s)
		return;
	add(&s->bytes, ctx[2], sharing);
	if (error)
		add(&s->errors, 1, sharing);
	if (tells_slow(mode) && error)
		tell_if_slow(t, rq, BLKLAT_STAGE_DEVICE, op, start,
			     unmarked_latency(bpf_ktime_get_ns(), start, has_parts(mode)), error, mode);
	leave_mark(number_of(slot), 0, BPF_RQ_COMPLETE, turn);
}

/* The first program needs only the latency. */
static __always_inline bool needs_latency(enum mode mode, u32 turn)
{
	return turn == TURN_FIRST && mode <= MODE_DEVICE_SLOW;
}

/*
 * The request that began at @start in @slot, where its end is counted, counts in @s. @now: the latency, if only that
 * is needed; 0 for a standby, which reads the clock only if it has something to do.
 */
static __always_inline void complete_in(struct blklat_series *s, enum sharing sharing, struct target *t,
					struct request *rq, u64 *slot, u64 start, u32 op, const u64 *ctx, u64 now,
					enum mode mode, u32 turn)
{
	u64 ns, *bin;
	u32 error;

	if (!s)
		return;
	add(&s->bytes, ctx[2], sharing);
	error = (u64)argument(ctx, true);
	if (error)
		add(&s->errors, 1, sharing);
	if (turn != TURN_FIRST)
		now = bpf_ktime_get_ns();
	if (has_parts(mode)) {
		ns = unmarked_latency(now, start, true);
		if (wants_pauses(mode) && (ns > SEEN_EVERY_NS || start & BLKLAT_SLOT_AFTER_IDLE))
			note_parted_end(t, rq, now, start, ns);
	} else if (wants_pauses(mode)) {
		/* The mark of a start after a pause makes the latency huge, so the test below catches it. */
		start &= ~BLKLAT_SLOT_SEEN;
		ns = now - start;
		if (ns > SEEN_EVERY_NS)
			ns = end_marked(t, rq, now, start);
	} else {
		ns = needs_latency(mode, turn) ? now : unmarked_latency(now, start, false);
	}
	bin = count_latency(s, ns, sharing);
	if (!bin)
		return;
	if (tells_slow(mode)) {
		tell_if_slow(t, rq, BLKLAT_STAGE_DEVICE, op, start, ns, error, mode);
		if (mode > MODE_DEVICE_MORE && cfg_bios)
			note_stage(rq->bio, BLKLAT_STAGE_DEVICE, ns);
	}
	free_slot(slot, BLKLAT_SLOT_FREE | (leaves_mark(turn, BPF_RQ_COMPLETE) ? BLKLAT_SLOT_SEEN_FREE : 0));
	if (has_parts(mode))
		end_in_part(t->watch[BLKLAT_STAGE_DEVICE], start, now);
	add(bin, 1, sharing);
}

static __always_inline void complete(struct target *t, struct request *rq, const u64 *ctx, u64 now, enum mode mode,
				     u32 turn)
{
	enum sharing sharing;
	struct blklat_series *s;
	struct slot slot;
	u32 op, watch;
	u64 start;

	if (!slot_of(t, rq, &slot))
		return;		/* counted when it was started */
	/* A request that failed before its issue, or needed none, never left the queue. */
	if (has_queue(mode) && *slot.ns & BLKLAT_SLOT_QUEUED)
		unstart(t, slot, turn);
	if (mode > MODE_DEVICE_MORE && !t->watch[BLKLAT_STAGE_DEVICE])
		return;
	start = *slot.ns;
	if (start <= BLKLAT_SLOT_VACANT) {
		complete_vacant(t, rq, slot.ns, ctx, turn);
		return;
	}
	op = op_of(rq->cmd_flags);
	if (ctx[2] < rq->__data_len) {
		complete_portion(t, rq, slot.ns, start, op, ctx, mode, turn);
		return;
	}
	/* Before all else, so that its address need not be kept. */
	count_end(slot);
	if (needs_latency(mode, turn)) {
		now = unmarked_latency(now, start, false);
		/* Without this, the compiler would keep both times, which takes a register more. */
		asm volatile("" : "+r"(now));
	}
	watch = watch_of(t, BLKLAT_STAGE_DEVICE, start, mode);
	/* A copy of the code for each: the second one asks at each addition whether it is atomic. */
	if (turn == TURN_FIRST && cfg_all_own) {
		complete_in(own_series(watch, op), sharing_of_own(), t, rq, slot.ns, start, op, ctx, now, mode, turn);
	} else {
		s = series_of(watch, op, turn, &sharing);
		complete_in(s, sharing, t, rq, slot.ns, start, op, ctx, now, mode, turn);
	}
}

static __always_inline void requeue_in_mode(const u64 *ctx, u32 turn, enum mode mode)
{
	struct request *rq = argument(ctx, cfg_requeue_arg1);
	struct target *t;

	if (target_of(rq->q, &t))
		unstart_in(t, rq, BLKLAT_STAGE_DEVICE, turn);
	if (has_partitions(mode) && target_of(rq->part, &t))
		unstart_in(t, rq, BLKLAT_STAGE_DEVICE, turn);
}

PROGRAMS(on_rq_requeue, "block_rq_requeue", IN_MODE(requeue_in_mode, ctx, turn))

static __always_inline void insert_in_mode(const u64 *ctx, u32 turn, enum mode mode)
{
	struct request *rq = argument(ctx, cfg_insert_arg1);
	struct target *t;

	if (target_of(rq->q, &t) && t->watch[BLKLAT_STAGE_QUEUE])
		start_request(t, rq, BLKLAT_STAGE_QUEUE, mode, turn);
	if (has_partitions(mode) && target_of(rq->part, &t) && t->watch[BLKLAT_STAGE_QUEUE])
		start_request(t, rq, BLKLAT_STAGE_QUEUE, mode, turn);
}

PROGRAMS(on_rq_insert, "block_rq_insert", IN_MODE(insert_in_mode, ctx, turn))

/* A waiting request becomes part of another one and is never issued. */
static __always_inline void merge_in_mode(const u64 *ctx, u32 turn, enum mode mode)
{
	struct request *rq = argument(ctx, cfg_merge_arg1);
	struct target *t;

	if (target_of(rq->q, &t))
		unstart_in(t, rq, BLKLAT_STAGE_QUEUE, turn);
	if (has_partitions(mode) && target_of(rq->part, &t))
		unstart_in(t, rq, BLKLAT_STAGE_QUEUE, turn);
}

PROGRAMS(on_rq_merge, "block_rq_merge", IN_MODE(merge_in_mode, ctx, turn))

/* Reads the clock into @now if nothing has yet. Returns whether the target is watched at stage total. */
static __always_inline bool complete_target(const volatile void *key, const u64 *ctx, u64 *now, u32 turn,
					    enum mode mode)
{
	struct request *rq = (void *)ctx[0];
	struct target *t;

	if (!target_of(key, &t))
		return false;
	if (turn == TURN_FIRST && !*now)
		*now = bpf_ktime_get_ns();
	if (t->queues)
		complete(t, rq, ctx, *now, mode, turn);
	return cfg_bios && t->watch[BLKLAT_STAGE_TOTAL];
}

static __always_inline void complete_any(const u64 *ctx, u32 turn, enum table table, enum mode mode)
{
	struct request *rq = (void *)ctx[0];
	u64 now = 0;
	bool total = complete_target(rq->q, ctx, &now, turn, mode);

	if (has_partitions(mode))
		total |= complete_target(rq->part, ctx, &now, turn, mode);
	/* A device without requests may pass its bios on unchanged (nvme multipath, md raid0): look for those too. */
	if (cfg_bios && (total || cfg_remapped))
		end_bios(rq, ctx, now, turn, table);
}

/*
 * The first program reads the clock before anything else: the slot may have to come from another CPU's
 * cache, and that time must not be counted as the IO's.
 */
static __always_inline void complete_request(const u64 *ctx, u32 turn, enum table table)
{
	struct request *rq = (void *)ctx[0];
	u32 mode = cfg_mode;
	struct target *t;

	if (mode == MODE_DEVICE) {
		if (target_of(rq->q, &t))
			complete(t, rq, ctx, turn == TURN_FIRST ? bpf_ktime_get_ns() : 0, MODE_DEVICE, turn);
	} else if (mode == MODE_DEVICE_SLOW) {
		if (target_of(rq->q, &t))
			complete(t, rq, ctx, turn == TURN_FIRST ? bpf_ktime_get_ns() : 0, MODE_DEVICE_SLOW, turn);
	} else if (mode == MODE_DEVICE_MORE) {
		if (target_of(rq->q, &t))
			complete(t, rq, ctx, turn == TURN_FIRST ? bpf_ktime_get_ns() : 0, MODE_DEVICE_MORE, turn);
	} else if (mode == MODE_DISKS) {
		complete_any(ctx, turn, table, MODE_DISKS);
	} else if (mode == MODE_PARTITIONS) {
		complete_any(ctx, turn, table, MODE_PARTITIONS);
	} else {
		complete_any(ctx, turn, table, MODE_PARTS);
	}
}

PROGRAMS(on_rq_complete, "block_rq_complete", complete_request(ctx, turn, TABLE_CELLS))
PROGRAM(on_rq_complete_hash, "tp_btf/block_rq_complete", TURN_FIRST, complete_request(ctx, turn, TABLE_HASH))
