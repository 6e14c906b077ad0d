// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each bio may be in either of two buckets of eight, chosen by its address. It goes to the first; if half of that is
 * taken, to the emptier one. With the table half full, the chance that both are full is negligible (Azar et al.,
 * "Balanced Allocations", 1999), so a bound on the table is a bound on the bios in flight.
 *
 * The order of the writes is that of the programs' table (docs/counting.md). A key is claimed, then
 * the fields are written, and last the time, which is 0 while they change. At the end the fields are
 * read before the key is freed. So a reader that finds the same time before and after it reads the
 * fields has the fields of one bio.
 */
#include "bios.h"

#include <linux/cache.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "kernel.h"

#define BUCKET 8

/* The keys have a cache line of their own, so looking for a bio that is not there reads two lines only. */
struct bucket {
	const void *key[BUCKET];	/* NULL: free */
	struct blklat_bio bio[BUCKET];
} ____cacheline_aligned;

struct blklat_bio_table {
	u32 bits;
	u32 parts;		/* of each watch */
	struct bucket *buckets;
	bool *spilled;		/* [bucket]: a bio whose first bucket it is has been in its second one */
};

struct place {
	struct bucket *bucket;
	u32 i;
};

int blklat_bio_table_new(u32 max_bios, u32 parts, struct blklat_bio_table **ret)
{
	struct blklat_bio_table *t = kzalloc(sizeof(*t), BLKLAT_GFP);
	u64 bytes;

	if (!t)
		return -ENOMEM;
	t->parts = parts;
	/* The table is about half full when it holds max_bios. */
	t->bits = ilog2(roundup_pow_of_two(max(max_bios, 8U) / (BUCKET / 2)));
	bytes = (sizeof(*t->buckets) + sizeof(*t->spilled)) << t->bits;
	if (bytes / PAGE_SIZE <= si_mem_available() / 2)
		t->buckets = kvzalloc(bytes, BLKLAT_GFP);
	if (!t->buckets) {
		kfree(t);
		return -ENOMEM;
	}
	t->spilled = (bool *)(t->buckets + (1UL << t->bits));
	*ret = t;
	return 0;
}

void blklat_bio_table_free(struct blklat_bio_table *t)
{
	if (!t)
		return;
	kvfree(t->buckets);
	kfree(t);
}

/*
 * First buckets are in the order of the bios' addresses, so that bios which an allocator gives and takes one after the
 * other, those of a few slabs, use a few pages of the table. One bucket stands for 207 bytes (2^15 / golden ratio is
 * 20251), so bios at any power of two from each other use all buckets.
 */
static __always_inline u32 first_of(const struct blklat_bio_table *t, const void *bio)
{
	return ((u64)(uintptr_t)bio * 20251 >> 22) & ((1U << t->bits) - 1);
}

/* A different bucket: the distance is odd, so never 0. */
static u32 second_of(const struct blklat_bio_table *t, const void *bio)
{
	return (first_of(t, bio) + (hash_ptr(bio, t->bits) | 1)) & ((1U << t->bits) - 1);
}

static __always_inline struct place find_in(struct bucket *b, const void *bio)
{
	u32 i;

#pragma GCC unroll 8
	for (i = 0; i < BUCKET; i++)
		if (READ_ONCE(b->key[i]) == bio)
			return (struct place){ b, i };
	return (struct place){ NULL };
}

static __always_inline struct place find(const struct blklat_bio_table *t, const void *bio)
{
	u32 first = first_of(t, bio);
	struct place at = find_in(&t->buckets[first], bio);

	if (!at.bucket && unlikely(READ_ONCE(t->spilled[first])))
		at = find_in(&t->buckets[second_of(t, bio)], bio);
	return at;
}

static u32 n_free(const struct bucket *b)
{
	u32 n = 0, i;

	for (i = 0; i < BUCKET; i++)
		n += !READ_ONCE(b->key[i]);
	return n;
}

/* Claims one of the first @n places. */
static __always_inline struct place claim_in(struct bucket *b, u32 n, const void *bio)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (!READ_ONCE(b->key[i]) && !cmpxchg(&b->key[i], NULL, bio))
			return (struct place){ b, i };
	return (struct place){ NULL };
}

