/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of cells (capture.h). Programs on all CPUs add and remove bios at the same time. Nothing
 * else is in this file, so that tests/unit/test_bio_cells_order.c can run these very functions against
 * each other and the reader.
 */
#ifndef BIO_CELLS_BPF_H
#define BIO_CELLS_BPF_H

#include "turns.bpf.h"

/* Defined by the including file. */
static __always_inline struct bio_bucket *bio_bucket_of(u64 key, u32 choice);
static __always_inline struct bio_bucket *no_room_bucket(u64 key);
static __always_inline void account_missed_bio(const struct bio_start *start, u32 turn);
static __always_inline u32 whole_watch(u32 watch);

/*
 * poke_last() writes a value that must not become visible before all earlier reads and writes.
 * poke_first() writes one that becomes visible before all later writes. (Where there are cells, there are barriers for
 * reads as well: see slots.bpf.h.)
 */
#ifndef poke_last
#define poke_last(at, value) do { order_writes(); poke(at, value); } while (0)
#define poke_first(at, value) do { poke(at, value); order_writes(); } while (0)
#endif

#ifndef copy_start
#define copy_start(to, from) (*(to) = *(from))
#endif

/*
 * The compiler must not know what this address is. Clang 19 would go through a bucket with a pointer to the cell
 * before, which at first is in front of the bucket, and 7.2's verifier refuses to read at an offset from that.
 */
static __always_inline struct bio_cell *cell_at(struct bio_bucket *b, u32 i)
{
	struct bio_cell *cell = &b->cell[i];

	asm volatile("" : "+r"(cell));
	return cell;
}

static __always_inline struct bio_cell *find_in(struct bio_bucket *b, u64 key)
{
	for (u32 i = 0; b && i < BIO_BUCKET; i++) {
		struct bio_cell *cell = cell_at(b, i);

		if (peek(&cell->key) == key)
			return cell;
	}
	return NULL;
}

static __always_inline struct bio_cell *cell_of(u64 key)
{
	struct bio_cell *cell = find_in(bio_bucket_of(key, 0), key);

	return cell ? cell : find_in(bio_bucket_of(key, 1), key);
}

/* One of the first @n. */
static __always_inline struct bio_cell *claim_in(struct bio_bucket *b, u32 n, u64 key)
{
	for (u32 i = 0; b && i < n; i++) {
		struct bio_cell *cell = cell_at(b, i);

		if (!peek(&cell->key) && !__sync_val_compare_and_swap(&cell->key, 0, key))
			return cell;
	}
	return NULL;
}

static __always_inline void fill_cell(struct bio_cell *cell, const struct bio_start *start)
{
	poke(&cell->start.bytes, start->bytes);
	poke(&cell->start.state, start->state);
	poke(&cell->start.watch[0], start->watch[0]);
	poke(&cell->start.watch[1], start->watch[1]);
	poke_last(&cell->start.ns, start->ns);
}

/*
 * A standby can't tell a bio that found no room from one that no program has seen, and by then there
 * may be room. So a bio that found no room is noted in a separate table. That table is large enough for
 * all bios that can be between their first program and their last standby at the same time.
 */
static __always_inline void note_no_room(u64 key, u32 turn)
{
	struct bio_bucket *b = no_room_bucket(key);

	/* A note outlives its bio, so none is left where no standby would remove it. */
	if (!has_next(turn, BPF_BIO_QUEUE))
		return;
	/*
	 * The bucket is full of notes that were not removed because their last standby was skipped:
	 * overwrite one.
	 */
	if (!claim_in(b, BIO_BUCKET, key))
		poke(&b->cell[0].key, key);
}

static __always_inline bool found_no_room(u64 key, u32 turn)
{
	struct bio_cell *note = turn == TURN_FIRST ? NULL : find_in(no_room_bucket(key), key);

	if (note && !leaves_mark(turn, BPF_BIO_QUEUE))
		poke(&note->key, 0);
	return note;
}

