// SPDX-License-Identifier: GPL-2.0-only
/*
 * The capture: a time stamp where an IO starts, a bin where it ends. See abi.h for what is counted
 * and docs/architecture.md for why this way.
 *
 * The hot path of a request has one look at the table of targets, one at its start slot and, at
 * completion, one at its series: no hash of requests, no atomic, no branch on configuration (that is
 * in constants, which the verifier folds). What happens rarely is kept in functions of its own.
 */
#include "kernel_types.h"
#include "capture.h"
#include "blklat/bins.h"

#include <asm-generic/errno-base.h>
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* Set before the programs are loaded. */
const volatile u32 cfg_scale = 6;
const volatile u32 cfg_cells = BLKLAT_CELLS(6);	/* of a histogram at that scale */
const volatile u32 cfg_watches = 1;
const volatile u32 cfg_hash_factor = 1;
const volatile u32 cfg_hash_shift = 31;
const volatile bool cfg_queue = false;		/* stage queue is watched, on some device */
const volatile bool cfg_bios = false;		/* stage total is watched on a device with requests */
const volatile bool cfg_partitions = false;	/* a partition is watched */
/* Which argument is the request, the bio: kernels differ, BTF tells. */
const volatile bool cfg_insert_arg1 = false;
const volatile bool cfg_issue_arg1 = false;
const volatile bool cfg_requeue_arg1 = false;
const volatile bool cfg_merge_arg1 = false;
const volatile bool cfg_bio_queue_arg1 = false;

/* Bios in one request, for the verifier: 4 MiB, more than any driver takes by default, in pages. */
#define MAX_BIOS 1024

u32 epoch;	/* number of the interval; its parity chooses the extremes' cells */

/* Sizes of all are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct target);
	__uint(map_flags, BPF_F_MMAPABLE);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct blklat_slots);
	__uint(map_flags, BPF_F_MMAPABLE);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, BLKLAT_SERIES_BYTES(BLKLAT_CELLS(6)));
	__uint(map_flags, BPF_F_MMAPABLE);
} series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, BLKLAT_ACCOUNTS * sizeof(u64));
	__uint(map_flags, BPF_F_MMAPABLE);
} accounts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct bio_start);
} bios SEC(".maps");

/*
 * The lower half of a kernel address as a number. The verifier allows no arithmetic on pointers but
 * takes the result of a 32-bit move for a number (check_alu_op()); the compiler must not see through.
 */
static __always_inline u32 low_half(const volatile void *address)
{
	u32 low;

	asm("%0 = %1" : "=w"(low) : "w"((u32)(u64)address));
	return low;
}

static __always_inline struct target *target_of(const volatile void *address)
{
	u32 bucket = low_half(address) * cfg_hash_factor >> cfg_hash_shift;
	struct target *t = bpf_map_lookup_elem(&targets, &bucket);

	return t && t->key == (u64)address ? t : NULL;
}

/* An argument of a tracepoint; not by an index, since the verifier wants a constant offset. */
static __always_inline void *argument(u64 *ctx, bool second)
{
	if (second) {
		asm volatile("" : "+r"(ctx));
		return (void *)ctx[1];
	}
	return (void *)ctx[0];
}

/* Adds to a cell of this CPU's account of a watch. Rare, so kept out of the callers' registers. */
static __noinline int account(u32 watch, u32 cell)
{
	u32 row = bpf_get_smp_processor_id() * cfg_watches + watch - 1;
	u64 *cells = bpf_map_lookup_elem(&accounts, &row);

	if (cells && cell < BLKLAT_ACCOUNTS)
		cells[cell]++;
	return 0;
}

/* A request's slot: eight of them, and which it is. */
struct slot {
	struct blklat_slots *in;
	u32 i;
};

