// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each bio may be in either of two buckets of eight, chosen by two hashes, and goes to the emptier one.
 * With the table half full, the chance that both are full is negligible (Azar et al., "Balanced
 * Allocations", 1999), so a bound on the table is a bound on the bios in flight.
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
	bytes = sizeof(*t->buckets) << t->bits;
	if (bytes / PAGE_SIZE <= si_mem_available() / 2)
		t->buckets = kvzalloc(bytes, BLKLAT_GFP);
	if (!t->buckets) {
		kfree(t);
		return -ENOMEM;
	}
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

static __always_inline void buckets_of(const struct blklat_bio_table *t, const void *bio, struct bucket *ret[2])
{
	u64 hash = (u64)(uintptr_t)bio * GOLDEN_RATIO_64;

	/*
	 * Hash once more: if addresses are evenly spaced, the upper and the lower bits of a single
	 * product repeat together.
	 */
	hash = (hash ^ hash >> 32) * GOLDEN_RATIO_64;
	ret[0] = &t->buckets[hash >> (64 - t->bits)];
	/* A different bucket: the distance is odd, so never 0. */
	ret[1] = &t->buckets[((hash >> (64 - t->bits)) + (hash >> 8 | 1)) & ((1U << t->bits) - 1)];
}

static __always_inline bool find(struct bucket *const buckets[2], const void *bio, struct place *ret)
{
	int b;
	u32 i;

	for (b = 0; b < 2; b++)
		for (i = 0; i < BUCKET; i++)
			if (READ_ONCE(buckets[b]->key[i]) == bio) {
				*ret = (struct place){ buckets[b], i };
				return true;
			}
	return false;
}

static u32 n_free(const struct bucket *b)
{
	u32 n = 0, i;

	for (i = 0; i < BUCKET; i++)
		n += !READ_ONCE(b->key[i]);
	return n;
}

static bool claim(struct bucket *b, const void *bio, struct place *ret)
{
	u32 i;

	for (i = 0; i < BUCKET; i++)
		if (!READ_ONCE(b->key[i]) && !cmpxchg(&b->key[i], NULL, bio)) {
			*ret = (struct place){ b, i };
			return true;
		}
	return false;
}

static void fill(struct place at, const struct blklat_bio *start)
{
	struct blklat_bio *to = &at.bucket->bio[at.i];

	to->bytes = start->bytes;
	to->op = start->op;
	to->error = 0;
	atomic_set(&to->pieces, atomic_read(&start->pieces));
	to->held = start->held;
	memcpy(to->after_idle, start->after_idle, sizeof(to->after_idle));
	memcpy(to->waits, start->waits, sizeof(to->waits));
	WRITE_ONCE(to->watch[0], start->watch[0]);
	WRITE_ONCE(to->watch[1], start->watch[1]);
	smp_store_release(&to->ns, start->ns);
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

int blklat_bio_add(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start,
		   struct blklat_bio *missed)
{
	struct bucket *buckets[2];
	struct place at;
	int emptier;

	buckets_of(t, bio, buckets);
	missed->ns = 0;
	if (find(buckets, bio, &at)) {
		if (let_go(t, &at.bucket->bio[at.i], start))
			return -EALREADY;
		*missed = at.bucket->bio[at.i];
		WRITE_ONCE(at.bucket->bio[at.i].ns, 0);
		smp_wmb();
		fill(at, start);
		return 0;
	}
	emptier = n_free(buckets[1]) > n_free(buckets[0]);
	if (!claim(buckets[emptier], bio, &at) && !claim(buckets[!emptier], bio, &at))
		return -ENOSPC;
	fill(at, start);
	return 0;
}

bool blklat_bio_hold(struct blklat_bio_table *t, const void *bio, const struct blklat_bio *start)
{
	struct bucket *buckets[2];
	struct place at;

	buckets_of(t, bio, buckets);
	if (find(buckets, bio, &at) || (!claim(buckets[0], bio, &at) && !claim(buckets[1], bio, &at)))
		return false;
	fill(at, start);
	return true;
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

static struct blklat_bio *entry(struct place at)
{
	return &at.bucket->bio[at.i];
}

static __always_inline bool find_in(const struct blklat_bio_table *t, const void *bio, struct place *ret)
{
	struct bucket *buckets[2];

	buckets_of(t, bio, buckets);
	return find(buckets, bio, ret);
}

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
	struct place at;

	if (!find_in(t, bio, &at))
		return;
	if (atomic_read(&entry(at)->pieces) == IS_PIECE) {
		bio = bio_of_piece(entry(at));
		if (!find_in(t, bio, &at))
			return;
	}
	start.ns = (uintptr_t)bio;
	if (blklat_bio_hold(t, piece, &start))
		atomic_inc(&entry(at)->pieces);
}

/*
 * What ends at *@at has @pieces, or is one. Returns whether it ends for good, or else the bio of which it was the
 * last piece, which *@at is then.
 */
static noinline bool ends(const struct blklat_bio_table *t, struct place *at, int pieces, int error, bool alone)
{
	int change = REST_ENDED;
	const void *bio;

	if (alone && pieces != IS_PIECE)
		return true;
	if (pieces == IS_PIECE) {
		bio = bio_of_piece(entry(*at));
		free_entry(*at);
		change = -1;
		/* The second: the bio has ended, since the end of another of its pieces was missed. */
		if (!find_in(t, bio, at) || atomic_read(&entry(*at)->pieces) % REST_ENDED <= 0)
			return false;
	}
	if (error)
		entry(*at)->error = error;
	return atomic_add_return(change, &entry(*at)->pieces) == REST_ENDED;
}

bool blklat_bio_take(struct blklat_bio_table *t, const void **bio, int error, bool alone, struct blklat_bio *ret)
{
	struct place at;
	int pieces;

	if (!find_in(t, *bio, &at))
		return false;
	pieces = atomic_read(&entry(at)->pieces);
	if (unlikely(pieces)) {
		struct place whole = at;	/* at itself stays in registers */

		if (!ends(t, &whole, pieces, error, alone))
			return false;
		at = whole;
		*bio = at.bucket->key[at.i];
	}
	*ret = *entry(at);
	ret->error = error ?: ret->error;
	free_entry(at);
	return true;
}

bool blklat_bio_got(struct blklat_bio_table *t, const void *bio, struct blklat_bio *ret)
{
	struct blklat_bio *found;
	struct place at;

	if (!find_in(t, bio, &at))
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
