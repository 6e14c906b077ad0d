/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of slow and failed IOs. Such an IO is counted as usual, and also reported by itself, through
 * a ring that is used for nothing else.
 *
 * The sender of an IO is noted when its bio is queued: only that runs in the sender's context. Requests
 * are allocated, issued and completed by whichever task or interrupt happens to run. Notes are kept in
 * a table without chains, where a later bio overwrites an earlier one. So a note is sometimes gone when
 * it is needed, and the report says so. It is not taken for another IO's, with the two exceptions below.
 */
#ifndef SLOW_BPF_H
#define SLOW_BPF_H

#include "counters.bpf.h"
#include "file.bpf.h"
#include "parts.bpf.h"
#include "blklat/slow.h"

#include <bpf/bpf_core_read.h>

const volatile bool cfg_slow = false;		/* slow IOs are reported */
const volatile u32 cfg_notes_shift = 31;	/* 32 - log2(places of notes) */

/*
 * [stage][op]: the least of the limits below, or less. Most IOs are compared with this one alone: it is
 * read without a lookup. Written by userspace.
 */
u64 slow_least[BLKLAT_STAGES][BLKLAT_OPS];

/*
 * [whole watch][op]: the latency from which an IO is slow, in ns; all ones: no IO is. Written by
 * userspace.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
	__uint(map_flags, BPF_F_MMAPABLE);
} slow_from SEC(".maps");

/* [whole watch]: slow and failed IOs that were dropped because the ring was full. All CPUs write it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
	__uint(map_flags, BPF_F_MMAPABLE);
} slow_untold SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} slow_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct note);
} notes SEC(".maps");

/* Has as many places as notes; a single one if company is not kept. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct bio_company);
} bio_company SEC(".maps");

static __always_inline struct note *note_at(u32 low)
{
	u32 place = blklat_note_place(low, cfg_notes_shift);

	return bpf_map_lookup_elem(&notes, &place);
}

static __always_inline struct note *note_of(u64 number)
{
	struct note *n = note_at(number);

	return n && n->bio == number ? n : NULL;
}

/*
 * The note of a request's first bio, or of the bio from which that one was split off, to which bio_chain()
 * has made it point. @ret_number: of the bio whose note it is.
 */
static __always_inline struct note *note_of_sender(const struct bio *bio, u64 *ret_number)
{
	struct note *n;

	if (!bio)
		return NULL;
	*ret_number = number_at(bio);
	n = note_of(*ret_number);
	if (n)
		return n;
	*ret_number = number_at(BPF_CORE_READ(bio, bi_private));
	return note_of(*ret_number);
}

/*
 * A writer claims a note, and then gives it the number of a bio. Nobody waits: one that finds the note claimed,
 * perhaps by the program that it interrupted, gives up. Kernels before 5.12 have no compare-and-exchange, and this
 * only compares there (fit_program() in bpf_programs.c). Then two CPUs that write to one note at the same time may
 * mix two bios' notes.
 */
static __always_inline bool exchange_note(struct note *n, u64 from, u64 to)
{
	return __sync_val_compare_and_swap(&n->bio, from, to) == from;
}

static __always_inline void note_sender(struct note *n)
{
	u32 flags;

	n->submitter = current_process(&flags);
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		struct task_struct *task = (void *)bpf_get_current_task_btf();

#pragma unroll
		for (u32 i = 0; i < BLKLAT_COMM; i++)
			n->comm[i] = task->comm[i];
	} else {
		bpf_get_current_comm(n->comm, sizeof(n->comm));
	}
	n->known |= BLKLAT_SLOW_SUBMITTER | (flags & PF_KTHREAD ? BLKLAT_SLOW_KERNEL_THREAD : 0);
}

static __always_inline u64 owner_of(const struct bio *bio)
{
	if (!bpf_core_field_exists(bio->bi_blkg) || !bio->bi_blkg)
		return 0;
	return bio->bi_blkg->blkcg->css.cgroup->kn->id;
}

static __always_inline bool is_watched(struct bio *bio)
{
	struct target *t;

	if (!bpf_core_field_exists(bio->bi_bdev)) {
		struct gendisk *disk = ((struct bio___before_5_12 *)bio)->bi_disk;

		return target_of(disk->queue, &t) || target_of(disk, &t);
	}
	return target_of(bio->bi_bdev->bd_disk->queue, &t) || target_of(bio->bi_bdev->bd_disk, &t) ||
	       target_of(bio->bi_bdev, &t);
}