static __always_inline struct slot slot_of(const struct target *t, struct request *rq, u32 stage)
{
	int internal_tag = rq->internal_tag;
	u32 tag = internal_tag >= 0 ? t->tags + internal_tag : (u32)rq->tag;
	u32 queue = rq->mq_hctx->queue_num;
	u32 number, block;

	if (tag >= t->stride || queue >= t->queues)
		return (struct slot){};
	if (stage == BLKLAT_STAGE_QUEUE)
		queue += t->queues;
	number = t->first_slot + queue * t->stride + tag;
	block = number / BLKLAT_SLOTS;
	return (struct slot){ bpf_map_lookup_elem(&slots, &block), number % BLKLAT_SLOTS };
}

/* Readers rely on the order of writes, see abi.h. */
#define order_writes() asm volatile("" ::: "memory")

static __always_inline void end_slot(struct slot slot)
{
	slot.in->ended[slot.i]++;
	order_writes();
	slot.in->ns[slot.i] = BLKLAT_SLOT_FREE;
	order_writes();
}

static __always_inline u32 op_of(u32 flags)
{
	u32 op = flags & REQ_OP_MASK;

	return op < BLKLAT_OP_OTHER ? op : BLKLAT_OP_OTHER;
}

static __always_inline struct blklat_series *series_of(u32 watch, u32 op)
{
	u32 row = (bpf_get_smp_processor_id() * cfg_watches + watch - 1) * BLKLAT_OPS + op;

	return bpf_map_lookup_elem(&series, &row);
}

/*
 * Everything of one ended IO but its bytes and the count in its bin, which comes last (abi.h says
 * why). Returns that bin; NULL never happens, but the verifier can't know.
 */
static __always_inline u64 *count_latency(struct blklat_series *s, u64 ns)
{
	u32 parity = epoch & 1;
	u32 cell = blklat_cell(ns, cfg_scale);

	if (cell >= cfg_cells)
		return NULL;
	/* Or the compiler computes the address before it compares. */
	asm volatile("" : "+r"(cell));
	if (s->max_ns[parity] < ns)
		s->max_ns[parity] = ns;
	if (s->not_min_ns[parity] < ~ns)
		s->not_min_ns[parity] = ~ns;
	s->sum_ns += ns;
	s->octaves |= 1ULL << blklat_octave(cell, cfg_scale);
	return &s->bins[cell];
}

/* --- requests ----------------------------------------------------------------------------- */

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
	struct slot slot = slot_of(t, rq, BLKLAT_STAGE_DEVICE);
	struct blklat_series *s;
	u64 start, *bin;

	if (!slot.in)
		return;		/* counted when it was started */
	start = slot.in->ns[slot.i];
	if (start <= BLKLAT_SLOT_FREE) {
		complete_unstarted(t->watch[BLKLAT_STAGE_DEVICE], &slot.in->ns[slot.i], rq, bytes, error);
		if (cfg_queue)
			unstart(t, rq, BLKLAT_STAGE_QUEUE);	/* it never left the queue */
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
	bin = count_latency(s, bpf_ktime_get_ns() - start);
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

/* --- bios --------------------------------------------------------------------------------- */

static __always_inline u32 total_watch(const volatile void *object)
{
	struct target *t = target_of(object);

	return t ? t->watch[BLKLAT_STAGE_TOTAL] : 0;
}

/* An empty preflush is what a flush is called at this level. */
static __always_inline u32 bio_op(u32 flags, u32 bytes)
{
	const u32 preflush = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH);

	return !bytes && flags & preflush ? BLKLAT_OP_FLUSH : op_of(flags);
}

