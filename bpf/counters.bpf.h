/* SPDX-License-Identifier: GPL-2.0-only */
/* What all programs share: configuration, the counters of abi.h, and access to them. */
#ifndef COUNTERS_BPF_H
#define COUNTERS_BPF_H

#include "kernel_types.h"
#include "capture.h"
#include "blklat/bins.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "slots.bpf.h"
#include "turns.bpf.h"

/* Set before the programs are loaded. */
const volatile u32 cfg_watches = 1;
const volatile u32 cfg_wholes = 1;
const volatile u32 cfg_standby_row = 0;		/* row of the accounts that all standbys share */
const volatile bool cfg_unguarded = false;	/* the kernel may run a program on top of itself */
const volatile bool cfg_only_adds = false;	/* the kernel has no other atomic operation than an addition */
const volatile u32 cfg_hash_factor = 1;
const volatile u32 cfg_hash_factor_2 = 0;	/* 0: one lookup in the hash is enough */
const volatile u32 cfg_hash_shift = 31;
const volatile u32 cfg_mode = MODE_PARTITIONS;	/* enum mode */
const volatile u32 cfg_parts = 0;		/* parts of each watch */
const volatile bool cfg_queue = false;		/* stage queue is watched, on some device */
const volatile bool cfg_bios = false;		/* stage total is watched, on some device */
const volatile bool cfg_wait = false;		/* stage wait is watched, on some device */
/* stage total is watched on a device that passes its bios on unchanged */
const volatile bool cfg_remapped = false;
const volatile u32 cfg_flush_seq = 0;		/* RQF_FLUSH_SEQ */
/* Whether the request or bio is the second argument: kernels differ, BTF tells. */
const volatile bool cfg_insert_arg1 = false;
const volatile bool cfg_issue_arg1 = false;
const volatile bool cfg_requeue_arg1 = false;
const volatile bool cfg_merge_arg1 = false;
const volatile bool cfg_bio_queue_arg1 = false;
const volatile bool cfg_bio_split_arg1 = false;
const volatile bool cfg_getrq_arg1 = false;
const volatile bool cfg_bio_merge_arg2 = false;	/* the third */
const volatile bool cfg_bio_remap_arg1 = false;
const volatile u32 cfg_bio_traced = 0;		/* 1 << BIO_TRACE_COMPLETION: block_bio_queue has seen the bio */

u32 epoch;	/* number of the interval; its parity chooses the extremes' cells */

/*
 * A variable, as it is read without a map lookup. Userspace replaces it by a map that is as large as
 * the hash (load_programs()).
 */
struct target targets[1] SEC(".data.targets");

/* The sizes of all of these are set before loading. */
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
	__uint(value_size, BLKLAT_ACCOUNTS * sizeof(u64));
	__uint(map_flags, BPF_F_MMAPABLE);
} accounts SEC(".maps");

/*
 * The lower half of a kernel address, as a number. The verifier allows no arithmetic on pointers but
 * takes the result of a 32-bit move for a number (check_alu_op()). The asm keeps the compiler from
 * optimizing the move away.
 */
static __always_inline u32 low_half(const volatile void *address)
{
	u32 low;

	asm("%0 = %1" : "=w"(low) : "w"((u32)(u64)address));
	return low;
}

/*
 * A number that identifies an object. To the verifier its address is a pointer, but the difference
 * of two pointers is a number (adjust_reg_min_max_vals()).
 */
static __always_inline u64 number_of(const volatile void *object)
{
	u64 number = (u64)object;

	asm volatile("%0 -= %1" : "+r"(number) : "r"(&epoch));
	return number;
}

static __always_inline struct target *bucket_of(u32 low, u32 factor)
{
	/* x86 shifts by CL only, which is BPF's r4. Kernels before 6.2 move any other register there and back. */
	register u32 shift asm("w4") = cfg_hash_shift;
	u32 bucket = low * factor;
	struct target *t;

	asm("%0 >>= %1" : "+w"(bucket) : "w"(shift));
	t = &targets[bucket];
	/* Without this, the compiler would compute the address again at each use. */
	asm volatile("" : "+r"(t));
	return t;
}

