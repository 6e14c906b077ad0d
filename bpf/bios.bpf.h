/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stage total: bios from the queue to their end. A bio has no tag, so its start is kept in a table and found by the
 * bio's address: in cells (bio_cells.bpf.h), or in a hash where the kernel lacks what these need (bio_hash.bpf.h).
 */
#ifndef BIOS_BPF_H
#define BIOS_BPF_H

#include "counters.bpf.h"
#include "parts.bpf.h"
#include "bio_cells.bpf.h"
#include "bio_hash.bpf.h"
#include "pauses.bpf.h"
#include "series.bpf.h"
#include "slow.bpf.h"

#include <bpf/bpf_core_read.h>

/*
 * Most bios in one request where the kernel has no bpf_loop(), before 5.17 (e6f2dd0f8067): the verifier goes through
 * each turn of a loop. 4 MiB in pages, more than any driver takes by default.
 */
#define MAX_BIOS 1024

/*
 * Which table: a constant in each program, as the verifier of a kernel before 5.12 must not see the
 * code for the cells.
 */
enum table {
	TABLE_CELLS,
	TABLE_HASH,
};

const volatile u32 cfg_buckets_mask = 1;	/* buckets of the table of cells, less one */

/* The sizes of both are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct bio_bucket);
	__uint(map_flags, BPF_F_MMAPABLE);
} bio_cells SEC(".maps");

/* For each watch, like struct target's seen_ns, but for bios. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} bios_seen SEC(".maps");

/* Whether a bio queued now follows a pause. A watch of 0 has no cell. */
static __noinline bool bio_follows_pause(u32 watch, u64 now)
{
	u32 cell = watch - 1;
	u64 *seen_ns = bpf_map_lookup_elem(&bios_seen, &cell);

	return seen_ns && is_old(*seen_ns, now) && note_issue(seen_ns, now);
}

static __noinline int note_bio_end(u32 watch, u64 now)
{
	u32 cell = watch - 1;
	u64 *seen_ns = bpf_map_lookup_elem(&bios_seen, &cell);

	if (seen_ns)
		note_use(seen_ns, now);
	return 0;
}

/* A bio that begins has @object as its disk or partition: sets watch @i. */
static __always_inline void enter_total(struct bio_start *start, u32 i, const volatile void *object)
{
	struct target *t;

	if (!target_of(object, &t))
		return;
	start->watch[i] = t->watch[BLKLAT_STAGE_TOTAL];
	if (cfg_wait) {
		u32 none = -t->watch[BLKLAT_STAGE_WAIT];

		/* Without a branch, which would double the verifier's work on all that follows. */
		asm volatile("" : "+r"(none));
		start->waits |= none >> 31 << i;
	}
}

/*
 * The watch at stage wait of a bio that is counted at stage total in watch @i: the next whole (abi.h). 0: it does not
 * wait there.
 */
static __always_inline u32 wait_watch(const struct bio_start *start, u32 i)
{
	return cfg_wait && start->waits >> i & 1 ? start->watch[i] + 1 + cfg_parts : 0;
}

static __always_inline void account_wait(const struct bio_start *start, u32 cell, u32 turn)
{
	if (wait_watch(start, 0))
		account(wait_watch(start, 0), cell, turn);
	if (wait_watch(start, 1))
		account(wait_watch(start, 1), cell, turn);
}

/* Global functions are verified once, by themselves, and not for each path that leads to them. */
__noinline int account_watches(u32 watch, u32 of_partition, u32 waits, u32 cell, u32 turn)
{
	const struct bio_start start = { .watch = { watch, of_partition }, .waits = waits };

	if (watch)
		account(watch, cell, turn);
	if (of_partition)
		account(of_partition, cell, turn);
	account_wait(&start, cell, turn);
	return 0;
}

static __always_inline void account_bio(const struct bio_start *start, u32 cell, u32 turn)
{
	account_watches(start->watch[0], start->watch[1], start->waits, cell, turn);
}

/* The end of a bio was missed, and another bio begins at its address. */
static __always_inline void account_missed_bio(const struct bio_start *start, u32 turn)
{
	account_bio(start, BLKLAT_OVERWRITTEN, turn);
	if (blklat_counts_in_flight(cfg_by))
		count_bio_in_flight(start, -1, bpf_ktime_get_ns());
}

