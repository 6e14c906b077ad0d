/* SPDX-License-Identifier: GPL-2.0-only */
/* Stage total: bios that are split, and where their pieces are seen. How they are counted is in bio_cells.bpf.h. */
#ifndef SPLITS_BPF_H
#define SPLITS_BPF_H

#include "bios.bpf.h"

u64 epoch_address;

/*
 * The number of the bio that @bio was split from, to which bio_chain() has made it point. If @bio is none of a chain,
 * this is the number of no watched bio. The verifier has a void pointer in a kernel struct for a number
 * (btf_struct_walk()), as it has what is read from a map, where a program with CAP_PERFMON may have written a
 * pointer.
 */
static __always_inline u64 number_of_parent(const struct bio *bio)
{
	*(volatile u64 *)&epoch_address = (u64)&epoch;
	return (u64)bio->bi_private - *(volatile u64 *)&epoch_address;
}

static __always_inline void add_piece(const struct bio *piece, enum table table)
{
	if (table == TABLE_HASH)
		add_piece_in_hash(number_of(piece), number_of_parent(piece));
	else
		add_piece_in_cells(number_of(piece), number_of_parent(piece));
}

/* A piece that has a cell is not counted again, so standbys need no mark. */
PROGRAMS(on_bio_split, "block_split", add_piece(argument(ctx, cfg_bio_split_arg1), TABLE_CELLS))
PROGRAM(on_bio_split_hash, "tp_btf/block_split", TURN_FIRST, add_piece(argument(ctx, cfg_bio_split_arg1), TABLE_HASH))

/* md raid0 split bios without block_split until 6.17, but it traces where it sends each piece. */
PROGRAMS(on_bio_remap, "block_bio_remap", add_piece(argument(ctx, cfg_bio_remap_arg1), TABLE_CELLS))
PROGRAM(on_bio_remap_hash, "tp_btf/block_bio_remap", TURN_FIRST, add_piece(argument(ctx, cfg_bio_remap_arg1), TABLE_HASH))

#endif