enum remembered {
	REMEMBERED,
	NO_ROOM,
	NOT_MINE,	/* another program did the work: an earlier one, or the one that saw the bio held back */
};

/*
 * Is the bio that is queued now the one that was held back? (A bio of a device that went away in between is never
 * queued.) If so, it keeps the part in which it began.
 */
static __always_inline bool was_held(const struct bio_start *before, const struct bio_start *now)
{
	return before->held && whole_watch(peek(&before->watch[0])) == whole_watch(now->watch[0]) &&
	       whole_watch(peek(&before->watch[1])) == whole_watch(now->watch[1]);
}

/*
 * A bio that a limit may hold back, before it is queued. Returns whether it was stored. It was not if
 * there is no room, or if it has a cell already, because it comes by a second time or an end was
 * missed. Then it begins when it is queued, if it ever is.
 */
static __always_inline bool hold_in_cell(u64 key, const struct bio_start *start)
{
	struct bio_bucket *first = bio_bucket_of(key, 0), *second = bio_bucket_of(key, 1);
	struct bio_cell *cell;

	if (find_in(first, key) || find_in(second, key))
		return false;
	cell = claim_in(first, BIO_USUAL, key) ?: claim_in(second, BIO_BUCKET, key) ?: claim_in(first, BIO_BUCKET, key);
	if (cell)
		fill_cell(cell, start);
	return cell;
}

/* The bio is queued now, and a mark tells the programs after @turn. Its time stays the same. */
static __always_inline void let_go(struct bio_cell *cell, u32 turn)
{
	cell->start.held = 0;
	if (leaves_mark(turn, BPF_BIO_QUEUE))
		poke(&cell->start.ns, peek(&cell->start.ns) | BLKLAT_SLOT_SEEN);
}

/*
 * A bio is queued whose key is in the table. Returns whether that key's bio is another one, whose end was missed. Then
 * it is accounted, and the cell is free to be filled. Otherwise another program did the work.
 */
static __noinline int begins_anew(u64 key, u32 watch, u32 of_partition, u32 turn)
{
	const struct bio_start now = { .watch = { watch, of_partition } };
	struct bio_cell *cell = cell_of(key);

	if (!cell || is_done(&cell->start.ns, BLKLAT_SLOT_SEEN, turn, BPF_BIO_QUEUE))
		return false;
	if (was_held(&cell->start, &now)) {
		let_go(cell, turn);
		return false;
	}
	account_missed_bio(&cell->start, turn);
	/* Otherwise the reader could see the old time with the fields of the next bio. */
	poke_first(&cell->start.ns, 0);
	return true;
}

static __always_inline enum remembered remember_in_cell(u64 key, struct bio_start *start, u32 turn)
{
	struct bio_bucket *first = bio_bucket_of(key, 0), *second;
	struct bio_cell *cell = NULL;
	bool there = find_in(first, key);

	if (!there && turn == TURN_FIRST)
		cell = claim_in(first, BIO_USUAL, key);
	if (!there && !cell) {
		second = bio_bucket_of(key, 1);
		there = find_in(second, key);
		if (!there && found_no_room(key, turn))
			return NOT_MINE;
		if (!there)
			cell = claim_in(second, BIO_BUCKET, key) ?: claim_in(first, BIO_BUCKET, key);
	}
	if (there) {
		if (!begins_anew(key, start->watch[0], start->watch[1], turn))
			return NOT_MINE;
		cell = cell_of(key);
	}
	if (!cell) {
		note_no_room(key, turn);
		return NO_ROOM;
	}
	if (leaves_mark(turn, BPF_BIO_QUEUE))
		start->ns |= BLKLAT_SLOT_SEEN;
	fill_cell(cell, start);
	return REMEMBERED;
}

/* --- ends, and pieces ---------------------------------------------------------------------- */