/* --- the table of cells -------------------------------------------------------------------- */

static __always_inline struct bio_bucket *bio_bucket_of(u64 key, u32 choice)
{
	u32 number = BIO_BUCKET_NUMBER(low_half((const void *)key), choice, cfg_buckets_mask);

	return bpf_map_lookup_elem(&bio_cells, &number);
}

/* Notes of bios that found no room: only their keys. */
#define NO_ROOM_SHIFT 27

struct bio_bucket no_room[1 << (32 - NO_ROOM_SHIFT)];

static __always_inline struct bio_bucket *no_room_bucket(u64 key)
{
	return &no_room[(u32)key * 0x9e3779b1 >> NO_ROOM_SHIFT];
}

/* --- starts -------------------------------------------------------------------------------- */

/*
 * Fills @ret except for held, and @ret_company as choose_parts() does. Returns whether the bio is
 * watched.
 */
static __always_inline bool begin_bio(struct bio *bio, struct bio_start *ret, u32 ret_company[2], enum mode mode)
{
	u64 op;

	*ret = (struct bio_start){};
	if (bpf_core_field_exists(bio->bi_bdev)) {
		enter_total(ret, 0, bio->bi_bdev->bd_disk);
		if (has_partitions(mode))
			enter_total(ret, 1, bio->bi_bdev);
	} else {
		/*
		 * The tracepoint comes after the remap to the whole device, so partitions can't be told
		 * apart here.
		 */
		enter_total(ret, 0, ((struct bio___before_5_12 *)bio)->bi_disk);
	}
	if (!ret->watch[0] && !ret->watch[1])
		return false;
	ret->bytes = bio->bi_iter.bi_size;
	op = bio_op(bio->bi_opf, ret->bytes);
	BLKLAT_FORGET(op);
	ret->op = op;
	ret->ns = bpf_ktime_get_ns();
	if (cfg_idle_gap_ns) {
		ret->after_idle = bio_follows_pause(ret->watch[0], ret->ns) |
				  bio_follows_pause(ret->watch[1], ret->ns) << 1;
	}
	if (has_parts(mode))
		choose_parts(ret, bio, ret_company);
	return true;
}

static __always_inline void count_starts(u64 key, const struct bio_start *start, const u32 company[2], u32 turn,
					 enum mode mode)
{
	count_started(start->watch[0], turn);
	count_started(wait_watch(start, 0), turn);
	if (has_partitions(mode)) {
		count_started(start->watch[1], turn);
		count_started(wait_watch(start, 1), turn);
	}
	if (has_parts(mode) && blklat_counts_in_flight(cfg_by))
		count_bio_in_flight(start, 1, start->ns & ~BLKLAT_SLOT_SEEN);
	if (has_parts(mode) && cfg_company)
		keep_bio_company(key, company);
}

static __always_inline void queue_in_mode(const u64 *ctx, u32 turn, enum table table, enum mode mode)
{
	struct bio *bio = argument(ctx, cfg_bio_queue_arg1);
	u32 company[2] = { 0 };
	struct bio_start start;
	u64 key;

	if (!begin_bio(bio, &start, company, mode))
		return;
	key = number_of(bio);
	switch (table == TABLE_HASH ? remember_in_hash(key, &start) : remember_in_cell(key, &start, turn)) {
	case REMEMBERED:
		count_starts(key, &start, company, turn, mode);
		break;
	case NO_ROOM:
		account_bio(&start, BLKLAT_TABLE_FULL, turn);
		break;
	case NOT_MINE:
		break;
	}
}

PROGRAMS(on_bio_queue, "block_bio_queue", IN_MODE(queue_in_mode, ctx, turn, TABLE_CELLS))
PROGRAM(on_bio_queue_hash, "tp_btf/block_bio_queue", TURN_FIRST, IN_MODE(queue_in_mode, ctx, turn, TABLE_HASH))

/*
 * A bio held back by a limit of its cgroup (io.max) waits before block_bio_queue. The function that may
 * hold it back is called only for bios under a limit, and their time starts there. A program on a
 * function, unlike one on a tracepoint, has no standbys: if the kernel skips it, the bio begins when it
 * is queued. It and on_bio_queue() may interrupt each other, so it counts in the standbys' row. Kernels without
 * that row have only atomic additions.
 */