/*
 * Finds the target of an address, if it has one. Returning it, or NULL, would make the verifier lose
 * track of the pointer.
 */
static __always_inline bool target_of(const volatile void *address, struct target **ret)
{
	u32 low = low_half(address);
	struct target *t = bucket_of(low, cfg_hash_factor);

	if (t->key != (u64)address && cfg_hash_factor_2)
		t = bucket_of(low, cfg_hash_factor_2);
	*ret = t;
	return t->key == (u64)address;
}

/*
 * An argument of a tracepoint. The verifier wants a constant offset from the context (5.10 refuses any
 * other pointer derived from it), so the compiler must not merge the two loads into one.
 */
static __always_inline void *argument(const u64 *ctx, bool second)
{
	void *arg;

	if (!second)
		return (void *)ctx[0];
	asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(arg) : "r"(ctx));
	return arg;
}

/*
 * The kernel skips a program that is already running on this CPU. It is running if an interrupt came on
 * top of it, or if its task was preempted within it (possible in tracepoints since 7.0). So a
 * tracepoint has a first program, and standbys after it. Each standby does the work if all programs
 * before it were skipped. The program that does the work leaves a mark in the IO's slot (abi.h), and
 * the last standby removes it. An event is missed only if all of its programs are interrupted on one
 * CPU at once. A turn is a program's place in this order: 0 for the first, 1 to BPF_STANDBYS for the
 * standbys.
 */
/* Number of standbys that each event has, or is about to get. Written by userspace. */
u32 standbys[BPF_EVENTS];

static __always_inline bool has_next(u32 turn, enum bpf_event event)
{
	return turn < standbys[event];
}

/*
 * Marks of events that have no bit in a slot: the start of a request without a slot, and the end of a portion, as the
 * bit of the time may still be the start's.
 *
 * A request, or a slot, is in one event at a time, and all programs of that event see it before its next event. So no
 * other mark has the same key, whatever runs between two of these programs, and wherever their task goes on. A mark
 * stays behind if the last standby was skipped. The same event there removes it again, whether the first program
 * leaves it anew or, being skipped, does not. Only then an event is missed: by a skip of the last program and one of
 * the first, which bpf_skipped_runs() tells. A map without room would need as many such marks at once.
 */
struct mark {
	u64 object;		/* number of the request or of the slot */
	u32 watch;		/* + 1; 0: of the slot's */
	u32 event;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, struct mark);
	__type(value, u8);
} marks SEC(".maps");

/* is_done() by such a mark. */
static __noinline int is_marked(u64 object, u32 watch, u32 event, u32 turn)
{
	struct mark mark = { object, watch, event };

	if (event >= BPF_EVENTS || !bpf_map_lookup_elem(&marks, &mark))
		return false;
	if (!has_next(turn, event))
		bpf_map_delete_elem(&marks, &mark);
	return true;
}

static __noinline int leave_mark(u64 object, u32 watch, u32 event, u32 turn)
{
	struct mark mark = { object, watch, event };
	u8 there = 1;

	if (event < BPF_EVENTS && has_next(turn, event))
		bpf_map_update_elem(&marks, &mark, &there, BPF_ANY);
	return 0;
}

/* Defines a program: @call may refer to its context, ctx, and to its turn. */
#define PROGRAM(name, section, its_turn, call)								\
	SEC(section)											\
	int name(u64 *ctx)										\
	{												\
		const u32 turn = its_turn;								\
													\
		(void)turn;										\
		call;											\
		return 0;										\
	}

