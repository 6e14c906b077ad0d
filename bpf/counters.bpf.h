/* SPDX-License-Identifier: GPL-2.0-only */
/* What all programs share: configuration, the counters of abi.h, and how to get at them. */
#ifndef COUNTERS_BPF_H
#define COUNTERS_BPF_H

#include "kernel_types.h"
#include "capture.h"
#include "blklat/bins.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Set before the programs are loaded. */
const volatile u32 cfg_merged = 0;		/* BLKLAT_SCALE_MAX - scale */
const volatile u32 cfg_cells = BLKLAT_CELLS(6);	/* of a histogram at that scale */
const volatile u32 cfg_watches = 1;
const volatile u32 cfg_hash_factor = 1;
const volatile u32 cfg_hash_shift = 31;
const volatile u32 cfg_mode = MODE_ANY;		/* enum mode */
const volatile bool cfg_queue = false;		/* stage queue is watched, on some device */
const volatile bool cfg_bios = false;		/* stage total is watched, on some device */
const volatile bool cfg_remapped = false;	/* and on one without requests */
const volatile u32 cfg_flush_seq = 0;		/* RQF_FLUSH_SEQ */
const volatile bool cfg_partitions = false;	/* a partition is watched */
/* Which argument is the request, the bio: kernels differ, BTF tells. */
const volatile bool cfg_insert_arg1 = false;
const volatile bool cfg_issue_arg1 = false;
const volatile bool cfg_requeue_arg1 = false;
const volatile bool cfg_merge_arg1 = false;
const volatile bool cfg_bio_queue_arg1 = false;

u32 epoch;	/* number of the interval; its parity chooses the extremes' cells */

/* A variable, since a look at it takes no lookup. Userspace puts a map as large as the hash in its place. */
struct target targets[1] SEC(".data.targets");

/* Sizes of all are set before loading. */
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

/* The target of an address, in @ret. False: it has none. (Of a pointer or NULL the verifier would lose track.) */
static __always_inline bool target_of(const volatile void *address, struct target **ret)
{
	u32 bucket = low_half(address) * cfg_hash_factor >> cfg_hash_shift;
	struct target *t = &targets[bucket];

	/* Or the compiler computes it again wherever it is used. */
	asm volatile("" : "+r"(t));
	*ret = t;
	return t->key == (u64)address;
}

/*
 * An argument of a tracepoint. The verifier wants a constant offset from the context (5.10 refuses
 * any other pointer made of it), so the compiler must not make one load of the two.
 */
static __always_inline void *argument(const u64 *ctx, bool second)
{
	void *arg;

	if (!second)
		return (void *)ctx[0];
	asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(arg) : "r"(ctx));
	return arg;
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

/* A request's slot, see struct blklat_slots. */
struct slot {
	u64 *ns;	/* its start time; sixteen cells on its starts, thirty-two its ends */
};

static __always_inline struct slot slot_of(const struct target *t, struct request *rq, u32 stage)
{
	int internal_tag = rq->internal_tag;
	u32 tag = internal_tag >= 0 ? t->tags + internal_tag : (u32)rq->tag;
	u32 queue = rq->mq_hctx->queue_num;
	struct blklat_slots *in;
	u32 number, block;

	if (tag >= t->stride || queue >= t->queues)
		return (struct slot){};
	if (stage == BLKLAT_STAGE_QUEUE)
		queue += t->queues;
	number = t->first_slot + queue * t->stride + tag;
	block = number / BLKLAT_SLOTS;
	in = bpf_map_lookup_elem(&slots, &block);
	return (struct slot){ in ? &in->ns[number % BLKLAT_SLOTS] : NULL };
}

/* Readers rely on the order of writes, see abi.h. */
#define order_writes() asm volatile("" ::: "memory")

static __always_inline void end_slot(struct slot slot)
{
	slot.ns[2 * BLKLAT_SLOTS]++;
	order_writes();
	*slot.ns = BLKLAT_SLOT_FREE;
	order_writes();
}

static __always_inline u32 op_of(u32 flags)
{
	u32 op = flags & REQ_OP_MASK;

	if (op > BLKLAT_OP_OTHER)
		op = BLKLAT_OP_OTHER;
	/* Or the compiler joins this with what follows, which takes more instructions. */
	asm volatile("" : "+r"(op));
	return op;
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
	u32 octave, cell = blklat_place(ns, cfg_merged, &octave);

	if (cell >= cfg_cells)
		return NULL;
	/* Or the compiler computes the address before it compares. */
	asm volatile("" : "+r"(cell));
	if (s->max_ns[parity] < ns)
		s->max_ns[parity] = ns;
	if (s->not_min_ns[parity] < ~ns)
		s->not_min_ns[parity] = ~ns;
	s->sum_ns += ns;
	s->octaves |= 1ULL << octave;
	return &s->bins[cell];
}

#endif