static __always_inline void hold_in_mode(const u64 *ctx, u32 turn, enum table table, enum mode mode)
{
	struct bio *bio = (void *)ctx[0];
	u64 key = number_of(bio);
	u32 company[2] = { 0 };
	struct bio_start start;

	/* Ignore the rest of a bio that was split: it began with its first piece. */
	if (bio->bi_flags & cfg_bio_traced || !begin_bio(bio, &start, company, mode))
		return;
	start.held = 1;
	if (table == TABLE_HASH ? hold_in_hash(key, &start) : hold_in_cell(key, &start))
		count_starts(key, &start, company, cfg_unguarded ? TURN_FIRST : turn, mode);
}

/* The name of the function to attach to is set before loading. */
PROGRAM(on_bio_throttle, "fentry", 1, IN_MODE(hold_in_mode, ctx, turn, TABLE_CELLS))
PROGRAM(on_bio_throttle_hash, "fentry", 1, IN_MODE(hold_in_mode, ctx, turn, TABLE_HASH))

/* --- ends ---------------------------------------------------------------------------------- */

/* @i: index of one of the watches, at @stage, of the bio with this @number. */
static __always_inline void complete_bio(u64 number, const struct bio_start *start, u32 i, u32 stage, u64 now,
					 u32 error, u32 turn, enum table table, enum mode mode)
{
	u32 watch = start->watch[i], op = start->op < BLKLAT_OPS ? start->op : BLKLAT_OP_OTHER;
	u64 ns = unmarked_latency(now, start->ns, false), *bin;	/* a bio's part is not in its time */
	enum sharing sharing;
	struct blklat_series *s;

	if (!watch)
		return;
	if (cfg_idle_gap_ns && ns > SEEN_EVERY_NS)
		note_bio_end(has_parts(mode) ? whole_watch(watch) : watch, now);
	if (cfg_idle_gap_ns && start->after_idle >> i & 1)
		count_after_idle(watch, op, ns);
	s = series_of(watch, op, turn, &sharing);
	if (!s)
		return;
	/*
	 * A bio may end in either of two tracepoints, so in two programs, which may interrupt each other. Kernels
	 * that use the hash guard neither, and have only atomic additions.
	 */
	if (table == TABLE_HASH)
		sharing = NESTED;
	else if (stage == BLKLAT_STAGE_TOTAL)
		sharing = SHARED;
	bin = count_latency(s, ns, sharing);
	add(&s->bytes, start->bytes, sharing);
	if (error)
		add(&s->errors, 1, sharing);
	if (cfg_slow && (error || may_be_slow(stage, op, ns)))
		tell_bio(number, watch, start, ns, error);
	/* Kernels that use the hash have no barriers either. */
	if (table == TABLE_HASH)
		keep_compiler_order();
	else
		order_writes();
	if (bin)
		add(bin, 1, sharing);
}

/*
 * A bio ends at stage total and still waits. Either it ended without a request, because of an error or as it must not
 * wait: then its start is taken back. Or the end of its wait was missed. No event tells that a discard is merged
 * (bio_attempt_discard_merge()), so its start is taken back, too.
 */
static __always_inline void end_without_request(struct bio_start *start, bool alone, u32 turn)
{
	account_wait(start, alone || start->op == BLKLAT_OP_DISCARD ? BLKLAT_REQUEUED : BLKLAT_OVERWRITTEN, turn);
	start->waits = 0;
}

/*
 * A bio that is not in the table is not a loss. It was queued before the capture began, or on a device
 * that is not watched; or it found the table full and was accounted then. A bio that must not wait, but
 * would have had to, is taken back (bio_wouldblock_error()): its sender sends it again.
 *
 * @error: passed by block_rq_complete, where the bio ends with a request; @alone: it does not.
 */
static __always_inline void end_in_mode(u64 key, u32 error, u64 now, bool alone, u32 turn, enum table table,
					enum mode mode)
{
	struct bio_start start;