static noinline struct place claim_emptier(struct blklat_bio_table *t, const void *bio)
{
	u32 first = first_of(t, bio);
	struct bucket *b[2] = { &t->buckets[first], &t->buckets[second_of(t, bio)] };
	bool second = n_free(b[1]) > n_free(b[0]);
	struct place at;

	if (!READ_ONCE(t->spilled[first]))
		WRITE_ONCE(t->spilled[first], true);	/* before the bio is there, as claim_in() is a barrier */
	at = claim_in(b[second], BUCKET, bio);
	return at.bucket ? at : claim_in(b[!second], BUCKET, bio);
}

static __always_inline struct place claim(struct blklat_bio_table *t, const void *bio)
{
	struct place at = claim_in(&t->buckets[first_of(t, bio)], BUCKET / 2, bio);

	return likely(at.bucket) ? at : claim_emptier(t, bio);
}

static __always_inline struct blklat_bio *entry(struct place at)
{
	return &at.bucket->bio[at.i];
}

static __always_inline void fill(struct place at, const struct blklat_bio *start)
{
	const size_t rest = sizeof(start->ns);

	memcpy((void *)entry(at) + rest, (const void *)start + rest, sizeof(*start) - rest);
	smp_store_release(&entry(at)->ns, start->ns);
}

/* Whether two watches, in the form of struct blklat_bio, belong to the same whole. */
static bool same_whole(const struct blklat_bio_table *t, u32 a, u32 b)
{
	return a && b ? (a - 1) / (1 + t->parts) == (b - 1) / (1 + t->parts) : a == b;
}

/*
 * Is the bio that is queued now the one that was held back? (A bio of a device that went away in
 * between is never queued.)
 */
static bool let_go(const struct blklat_bio_table *t, struct blklat_bio *before, const struct blklat_bio *now)
{
	if (!before->held || !same_whole(t, before->watch[0], now->watch[0]) ||
	    !same_whole(t, before->watch[1], now->watch[1]))
		return false;
	before->held = false;
	return true;
}

int blklat_bio_add(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start)
{
	struct place at = find(t, bio);

	if (unlikely(at.bucket))
		return let_go(t, entry(at), start) ? -EALREADY : -EEXIST;
	at = claim(t, bio);
	if (!at.bucket)
		return -ENOSPC;
	fill(at, start);
	return 0;
}

void blklat_bio_replace(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start,
			struct blklat_bio *missed)
{
	struct place at = find(t, bio);

	if (!at.bucket)
		return;
	*missed = *entry(at);
	WRITE_ONCE(entry(at)->ns, 0);
	smp_wmb();
	fill(at, start);
}

bool blklat_bio_hold(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start)
{
	struct place at;

	if (find(t, bio).bucket)
		return false;
	at = claim(t, bio);
	if (at.bucket)
		fill(at, start);
	return at.bucket;
}

/*
 * A bio that is larger than its device takes is split: bio_split() makes a new bio, a piece, of its front, and
 * bio_chain() lets the bio end after the piece. What remains of it goes on as the same bio. With requests no event
 * tells the bio's true end: block_rq_complete comes for each piece and for the rest, in any order, and
 * blk_update_request() keeps block_bio_complete from being traced. So pieces are counted from block_split on. Each
 * has an entry, without a watch, so its end is found in the same way as a bio's.
 */
#define REST_ENDED (1 << 30)	/* in pieces: what remained of the bio has ended, some pieces have not */
#define IS_PIECE -1		/* pieces of a piece, whose own are its bio's */

static void free_entry(struct place at)
{
	WRITE_ONCE(entry(at)->ns, 0);
	smp_store_release(&at.bucket->key[at.i], NULL);
}

static const void *bio_of_piece(const struct blklat_bio *piece)
{
	return (const void *)(uintptr_t)piece->ns;
}

