// SPDX-License-Identifier: GPL-2.0-only
/*
 * The capture: a time stamp where an IO starts, a bin where it ends. See abi.h for what is counted
 * and docs/architecture.md for why this way.
 *
 * The hot path of a request has one look at the table of targets, one at its slot and, at
 * completion, one at its series: no hash of requests, no atomic, no branch on configuration (that is
 * in constants, which the verifier folds). What happens rarely is kept in functions of its own.
 */
#include "bios.bpf.h"
#include "counters.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void start_request(struct target *t, struct request *rq, u32 stage)
{
	struct slot slot = slot_of(t, rq, stage);

	if (!slot.in) {
		account(t->watch[stage], BLKLAT_TAG_RANGE);
		return;
	}
	slot.in->ns[slot.i] = bpf_ktime_get_ns();
	order_writes();
	slot.in->started[slot.i]++;
}

/* The end of the stage queue; requests that went straight to the driver never began it. */
static __always_inline void end_queue(struct target *t, struct request *rq)
{
	struct slot slot = slot_of(t, rq, BLKLAT_STAGE_QUEUE);
	struct blklat_series *s;
	u64 start, *bin;

	if (!slot.in)
		return;
	start = slot.in->ns[slot.i];
	if (start <= BLKLAT_SLOT_FREE)
		return;
	s = series_of(t->watch[BLKLAT_STAGE_QUEUE], op_of(rq->cmd_flags));
	if (!s)
		return;
	bin = count_latency(s, bpf_ktime_get_ns() - start);
	s->bytes += rq->__data_len;
	end_slot(slot);
	if (bin)
		++*bin;
}

static __always_inline void issue(struct target *t, struct request *rq)
{
	if (cfg_queue && t->watch[BLKLAT_STAGE_QUEUE])
		end_queue(t, rq);
	if (t->watch[BLKLAT_STAGE_DEVICE])
		start_request(t, rq, BLKLAT_STAGE_DEVICE);
}

SEC("tp_btf/block_rq_issue")
int on_rq_issue(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_issue_arg1);
	struct target *t = target_of(rq->q);

	if (t)
		issue(t, rq);
	if (cfg_partitions) {
		t = target_of(rq->part);
		if (t)
			issue(t, rq);
	}
	return 0;
}

/* Takes a start back. One that never happened (the driver was busy before it) is none. */
static __always_inline void unstart(struct target *t, struct request *rq, u32 stage)
{
	struct slot slot;

	if (!t->watch[stage])
		return;
	slot = slot_of(t, rq, stage);
	if (!slot.in || slot.in->ns[slot.i] <= BLKLAT_SLOT_FREE)
		return;
	end_slot(slot);
	account(t->watch[stage], BLKLAT_REQUEUED);
}

/*
 * A completion without a start. Not a loss:
 * - no bytes and no error: a request of a flush sequence ends a second time, or, where it had no data,
 *   without having been issued itself (block/blk-flush.c; the flush flags are cleared by then);
 * - nothing was ever started in the slot: the request was issued before the capture began;
 * - an error: it failed on the way to the driver, as on a dead device (blk_mq_dispatch_rq_list()).
 */
static __always_inline u32 unstarted_account(const u64 *ns, u32 error, u32 bytes, struct request *rq)
{
	struct bio *bio;

	if (!bytes && !error && op_of(rq->cmd_flags) != BLKLAT_OP_FLUSH) {
		bio = rq->bio;
		return bio && !bio->bi_io_vec ? BLKLAT_EMPTY_FLUSH : BLKLAT_ACCOUNTS;
	}
	if (*ns == BLKLAT_SLOT_UNUSED)
		return BLKLAT_BEFORE;
	return error ? BLKLAT_UNISSUED : BLKLAT_NO_START;
}