	if (!(table == TABLE_HASH ? recall_from_hash(&key, error, alone, &start)
				  : recall_from_cell(&key, error, alone, &start)))
		return;
	error = error ?: (u32)start.error;
	if (cfg_wait && start.waits)
		end_without_request(&start, alone, turn);
	if (has_parts(mode) && blklat_counts_in_flight(cfg_by)) {
		now = now ?: bpf_ktime_get_ns();
		count_bio_in_flight(&start, -1, table == TABLE_HASH ? 0 : now);
	}
	/* Until 5.15 block_rq_complete had an errno. */
	if (error == BLK_STS_AGAIN || error == (u32)-EAGAIN) {
		account_bio(&start, BLKLAT_REQUEUED, turn);
	} else {
		if (!now)
			now = bpf_ktime_get_ns();
		complete_bio(key, &start, 0, BLKLAT_STAGE_TOTAL, now, error, turn, table, mode);
		if (has_partitions(mode))
			complete_bio(key, &start, 1, BLKLAT_STAGE_TOTAL, now, error, turn, table, mode);
	}
	if (has_parts(mode) && cfg_company)
		forget_bio_company(key);
}

static __always_inline void end_bio(u64 key, u32 error, u64 now, bool alone, u32 turn, enum table table)
{
	IN_MODE(end_in_mode, key, error, now, alone, turn, table);
}

__noinline int end_bio_first(u64 key, u32 error, u64 now, bool alone)
{
	end_bio(key, error, now, alone, TURN_FIRST, TABLE_CELLS);
	return 0;
}

__noinline int end_bio_standby(u64 key, u32 error, u64 now, bool alone)
{
	end_bio(key, error, now, alone, 1, TABLE_CELLS);
	return 0;
}

__noinline int end_bio_hash(u64 key, u32 error, u64 now, bool alone)
{
	end_bio(key, error, now, alone, TURN_FIRST, TABLE_HASH);
	return 0;
}

static __always_inline void end_numbered(u64 key, u32 error, u64 now, bool alone, u32 turn, enum table table)
{
	if (table == TABLE_HASH)
		end_bio_hash(key, error, now, alone);
	else if (turn == TURN_FIRST)
		end_bio_first(key, error, now, alone);
	else
		end_bio_standby(key, error, now, alone);
}

static __always_inline void complete_bio_any(const u64 *ctx, u32 turn, enum table table)
{
	struct bio *bio = (void *)ctx[1];

	end_numbered(number_of(bio), bio->bi_status, 0, true, turn, table);
}

PROGRAMS(on_bio_complete, "block_bio_complete", complete_bio_any(ctx, turn, TABLE_CELLS))
PROGRAM(on_bio_complete_hash, "tp_btf/block_bio_complete", TURN_FIRST, complete_bio_any(ctx, turn, TABLE_HASH))

/* The bios of a request of which some end: the next one, and how many bytes of those that end are left. */
struct ending_bios {
	struct bio *bio;
	u64 now;
	u32 bytes, error;
};

/* The next bio ends, if it is within the bytes. Returns whether it was, and there is another one. */
static __always_inline bool end_next_bio(struct ending_bios *e, u32 turn, enum table table)
{
	u32 size = e->bio->bi_iter.bi_size;

	if (size > e->bytes)
		return false;
	e->bytes -= size;
	end_numbered(number_of(e->bio), e->error, e->now, false, turn, table);
	e->bio = e->bio->bi_next;
	return e->bio;
}

/* For bpf_loop(): returns whether that was the last one. */
static long end_another_bio(u32 i, struct ending_bios *e)
{
	(void)i;
	return !end_next_bio(e, TURN_FIRST, TABLE_CELLS);
}

static long end_another_bio_standby(u32 i, struct ending_bios *e)
{
	(void)i;
	return !end_next_bio(e, 1, TABLE_CELLS);
}

/*
 * Bios that end with a request, or with a portion of one, have no block_bio_complete event
 * (blk_update_request()). Those within the completed bytes end, except that in a flush sequence all
 * wait for its last step.
 */
static __always_inline void end_bios(struct request *rq, const u64 *ctx, u64 now, u32 turn, enum table table)
{
	struct ending_bios e = { rq->bio, now, ctx[2], ctx[1] };

	if (rq->rq_flags & cfg_flush_seq || !e.bio || !end_next_bio(&e, turn, table))
		return;
	/* Its body is verified once. Kernels that use the hash don't take a program that refers to a function. */
	if (table == TABLE_CELLS && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(1 << 23, turn == TURN_FIRST ? end_another_bio : end_another_bio_standby, &e, 0);
		return;
	}
	for (u32 i = 1; i < MAX_BIOS; i++)
		if (!end_next_bio(&e, turn, table))
			break;
}

#endif