/*
 * Runs besides on_bio_queue(), and has no standbys: if it is skipped, the sender is not known, or an earlier bio's at
 * the same address, if nothing has replaced that one's note.
 */
SEC("tp_btf/block_bio_queue")
int on_bio_note(u64 *ctx)
{
	struct bio *bio = argument(ctx, cfg_bio_queue_arg1);
	struct note *n;
	u64 before;

	if (!is_watched(bio))
		return 0;
	n = note_at(number_of(bio));
	if (!n)
		return 0;
	before = n->bio;
	if (before == NOTE_CLAIMED || !exchange_note(n, before, NOTE_CLAIMED))
		return 0;
	/* For kernels where nothing was exchanged. */
	n->bio = NOTE_CLAIMED;
	keep_compiler_order();
	HOLD_UP();
	n->sector = bio->bi_iter.bi_sector;
	n->queue_ns = 0;
	n->device_ns = 0;
	n->cpu = bpf_get_smp_processor_id();
	n->known = BLKLAT_SLOW_START_CPU;
	n->flags = flags_part(bio_op(bio->bi_opf, bio->bi_iter.bi_size), bio->bi_opf);
	n->cgroup = 0;
	if (cfg_owners) {
		n->cgroup = owner_of(bio);
		note_sender(n);
	}
	HOLD_UP();
	order_writes();
	n->bio = number_of(bio);
	return 0;
}

/* Whether slow IOs are reported; @mode is a constant in the caller. */
static __always_inline bool tells_slow(enum mode mode)
{
	return mode == MODE_DEVICE_SLOW || (mode >= MODE_DEVICE_MORE && cfg_slow);
}

/* False, as for most IOs: it is slow on no watch. */
static __always_inline bool may_be_slow(u32 stage, u32 op, u64 ns)
{
	return ns >= slow_least[stage][op];
}

static __always_inline bool is_slow(u32 whole, u32 op, u64 ns)
{
	u32 row = (whole - 1) * BLKLAT_OPS + op;
	u64 *from = bpf_map_lookup_elem(&slow_from, &row);

	return from && ns >= *from;
}

/*
 * Reserves a place in the ring for an IO that is counted in @watch. NULL: the ring is full, and the IO
 * was counted as untold.
 */
static __always_inline struct blklat_slow *tell_slow(u32 watch, u32 company)
{
	struct blklat_slow *s = bpf_ringbuf_reserve(&slow_ring, sizeof(*s), 0);
	u32 row = whole_watch(watch) - 1;
	u64 *untold;

	if (s) {
		s->watch = watch - 1;
		s->end_cpu = bpf_get_smp_processor_id();
		s->depth = blklat_company_depth(company);
		s->beside = blklat_company_beside(company);
		return s;
	}
	untold = bpf_map_lookup_elem(&slow_untold, &row);
	if (untold)
		ADD_ATOMICALLY(untold, 1);
	return NULL;
}

/*
 * Sets the time of the report, and what the note of the bio with this @number says: @n, which may be NULL. False:
 * nothing.
 */
static __always_inline bool tell_note(struct blklat_slow *s, const struct note *n, u64 number)
{
	if (n) {
		s->queue_ns = n->queue_ns;
		s->device_ns = n->device_ns;
		s->sector = n->sector;
		s->cgroup = n->cgroup;
		HOLD_UP();
		s->submitter = n->submitter;
		s->start_cpu = n->cpu;
		s->known = n->known;
		s->flags = n->flags;
		__builtin_memcpy(s->comm, n->comm, sizeof(s->comm));
	}
	/* Between the loads above and the next one, this is a barrier (smp_rmb() in ktime_get_mono_fast_ns()). */
	s->end_ns = bpf_ktime_get_ns();
	if (n && *(const volatile u64 *)&n->bio == number)
		return true;
	/* There was none, or another bio's has replaced it. */
	s->queue_ns = 0;
	s->device_ns = 0;
	s->sector = 0;
	s->cgroup = 0;
	s->submitter = 0;
	s->start_cpu = 0;
	s->known = 0;
	s->flags = 0;
	__builtin_memset(s->comm, 0, sizeof(s->comm));
	return false;
}

/*
 * Reports a request if it failed or reached the limit of its own watch. @error: from block_rq_complete; 0
 * for a request that is being issued. @company: 0 if it is not known. It is verified once, not at each call.
 */
