/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of bios for kernels before 5.12, which lack compare-and-exchange for BPF (5ffa25502b5a) and so the cells
 * of bio_cells.bpf.h.
 */
#ifndef BIO_HASH_BPF_H
#define BIO_HASH_BPF_H

#include "bio_cells.bpf.h"

#include <asm-generic/errno-base.h>

/* Its size is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct bio_start);
} bio_hash SEC(".maps");

static __always_inline enum remembered remember_in_hash(u64 key, const struct bio_start *start)
{
	struct bio_start *missed;
	/*
	 * The verifier makes this a call of the map's own function, which returns an int: the upper
	 * half of the register is undefined.
	 */
	int err = bpf_map_update_elem(&bio_hash, &key, start, BPF_NOEXIST);

	if (err == -EEXIST) {
		missed = bpf_map_lookup_elem(&bio_hash, &key);
		if (missed && was_held(missed, start)) {
			missed->held = 0;
			return NOT_MINE;
		}
		if (missed)
			account_missed_bio(missed, TURN_FIRST);
		err = bpf_map_update_elem(&bio_hash, &key, start, BPF_ANY);
	}
	return err ? NO_ROOM : REMEMBERED;
}

static __always_inline bool hold_in_hash(u64 key, const struct bio_start *start)
{
	int err = bpf_map_update_elem(&bio_hash, &key, start, BPF_NOEXIST);

	return !err;
}

static __always_inline void add_piece_in_hash(u64 piece, u64 of)
{
	struct bio_start *found = bpf_map_lookup_elem(&bio_hash, &of), start;

	if (found && is_piece(found)) {
		of = found->ns;
		found = bpf_map_lookup_elem(&bio_hash, &of);
	}
	if (!found || found->pieces >= BIO_PIECES_MAX)
		return;
	start = (struct bio_start){ .ns = of, .pieces = 1 };
	if (hold_in_hash(piece, &start))
		__sync_fetch_and_add(&found->state, BIO_PIECE);
}

/*
 * As bio_ending_with(), with the bio that ends. Without atomic additions that return something, two ends may both find
 * that they are the last.
 */
static __always_inline struct bio_start *ending_in_hash(u64 *key, u32 error, bool alone)
{
	struct bio_start *found = bpf_map_lookup_elem(&bio_hash, key);
	u32 change = BIO_ITSELF;
	u64 piece = *key;

	if (!found || !found->pieces)
		return found;
	if (is_piece(found)) {
		*key = found->ns;
		bpf_map_delete_elem(&bio_hash, &piece);
		found = bpf_map_lookup_elem(&bio_hash, key);
		change = -BIO_PIECE;
		if (!found || !(found->pieces & BIO_PIECES_MAX))
			return NULL;
	} else if (alone) {
		return found;
	}
	if (error)
		found->error = error;
	__sync_fetch_and_add(&found->state, change);
	return *(volatile u32 *)&found->state >> 16 == BIO_ITSELF >> 16 ? found : NULL;
}

static __always_inline bool recall_from_hash(u64 *key, u32 error, bool alone, struct bio_start *ret)
{
	struct bio_start *found = ending_in_hash(key, error, alone);
	int err;

	if (!found)
		return false;
	*ret = *found;
	err = bpf_map_delete_elem(&bio_hash, key);	/* an int, as above */
	return !err;
}

#endif
