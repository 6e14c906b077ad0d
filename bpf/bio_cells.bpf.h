/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of cells (capture.h): a bio is remembered, a bio is recalled, by programs on all CPUs at once. Nothing else is
 * in here, so that tests/unit/test_bio_order.c can run these very functions against each other and the reader.
 */
#ifndef BIO_CELLS_BPF_H
#define BIO_CELLS_BPF_H

#include "turns.bpf.h"

/* Their includer has these. */
static __always_inline struct bio_bucket *bio_bucket_of(u64 key, u32 choice);
static __always_inline void account_bio(const struct bio_start *start, u32 cell, u32 turn);

/*
 * poke_last() writes what nobody may see before all that was read and written until then, poke_first() what is seen before
 * all that is written from then on. x86 keeps such an order by itself. Of what BPF has for other CPUs, an exchange does.
 */
#ifndef poke_last
#ifdef __TARGET_ARCH_x86
#define poke_last(at, value) do { order_writes(); poke(at, value); } while (0)
#define poke_first(at, value) do { poke(at, value); order_writes(); } while (0)
#else
#define poke_last(at, value) ((void)__sync_lock_test_and_set(at, value))
#define poke_first(at, value) poke_last(at, value)
#endif
#endif

#ifndef copy_start
#define copy_start(to, from) (*(to) = *(from))
#endif

static __always_inline struct bio_cell *find_in(struct bio_bucket *b, u64 key)
{
	for (u32 i = 0; b && i < BIO_BUCKET; i++)
		if (peek(&b->cell[i].key) == key)
			return &b->cell[i];
	return NULL;
}

static __always_inline struct bio_cell *claim_in(struct bio_bucket *b, u64 key)
{
	for (u32 i = 0; b && i < BIO_BUCKET; i++)
		if (!peek(&b->cell[i].key) && !__sync_val_compare_and_swap(&b->cell[i].key, 0, key))
			return &b->cell[i];
	return NULL;
}

static __always_inline void fill_cell(struct bio_cell *cell, const struct bio_start *start)
{
	poke(&cell->start.bytes, start->bytes);
	poke(&cell->start.op, start->op);
	poke(&cell->start.after_idle[0], start->after_idle[0]);
	poke(&cell->start.after_idle[1], start->after_idle[1]);
	poke(&cell->start.watch[0], start->watch[0]);
	poke(&cell->start.watch[1], start->watch[1]);
	poke_last(&cell->start.ns, start->ns);
}

/* Returns whether @start is in the table now; for a standby, whether it put it there. */
static __always_inline bool remember_in_cell(u64 key, struct bio_start *start, u32 turn)
{
	struct bio_bucket *b = bio_bucket_of(key, 0);
	struct bio_cell *cell = find_in(b, key);

	if (!cell && turn != TURN_FIRST)
		cell = find_in(bio_bucket_of(key, 1), key);
	if (cell) {
		if (is_done(&cell->start.ns, BLKLAT_SLOT_SEEN, turn, BPF_BIO_QUEUE))
			return false;
		/* Its end was not seen. */
		account_bio(&cell->start, BLKLAT_OVERWRITTEN, turn);
		/* Or the reader has its time with the fields of the next. */
		poke_first(&cell->start.ns, 0);
	} else {
		cell = claim_in(b, key);
		if (!cell)
			cell = claim_in(bio_bucket_of(key, 1), key);
	}
	if (!cell)
		return false;
	if (leaves_mark(turn, BPF_BIO_QUEUE))
		start->ns |= BLKLAT_SLOT_SEEN;
	fill_cell(cell, start);
	return true;
}

/* Takes a bio out. Returns whether it was in. */
static __always_inline bool recall_from_cell(u64 key, struct bio_start *ret)
{
	struct bio_cell *cell = find_in(bio_bucket_of(key, 0), key);

	if (!cell)
		cell = find_in(bio_bucket_of(key, 1), key);
	if (!cell)
		return false;
	copy_start(ret, &cell->start);
	poke(&cell->start.ns, 0);
	poke_last(&cell->key, 0);
	return true;
}

#endif
