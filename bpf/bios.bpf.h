/* SPDX-License-Identifier: GPL-2.0-only */
/* Stage total: bios from the queue to their end. A bio has no tag, so its start is kept in a hash. */
#ifndef BIOS_BPF_H
#define BIOS_BPF_H

#include "counters.bpf.h"
#include "pauses.bpf.h"

#include <asm-generic/errno-base.h>

#include <bpf/bpf_core_read.h>

/* Bios in one request, for the verifier: 4 MiB, more than any driver takes by default, in pages. */
#define MAX_BIOS 1024

/* By address. Its size is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct bio_start);
} bios SEC(".maps");

/* Of each watch, as struct target's seen_ns, but of bios. Its size is set before loading. */
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

static __always_inline u32 total_watch(const volatile void *object)
{
	struct target *t;

	return target_of(object, &t) ? t->watch[BLKLAT_STAGE_TOTAL] : 0;
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
	if (cfg_idle_gap_ns) {
		start.after_idle[0] = bio_follows_pause(start.watch[0], start.ns);
		start.after_idle[1] = bio_follows_pause(start.watch[1], start.ns);
	}
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

/* @i: for which of the watches. */
static __always_inline void complete_bio(const struct bio_start *start, u32 i, u64 now, bool error)
{
	u32 watch = start->watch[i], op = start->op < BLKLAT_OPS ? start->op : BLKLAT_OP_OTHER;
	u64 ns = now - start->ns, *bin;
	struct blklat_series *s;

	if (!watch)
		return;
	if (cfg_idle_gap_ns && ns > SEEN_EVERY_NS)
		note_bio_end(watch, now);
	if (cfg_idle_gap_ns && start->after_idle[i])
		count_after_idle(watch, op, ns);
	s = series_of(watch, op);
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
	complete_bio(&start, 0, now, error);
	if (cfg_partitions)
		complete_bio(&start, 1, now, error);
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

/*
 * Bios that end with (a part of) a request have no block_bio_complete of their own; it was traced
 * already, as blk_update_request() says. Those within the completed bytes end, but within a flush
 * sequence all wait for its last step. A bio that was split ends with its last part.
 */
static __noinline int end_bios(struct request *rq, u32 bytes, u32 error)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);

	if (rq->rq_flags & cfg_flush_seq)
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

#endif
