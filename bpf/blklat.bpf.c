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
#include "pauses.bpf.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void start_request(struct target *t, struct request *rq, u32 stage, enum mode mode)
{
	struct slot slot = slot_of(t, rq, stage);
	u64 now;

	if (!slot.ns) {
		account(t->watch[stage], BLKLAT_TAG_RANGE);
		return;
	}
	now = bpf_ktime_get_ns();
	if (stage == BLKLAT_STAGE_DEVICE && wants_pauses(mode))
		now = marked_start(t, now);
	*slot.ns = now;
	order_writes();
	slot.ns[BLKLAT_SLOTS]++;
}

/* The end of the stage queue; requests that went straight to the driver never began it. */
static __always_inline void end_queue(struct target *t, struct request *rq)
{
	struct slot slot = slot_of(t, rq, BLKLAT_STAGE_QUEUE);
	struct blklat_series *s;
	u64 start, *bin;

	if (!slot.ns)
		return;
	start = *slot.ns;
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
		start_request(t, rq, BLKLAT_STAGE_DEVICE, MODE_ANY);
}

SEC("tp_btf/block_rq_issue")
int on_rq_issue(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u32 mode = cfg_mode;
	struct target *t;

	if (mode == MODE_DEVICE) {
		if (target_of(rq->q, &t))
			start_request(t, rq, BLKLAT_STAGE_DEVICE, MODE_DEVICE);
		return 0;
	}
	if (mode == MODE_DEVICE_PAUSES) {
		if (target_of(rq->q, &t))
			start_request(t, rq, BLKLAT_STAGE_DEVICE, MODE_DEVICE_PAUSES);
		return 0;
	}
	rq = argument(ctx, cfg_issue_arg1);
	if (target_of(rq->q, &t))
		issue(t, rq);
	if (cfg_partitions && target_of(rq->part, &t))
		issue(t, rq);
	return 0;
}

/* Takes a start back. One that never happened (the driver was busy before it) is none. */
static __always_inline void unstart(struct target *t, struct request *rq, u32 stage)
{
	struct slot slot;

	if (!t->watch[stage])
		return;
	slot = slot_of(t, rq, stage);
	if (!slot.ns || *slot.ns <= BLKLAT_SLOT_FREE)
		return;
	end_slot(slot);
	if (cfg_idle_gap_ns && stage == BLKLAT_STAGE_DEVICE)
		note_use(&t->seen_ns, bpf_ktime_get_ns());
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

/* @ctx: of block_rq_complete; read where it is used, since to keep what was read takes more. */
static __always_inline void complete(struct target *t, struct request *rq, const u64 *ctx, enum mode mode)
{
	/* First of all: the slot may have to come from another CPU's cache, which is not the IO's time. */
	u64 now = bpf_ktime_get_ns(), start, ns, *bin;
	struct slot slot = slot_of(t, rq, BLKLAT_STAGE_DEVICE);
	struct blklat_series *s;
	u64 bytes;

	if (!slot.ns)
		return;		/* counted when it was started */
	start = *slot.ns;
	if (start <= BLKLAT_SLOT_FREE) {
		if (ctx[2] >= rq->__data_len)	/* else a part */
			complete_unstarted(t->watch[BLKLAT_STAGE_DEVICE], slot.ns, rq, ctx[2], ctx[1]);
		return;
	}
	s = series_of(t->watch[BLKLAT_STAGE_DEVICE], op_of(rq->cmd_flags));
	if (!s)
		return;
	bytes = ctx[2];
	s->bytes += bytes;
	if ((u32)ctx[1])
		s->errors++;
	if (bytes < rq->__data_len)
		return;		/* a part; the last one ends it */
	/* A marked start makes it huge. */
	ns = now - start;
	if (wants_pauses(mode) && ns > SEEN_EVERY_NS)
		ns = end_marked(t, rq, now, start);
	bin = count_latency(s, ns);
	if (!bin)
		return;
	end_slot(slot);
	++*bin;
}

SEC("tp_btf/block_rq_requeue")
int on_rq_requeue(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_requeue_arg1);
	struct target *t;

	if (target_of(rq->q, &t))
		unstart(t, rq, BLKLAT_STAGE_DEVICE);
	if (cfg_partitions) {
		if (target_of(rq->part, &t))
			unstart(t, rq, BLKLAT_STAGE_DEVICE);
	}
	return 0;
}

SEC("tp_btf/block_rq_insert")
int on_rq_insert(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_insert_arg1);
	struct target *t;

	if (target_of(rq->q, &t) && t->watch[BLKLAT_STAGE_QUEUE])
		start_request(t, rq, BLKLAT_STAGE_QUEUE, MODE_ANY);
	if (cfg_partitions) {
		if (target_of(rq->part, &t) && t->watch[BLKLAT_STAGE_QUEUE])
			start_request(t, rq, BLKLAT_STAGE_QUEUE, MODE_ANY);
	}
	return 0;
}

/* A waiting request becomes part of another one and is never issued. */
SEC("tp_btf/block_rq_merge")
int on_rq_merge(u64 *ctx)
{
	struct request *rq = argument(ctx, cfg_merge_arg1);
	struct target *t;

	if (target_of(rq->q, &t))
		unstart(t, rq, BLKLAT_STAGE_QUEUE);
	if (cfg_partitions) {
		if (target_of(rq->part, &t))
			unstart(t, rq, BLKLAT_STAGE_QUEUE);
	}
	return 0;
}

static __always_inline bool complete_any(const volatile void *key, struct request *rq, const u64 *ctx)
{
	struct target *t;

	if (!target_of(key, &t))
		return false;
	if (t->watch[BLKLAT_STAGE_DEVICE])
		complete(t, rq, ctx, MODE_ANY);
	/* One that failed before it was issued, or needed no issue, never left the queue. */
	if (cfg_queue && t->watch[BLKLAT_STAGE_QUEUE])
		unstart(t, rq, BLKLAT_STAGE_QUEUE);
	return cfg_bios && t->watch[BLKLAT_STAGE_TOTAL];
}

SEC("tp_btf/block_rq_complete")
int on_rq_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	u32 mode = cfg_mode;
	struct target *t;
	bool total;

	if (mode == MODE_DEVICE) {
		if (target_of(rq->q, &t))
			complete(t, rq, ctx, MODE_DEVICE);
		return 0;
	}
	if (mode == MODE_DEVICE_PAUSES) {
		if (target_of(rq->q, &t))
			complete(t, rq, ctx, MODE_DEVICE_PAUSES);
		return 0;
	}
	total = complete_any(rq->q, rq, ctx);
	if (cfg_partitions)
		total |= complete_any(rq->part, rq, ctx);
	/* A device without requests may hand its bios on as they are (nvme multipath, md raid0). */
	if (cfg_bios && (total || cfg_remapped))
		end_bios(rq, ctx[2], ctx[1]);
	return 0;
}
