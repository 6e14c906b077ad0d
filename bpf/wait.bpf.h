/* SPDX-License-Identifier: GPL-2.0-only */
/* Stage wait: bios, which are in the table for stage total, from the queue to their request. */
#ifndef WAIT_BPF_H
#define WAIT_BPF_H

#include "bios.bpf.h"

/*
 * A bio has got a request of its own, or was merged into another one. One that was split has then one for all of it:
 * its pieces come before what remains. A standby finds that it waits no more, so no mark is needed.
 */
static __always_inline void end_wait_in_mode(struct bio *bio, u32 turn, enum table table, enum mode mode)
{
	u64 key = number_of(bio);
	struct bio_start *start, waited;
	u64 now;

	start = table == TABLE_HASH ? bpf_map_lookup_elem(&bio_hash, &key) : start_in_cell(key);
	if (!start || !start->waits)
		return;
	now = bpf_ktime_get_ns();
	waited = *start;
	start->waits = 0;
	order_writes();
	waited.after_idle = 0;
	waited.watch[0] = wait_watch(&waited, 0);
	waited.watch[1] = wait_watch(&waited, 1);
	complete_bio(key, &waited, 0, BLKLAT_STAGE_WAIT, now, 0, turn, table, mode);
	if (has_partitions(mode))
		complete_bio(key, &waited, 1, BLKLAT_STAGE_WAIT, now, 0, turn, table, mode);
}

#define end_wait(bio, turn, table) IN_MODE(end_wait_in_mode, bio, turn, table)

/* The third argument until e8a676d61c07, 5.11, as the second one is in argument(). */
static __always_inline struct bio *merged_bio(const u64 *ctx)
{
	struct bio *bio;

	if (!cfg_bio_merge_arg2)
		return (void *)ctx[0];
	asm volatile("%0 = *(u64 *)(%1 + 16)" : "=r"(bio) : "r"(ctx));
	return bio;
}

PROGRAMS(on_getrq, "block_getrq", end_wait(argument(ctx, cfg_getrq_arg1), turn, TABLE_CELLS))
PROGRAM(on_getrq_hash, "tp_btf/block_getrq", TURN_FIRST, end_wait(argument(ctx, cfg_getrq_arg1), turn, TABLE_HASH))
/* These may interrupt on_getrq(), and each other, so they count where its standbys do. */
PROGRAMS(on_backmerge, "block_bio_backmerge", end_wait(merged_bio(ctx), turn + 1, TABLE_CELLS))
PROGRAM(on_backmerge_hash, "tp_btf/block_bio_backmerge", TURN_FIRST, end_wait(merged_bio(ctx), turn, TABLE_HASH))
PROGRAMS(on_frontmerge, "block_bio_frontmerge", end_wait(merged_bio(ctx), turn + 1, TABLE_CELLS))
PROGRAM(on_frontmerge_hash, "tp_btf/block_bio_frontmerge", TURN_FIRST, end_wait(merged_bio(ctx), turn, TABLE_HASH))

#endif