/*
 * A bio that is larger than its device takes is split: bio_split() makes a new bio, a piece, of its front, and
 * bio_chain() lets the bio end after the piece. What remains of it goes on as the same bio, and may be split again,
 * as may the piece. With requests no event tells the bio's true end: block_rq_complete comes for each piece and for
 * the rest, in any order, and blk_update_request() keeps block_bio_complete from being traced. So pieces are counted
 * from block_split on. Each has a cell, so its end is found in the same way as a bio's. The bio ends with the last of
 * its pieces or with its rest, whichever is later. A piece that finds no room, or whose split was missed, is not
 * waited for.
 */
static __always_inline bool is_piece(const struct bio_start *start)
{
	return !peek(&start->watch[0]) && !peek(&start->watch[1]);
}

static __always_inline void free_cell(struct bio_cell *cell)
{
	poke(&cell->start.ns, 0);
	poke_last(&cell->key, 0);
}

/* NULL: the bio is not in the table. */
static __always_inline struct bio_start *start_in_cell(u64 key)
{
	struct bio_cell *cell = cell_of(key);

	return cell ? &cell->start : NULL;
}

/* The key of the bio with this @key, or of which that is a piece. 0: it is not in the table, or has too many pieces. */
static __noinline u64 split_bio(u64 key)
{
	struct bio_cell *cell = cell_of(key);

	if (cell && is_piece(&cell->start)) {
		key = peek(&cell->start.ns);
		cell = cell_of(key);
	}
	return cell && cell->start.pieces < BIO_PIECES_MAX ? key : 0;
}

static __noinline int hold_piece(u64 piece, u64 of)
{
	const struct bio_start start = { .ns = of, .pieces = 1 };

	return hold_in_cell(piece, &start);
}

/*
 * The bio with the key @piece was split off the one with the key @of, which may be a piece itself. In functions: the
 * verifier would go through each cell of one together with each of the next.
 */
static __always_inline void add_piece_in_cells(u64 piece, u64 of)
{
	struct bio_cell *cell;

	of = split_bio(of);
	if (!of || !hold_piece(piece, of))
		return;
	cell = cell_of(of);
	if (cell)
		__sync_fetch_and_add(&cell->start.state, BIO_PIECE);
}

/*
 * The bio in @cell with this @key, which is a piece or has pieces, ends: by itself (@alone), which is after all of its
 * pieces, or with a request. Returns the key of the bio that ends for good: its own, or that of the bio of which it
 * was a piece. 0: none does.
 */
static __noinline u64 bio_ending_with(struct bio_cell *cell, u64 key, u32 error, bool alone)
{
	u32 change = BIO_ITSELF, state;

	if (is_piece(&cell->start)) {
		key = peek(&cell->start.ns);
		free_cell(cell);
		cell = cell_of(key);
		change = -BIO_PIECE;
		/* The bio has ended, since the end of another of its pieces was missed. */
		if (!cell || (peek(&cell->start.state) & ~BIO_ITSELF) < BIO_PIECE)
			return 0;
	} else if (alone || peek(&cell->start.state) & BIO_ITSELF) {
		return alone ? key : 0;	/* else for a standby: the rest was counted */
	}
	if (error)
		cell->start.error = error;
	state = __sync_fetch_and_add(&cell->start.state, change) + change;
	return state >> 16 == BIO_ITSELF >> 16 ? key : 0;
}

/*
 * Takes out the bio that ends when the one with this @key does (bio_ending_with()), and sets @key to its. Returns
 * whether there is one.
 */
static __always_inline bool recall_from_cell(u64 *key, u32 error, bool alone, struct bio_start *ret)
{
	struct bio_cell *cell = cell_of(*key);

	if (cell && peek(&cell->start.state) >= BIO_PIECE) {
		*key = bio_ending_with(cell, *key, error, alone);
		cell = *key ? cell_of(*key) : NULL;
	}
	if (!cell)
		return false;
	copy_start(ret, &cell->start);
	free_cell(cell);
	return true;
}

#endif