static __noinline int complete_unstarted(u32 watch, const u64 *ns, struct request *rq, u32 bytes, u32 error)
{
	u32 cell;

	if (!ns || !rq)
		return 0;
	cell = unstarted_account(ns, error, bytes, rq);
	if (cell < BLKLAT_ACCOUNTS)
		account(watch, cell);
	return 0;
}

static __always_inline void complete(struct target *t, struct request *rq, u32 error, u32 bytes)
{
	/* First of all: the slot may have to come from another CPU's cache, which is not the IO's time. */
	u64 now = bpf_ktime_get_ns(), start, *bin;
	struct slot slot = slot_of(t, rq, BLKLAT_STAGE_DEVICE);
	struct blklat_series *s;

	if (!slot.in)
		return;		/* counted when it was started */
	start = slot.in->ns[slot.i];
	if (start <= BLKLAT_SLOT_FREE) {
		if (bytes >= rq->__data_len)	/* else a part */
			complete_unstarted(t->watch[BLKLAT_STAGE_DEVICE], &slot.in->ns[slot.i], rq, bytes, error);
		return;
	}
	s = series_of(t->watch[BLKLAT_STAGE_DEVICE], op_of(rq->cmd_flags));
	if (!s)
		return;
	s->bytes += bytes;
	if (error)
		s->errors++;
	if (bytes < rq->__data_len)
		return;		/* a part; the last one ends it */
	bin = count_latency(s, now - start);
	end_slot(slot);
	if (bin)
		++*bin;
}

SEC("tp_btf/block_rq_requeue")
int on_rq_requeue(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_requeue_arg1);
	struct target *t = target_of(rq->q);

	if (t)
		unstart(t, rq, BLKLAT_STAGE_DEVICE);
	if (cfg_partitions) {
		t = target_of(rq->part);
		if (t)
			unstart(t, rq, BLKLAT_STAGE_DEVICE);
	}
	return 0;
}

SEC("tp_btf/block_rq_insert")
int on_rq_insert(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_insert_arg1);
	struct target *t = target_of(rq->q);

	if (t && t->watch[BLKLAT_STAGE_QUEUE])
		start_request(t, rq, BLKLAT_STAGE_QUEUE);
	if (cfg_partitions) {
		t = target_of(rq->part);
		if (t && t->watch[BLKLAT_STAGE_QUEUE])
			start_request(t, rq, BLKLAT_STAGE_QUEUE);
	}
	return 0;
}

/* A waiting request becomes part of another one and is never issued. */
SEC("tp_btf/block_rq_merge")
int on_rq_merge(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_merge_arg1);
	struct target *t = target_of(rq->q);

	if (t)
		unstart(t, rq, BLKLAT_STAGE_QUEUE);
	if (cfg_partitions) {
		t = target_of(rq->part);
		if (t)
			unstart(t, rq, BLKLAT_STAGE_QUEUE);
	}
	return 0;
}

static __always_inline void complete_target(struct target *t, struct request *rq, u32 error, u32 bytes)
{
	if (t->watch[BLKLAT_STAGE_DEVICE])
		complete(t, rq, error, bytes);
	/* One that failed before it was issued, or needed no issue, never left the queue. */
	if (cfg_queue && t->watch[BLKLAT_STAGE_QUEUE])
		unstart(t, rq, BLKLAT_STAGE_QUEUE);
}

SEC("tp_btf/block_rq_complete")
int on_rq_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct target *t = target_of(rq->q);
	bool total = t && t->watch[BLKLAT_STAGE_TOTAL];

	if (t)
		complete_target(t, rq, ctx[1], ctx[2]);
	if (cfg_partitions) {
		t = target_of(rq->part);
		if (t)
			complete_target(t, rq, ctx[1], ctx[2]);
		total |= t && t->watch[BLKLAT_STAGE_TOTAL];
	}
	/* A device without requests may hand its bios on as they are (nvme multipath, md raid0). */
	if (cfg_bios && (total || cfg_remapped))
		end_bios(rq, ctx[2], ctx[1]);
	return 0;
}