__noinline int tell_request(u64 rq_number, u32 watch, u64 ns, u32 error, u32 company)
{
	struct request *rq = object_of(rq_number);
	u32 flags = BPF_CORE_READ(rq, cmd_flags), op = op_of(flags);
	struct bio *bio = BPF_CORE_READ(rq, bio);
	struct blklat_slow *s;
	const struct note *n;
	u64 number = 0;

	if (!(error || is_slow(whole_watch(watch), op, ns)))
		return 0;
	s = tell_slow(watch, company);
	if (!s)
		return 0;
	n = note_of_sender(bio, &number);
	tell_note(s, n, number);
	s->latency_ns = ns;
	s->bytes = BPF_CORE_READ(rq, __data_len);
	s->error = error;
	s->op = op;
	s->sector = BPF_CORE_READ(rq, __sector);
	s->hw_queue = BPF_CORE_READ(rq, mq_hctx, queue_num);
	s->start_cpu = BPF_CORE_READ(rq, mq_ctx, cpu);
	s->flags = flags_part(op, flags);
	s->known |= BLKLAT_SLOW_QUEUE | BLKLAT_SLOW_START_CPU;
	if (s->sector != (u64)-1 && op != BLKLAT_OP_FLUSH)
		s->known |= BLKLAT_SLOW_SECTOR;
	tell_file(s, bio ? number_at(bio) : 0);
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Either place of a bio's company: a bio takes the second one if another bio in flight has the first. */
static __always_inline struct bio_company *company_place(u32 low, bool second)
{
	u32 place = blklat_note_place(second ? ~low : low, cfg_notes_shift);

	return bpf_map_lookup_elem(&bio_company, &place);
}

/* A bio with this @number begins. @company: in each of its watches. */
static __always_inline void keep_bio_company(u64 number, const u32 company[2])
{
	struct bio_company *c = company_place(number, false);
	u64 there = c ? *(const volatile u64 *)&c->of[0] : 0;

	if (there && there >> 32 != (u32)number)
		c = company_place(number, true);
	if (!c)
		return;
	c->of[0] = number << 32 | company[0];
	c->of[1] = number << 32 | company[1];
}

/* @i: index of the watch. 0: not known; others in flight have taken both places. */
static __always_inline u32 kept_bio_company(u64 number, u32 i)
{
#pragma unroll
	for (u32 second = 0; second < 2; second++) {
		const struct bio_company *c = company_place(number, second);
		u64 kept = c ? *(const volatile u64 *)&c->of[i & 1] : 0;

		if (kept && kept >> 32 == (u32)number)
			return kept;
	}
	return 0;
}

/* The bio has ended: its place is vacant. */
static __always_inline void forget_bio_company(u64 number)
{
#pragma unroll
	for (u32 second = 0; second < 2; second++) {
		struct bio_company *c = company_place(number, second);

		if (c && *(const volatile u64 *)&c->of[0] >> 32 == (u32)number)
			*c = (struct bio_company){};
	}
}

/* Reports a bio, of which only the number is left, likewise. Its hardware queue is not known. */
static __noinline int tell_bio(u64 number, u32 watch, const struct bio_start *start, u64 ns, u32 error)
{
	const struct note *n = note_of(number);
	struct blklat_slow *s;

	if (!start || !(error || is_slow(whole_watch(watch), start->op, ns)))
		return 0;
	s = tell_slow(watch, cfg_company ? kept_bio_company(number, watch != start->watch[0]) : 0);
	if (!s)
		return 0;
	s->latency_ns = ns;
	s->bytes = start->bytes;
	s->error = error;
	s->op = start->op;
	s->hw_queue = 0;
	if (tell_note(s, n, number) && start->op != BLKLAT_OP_FLUSH)
		s->known |= BLKLAT_SLOW_SECTOR;
	tell_file(s, number);
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Notes how long the request of @bio took in a stage that has ended, for reports at later stages. */
static __always_inline void note_stage(const struct bio *bio, u32 stage, u64 ns)
{
	struct note *n = bio ? note_of(number_of(bio)) : NULL;

	if (!n || !exchange_note(n, number_of(bio), NOTE_CLAIMED))
		return;
	if (stage == BLKLAT_STAGE_QUEUE)
		n->queue_ns = ns;
	else
		n->device_ns = ns;
	exchange_note(n, NOTE_CLAIMED, number_of(bio));
}

#endif