static __noinline int account_bio(const struct bio_start *start, u32 cell)
{
	if (start && start->watch[0])
		account(start->watch[0], cell);
	if (start && start->watch[1])
		account(start->watch[1], cell);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int on_bio_queue(u64 *ctx)
{
	struct bio *bio = argument(ctx, cfg_bio_queue_arg1);
	struct bio_start start = {}, *missed;
	u64 key = (u64)bio;
	long err;

	if (bpf_core_field_exists(bio->bi_bdev)) {
		start.watch[0] = total_watch(bio->bi_bdev->bd_disk);
		if (cfg_partitions)
			start.watch[1] = total_watch(bio->bi_bdev);
	} else {
		/* The tracepoint comes after the remap to the whole device: no partitions here. */
		start.watch[0] = total_watch(((struct bio___before_5_12 *)bio)->bi_disk);
	}
	if (!start.watch[0] && !start.watch[1])
		return 0;
	start.bytes = bio->bi_iter.bi_size;
	start.op = bio_op(bio->bi_opf, start.bytes);
	start.ns = bpf_ktime_get_ns();
	err = bpf_map_update_elem(&bios, &key, &start, BPF_NOEXIST);
	if (err == -EEXIST) {
		missed = bpf_map_lookup_elem(&bios, &key);
		if (missed)
			account_bio(missed, BLKLAT_OVERWRITTEN);
		err = bpf_map_update_elem(&bios, &key, &start, BPF_ANY);
	}
	account_bio(&start, err ? BLKLAT_TABLE_FULL : BLKLAT_STARTED);
	return 0;
}

static __always_inline void complete_bio(const struct bio_start *start, u32 watch, u64 ns, bool error)
{
	struct blklat_series *s;
	u64 *bin;

	if (!watch)
		return;
	s = series_of(watch, start->op < BLKLAT_OPS ? start->op : BLKLAT_OP_OTHER);
	if (!s)
		return;
	bin = count_latency(s, ns);
	s->bytes += start->bytes;
	if (error)
		s->errors++;
	if (bin)
		++*bin;
}

/*
 * A bio that is not in the table is no loss: it was queued before the capture began, or on a device
 * that is not watched, or is a part split off one that is (those complete, but are not queued), or
 * found the table full and was counted then.
 */
__noinline int end_bio(u64 key, u32 error)
{
	struct bio_start *found = bpf_map_lookup_elem(&bios, &key);
	struct bio_start start;
	u64 now;

	if (!found)
		return 0;
	now = bpf_ktime_get_ns();
	start = *found;
	bpf_map_delete_elem(&bios, &key);
	complete_bio(&start, start.watch[0], now - start.ns, error);
	if (cfg_partitions)
		complete_bio(&start, start.watch[1], now - start.ns, error);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int on_bio_complete(u64 *ctx)
{
	struct bio *bio = (void *)ctx[1];
	u64 key;

	/* As a number, which a global function can take. */
	bpf_probe_read_kernel(&key, sizeof(key), &ctx[1]);
	return end_bio(key, bio->bi_status);
}

/* --- the end of a request, and of its bios ------------------------------------------------ */

static __always_inline bool in_flush_sequence(struct request *rq)
{
	u32 flag = RQF_FLUSH_SEQ_BEFORE_6_10;

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		flag = 1U << bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return rq->rq_flags & flag;
}

/*
 * Bios that end with (a part of) a request have no block_bio_complete of their own; it was traced
 * already, as blk_update_request() says. Those within the completed bytes end, but within a flush
 * sequence all wait for its last step. A bio that was split ends with its last part.
 */
static __noinline int end_bios(struct request *rq, u32 bytes, u32 error)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);

	if (in_flush_sequence(rq))
		return 0;
	for (u32 i = 0; i < MAX_BIOS && bio; i++) {
		u32 size = BPF_CORE_READ(bio, bi_iter.bi_size);

		if (size > bytes)
			break;
		bytes -= size;
		end_bio((u64)bio, error);
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}

SEC("tp_btf/block_rq_complete")
int on_rq_complete(u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	struct target *t = target_of(rq->q);
	bool total = t && t->watch[BLKLAT_STAGE_TOTAL];

	if (t && t->watch[BLKLAT_STAGE_DEVICE])
		complete(t, rq, ctx[1], ctx[2]);
	if (cfg_partitions) {
		t = target_of(rq->part);
		if (t && t->watch[BLKLAT_STAGE_DEVICE])
			complete(t, rq, ctx[1], ctx[2]);
		total |= t && t->watch[BLKLAT_STAGE_TOTAL];
	}
	if (cfg_bios && total)
		end_bios(rq, ctx[2], ctx[1]);
	return 0;
}