void blklat_bio_split(struct blklat_bio_table *t, const void *piece, const void *bio)
{
	struct blklat_bio start = { .pieces = ATOMIC_INIT(IS_PIECE) };
	struct place at = find(t, bio);

	if (at.bucket && atomic_read(&entry(at)->pieces) == IS_PIECE) {
		bio = bio_of_piece(entry(at));
		at = find(t, bio);
	}
	if (!at.bucket)
		return;
	start.ns = (uintptr_t)bio;
	if (blklat_bio_hold(t, piece, &start))
		atomic_inc(&entry(at)->pieces);
}

/* What ends @at has @pieces, or is one. Returns what ends for good: it, or the bio of which it was the last piece. */
static noinline struct place ending_with(const struct blklat_bio_table *t, struct place at, int pieces, int error,
					 bool alone)
{
	const struct place none = { NULL };
	int change = REST_ENDED;
	const void *bio;

	if (alone && pieces != IS_PIECE)
		return at;
	if (pieces == IS_PIECE) {
		bio = bio_of_piece(entry(at));
		free_entry(at);
		change = -1;
		at = find(t, bio);
		/* The second: the bio has ended, since the end of another of its pieces was missed. */
		if (!at.bucket || atomic_read(&entry(at)->pieces) % REST_ENDED <= 0)
			return none;
	}
	if (error)
		entry(at)->error = error;
	return atomic_add_return(change, &entry(at)->pieces) == REST_ENDED ? at : none;
}

bool blklat_bio_take(struct blklat_bio_table *t, const void **bio, int error, bool alone, struct blklat_bio *ret)
{
	struct place at = find(t, *bio);
	int pieces;

	if (!at.bucket)
		return false;
	pieces = atomic_read(&entry(at)->pieces);
	if (unlikely(pieces)) {
		at = ending_with(t, at, pieces, error, alone);
		if (!at.bucket)
			return false;
		*bio = at.bucket->key[at.i];
	}
	*ret = *entry(at);
	ret->error = error ?: ret->error;
	free_entry(at);
	return true;
}

bool blklat_bio_got(struct blklat_bio_table *t, const void *bio, struct blklat_bio *ret)
{
	struct place at = find(t, bio);
	struct blklat_bio *found;

	if (!at.bucket)
		return false;
	found = entry(at);
	if (!found->waits[0] && !found->waits[1])
		return false;
	*ret = *found;
	WRITE_ONCE(found->waits[0], false);
	WRITE_ONCE(found->waits[1], false);
	smp_wmb();	/* before its bin: see abi.h */
	return true;
}

static void count(struct blklat_bio_count *counts, u32 watches, u32 watch, u64 ns)
{
	if (!watch || watch > watches)
		return;
	counts[watch - 1].in_flight++;
	counts[watch - 1].starts_ns += ns;
	if (ns < counts[watch - 1].earliest_ns)
		counts[watch - 1].earliest_ns = ns;
}

/* @each: watches of a whole. */
static void count_bio(const struct blklat_bio *bio, struct blklat_bio_count *counts, u32 watches, u32 each)
{
	u64 ns;

	/* The bio may end in the meantime, and another one begin here. */
	while ((ns = smp_load_acquire(&bio->ns))) {
		const u32 watch[2] = { READ_ONCE(bio->watch[0]), READ_ONCE(bio->watch[1]) };
		const bool waits[2] = { READ_ONCE(bio->waits[0]), READ_ONCE(bio->waits[1]) };
		u32 i;

		smp_rmb();
		if (READ_ONCE(bio->ns) != ns)
			continue;
		for (i = 0; i < 2; i++) {
			count(counts, watches, watch[i], ns);
			if (waits[i])
				count(counts, watches, watch[i] + each, ns);
		}
		return;
	}
}

void blklat_bio_count(const struct blklat_bio_table *t, struct blklat_bio_count *counts, u32 watches)
{
	u32 i, n;

	for (i = 0; i < watches; i++)
		counts[i] = (struct blklat_bio_count){ .earliest_ns = U64_MAX };
	for (i = 0; i < 1U << t->bits; i++) {
		for (n = 0; n < BUCKET; n++)
			count_bio(&t->buckets[i].bio[n], counts, watches, 1 + t->parts);
		if (!(i % 1024))
			cond_resched();
	}
}