/* The first program of a tracepoint, and its standbys. */
#define PROGRAMS(name, tracepoint, call)								\
	PROGRAM(name, "tp_btf/" tracepoint, TURN_FIRST, call)						\
	PROGRAM(name##_standby1, "tp_btf/" tracepoint, 1, call)						\
	PROGRAM(name##_standby2, "tp_btf/" tracepoint, 2, call)						\
	PROGRAM(name##_standby3, "tp_btf/" tracepoint, 3, call)

/* Whether others may write to a series, or a row of accounts, while this program does. */
enum sharing {
	ALONE,
	NESTED,	/* this very program, on top of itself, if cfg_unguarded; others, too, if cfg_only_adds */
	SHARED,	/* others */
};

/*
 * First programs use the CPU's own row of accounts. Skips are rare, so the standbys of all CPUs share one row, with
 * on_bio_throttle().
 */
static __always_inline u32 account_row(u32 turn)
{
	return turn == TURN_FIRST ? bpf_get_smp_processor_id() : cfg_standby_row;
}

/* Of a CPU's own series, or its own row of accounts. */
static __always_inline enum sharing sharing_of_own(void)
{
	return cfg_unguarded ? NESTED : ALONE;
}

/* Where another program may come in between. Tests define their own: see tests/vm/altered.h. */
#ifndef HOLD_UP
#define HOLD_UP()
#define ADD_ATOMICALLY(cell, n) __sync_fetch_and_add(cell, n)
#endif

static __always_inline void add_plainly(u64 *cell, u64 n)
{
	u64 was = *cell;

	HOLD_UP();
	*cell = was + n;
}

static __always_inline void add(u64 *cell, u64 n, enum sharing sharing)
{
	if (sharing != ALONE)
		ADD_ATOMICALLY(cell, n);
	else
		add_plainly(cell, n);
}

/* Of the whole to which @watch belongs. */
static __always_inline u64 *account_cell(u32 watch, u32 cell, u32 turn)
{
	u32 whole = cfg_parts ? (watch - 1) / (1 + cfg_parts) : watch - 1;
	u32 row = account_row(turn) * cfg_wholes + whole;
	u64 *cells = bpf_map_lookup_elem(&accounts, &row);

	return cells && cell < BLKLAT_ACCOUNTS ? &cells[cell] : NULL;
}

/*
 * Adds one to a cell of a watch's account. A function of its own, because it is rare and would cost the
 * callers registers. Atomic, since different programs may interrupt each other.
 */
static __noinline int account_first(u32 watch, u32 cell)
{
	u64 *at = account_cell(watch, cell, TURN_FIRST);

	if (at)
		ADD_ATOMICALLY(at, 1);
	return 0;
}

static __noinline int account_standby(u32 watch, u32 cell)
{
	u64 *at = account_cell(watch, cell, 1);

	if (at)
		ADD_ATOMICALLY(at, 1);
	return 0;
}

/* The first IO of a whole's begins, or the last one ends: see BLKLAT_BUSY. */
static __noinline int add_busy(u32 watch, u64 ns)
{
	u64 *at = account_cell(watch, BLKLAT_BUSY, 1);

	if (at)
		ADD_ATOMICALLY(at, ns);
	return 0;
}

static __always_inline void account(u32 watch, u32 cell, u32 turn)
{
	if (turn == TURN_FIRST)
		account_first(watch, cell);
	else
		account_standby(watch, cell);
}

static __always_inline void count_started(u32 watch, u32 turn)
{
	u64 *started = watch ? account_cell(watch, BLKLAT_STARTED, turn) : NULL;

	/* In this row, no other program counts it at this stage. */
	if (started)
		add(started, 1, turn == TURN_FIRST ? sharing_of_own() : SHARED);
}

/* Accounts the start of the request with this number, which has no slot, unless an earlier program has. */
static __noinline int account_tag_range(u64 request, u32 watch, u32 event, u32 turn)
{
	if (turn != TURN_FIRST && is_marked(request, watch, event, turn))
		return 0;
	account(watch, BLKLAT_TAG_RANGE, turn);
	leave_mark(request, watch, event, turn);
	return 0;
}

/* False: the request's tag is beyond the slots of @queues hardware queues. */
static __always_inline bool slot_number(const struct target *t, struct request *rq, u32 queues, u32 *ret)
{
	int internal_tag = rq->internal_tag;
	u32 tag = internal_tag >= 0 ? internal_tag : rq->tag;
	u32 queue = rq->mq_hctx->queue_num;

	if (tag >= t->stride || queue >= queues)
		return false;
	*ret = t->first_slot + queue * t->distance + tag;
	return true;
}

/* False never happens, but the verifier can't know. */
static __always_inline bool slot_at(u32 number, struct slot *ret)
{
	u32 block = number / BLKLAT_SLOTS, i = number % BLKLAT_SLOTS;
	struct blklat_slots *in = bpf_map_lookup_elem(&slots, &block);
	char *at;

	if (!in)
		return false;
	/* As few steps as possible: a count has half the size of a time. */
	i *= sizeof(in->started[0]);
	at = (char *)in + i;
	asm volatile("" : "+r"(at));
	ret->started = (u32 *)(at + __builtin_offsetof(struct blklat_slots, started));
	ret->ns = (u64 *)(at + i);
	return true;
}

/* False: the request's tag is beyond the slots. */
static __always_inline bool slot_of(const struct target *t, struct request *rq, struct slot *ret)
{
	u32 number;

	return slot_number(t, rq, t->queues, &number) && slot_at(number, ret);
}

/* Wherever @mode is a parameter, it is a constant in the caller. */
static __always_inline bool has_partitions(enum mode mode)
{
	return mode == MODE_PARTITIONS || mode == MODE_PARTS;
}

static __always_inline bool has_parts(enum mode mode)
{
	return mode == MODE_PARTS || (mode == MODE_DEVICE_MORE && cfg_parts);
}

/*
 * Calls @does with its arguments, in the order given, and with the mode of the capture as the last one,
 * a constant. For programs that have no code for the usual modes: those run as MODE_DISKS unless more
 * is wanted.
 */
#define IN_MODE(does, ...)										\
	do {												\
		u32 in_mode = cfg_mode;									\
													\
		if (in_mode == MODE_PARTS)								\
			does(__VA_ARGS__, MODE_PARTS);							\
		else if (in_mode == MODE_PARTITIONS)							\
			does(__VA_ARGS__, MODE_PARTITIONS);						\
		else											\
			does(__VA_ARGS__, MODE_DISKS);							\
	} while (0)

/*
 * The latency from a start time to now, ignoring the topmost bits of the start, which are not part of the
 * time. @parted, a constant: those of a part as well.
 */
static __always_inline u64 unmarked_latency(u64 now, u64 start, bool parted)
{
	u32 no_time = parted ? 64 - BLKLAT_SLOT_PART_SHIFT : 3;

	return (s64)((now - start) << no_time) >> no_time;
}

/* A zone append is a write, in the kernel's statistics as well. */
static __always_inline u32 op_of(u32 flags)
{
	u32 op = flags & REQ_OP_MASK;

	if (op > BLKLAT_OP_OTHER)
		op = op == REQ_OP_OF(REQ_OP_ZONE_APPEND) ? BLKLAT_OP_WRITE : BLKLAT_OP_OTHER;
	/*
	 * Without this, the compiler would merge the condition with the code that follows, which takes
	 * more instructions.
	 */
	asm volatile("" : "+r"(op));
	return op;
}

/* Of a bio: at this level a flush is an empty preflush. */
static __always_inline u32 bio_op(u32 flags, u32 bytes)
{
	const u32 preflush = 1U << bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH);

	return !bytes && flags & preflush ? BLKLAT_OP_FLUSH : op_of(flags);
}

#endif
