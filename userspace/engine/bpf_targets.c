// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/geometry.h"
#include "util/cleanup.h"

#define ONE_LOOK_TRIES 4096	/* factors to try for each size */
#define TWO_LOOK_TRIES 64
#define MOST_MOVES 512		/* of targets that make room for another one */
#define TWO_LOOK_BITS 25	/* the largest hash with two lookups, 2 GiB: the limit of a map's value */

/* --- the list of targets ----------------------------------------------------------------------- */

/* An index of the list by key while it is made: an open hash of positions + 1. */
struct positions {
	u32 *cells;
	u32 mask;
};

static int positions_init(struct positions *in, u32 most)
{
	u32 cells = 2;

	while (cells < 2 * most)
		cells *= 2;
	in->mask = cells - 1;
	in->cells = calloc(cells, sizeof(*in->cells));
	return in->cells ? 0 : -ENOMEM;
}

static struct target *target_for(struct targets *t, struct positions *in, u64 key)
{
	u32 i = key * 0x9e3779b97f4a7c15ULL >> 32 & in->mask;

	for (; in->cells[i]; i = (i + 1) & in->mask)
		if (t->list[in->cells[i] - 1].key == key)
			return &t->list[in->cells[i] - 1];
	in->cells[i] = ++t->n;
	t->list[t->n - 1].key = key;
	return &t->list[t->n - 1];
}

/*
 * Requests point to their queue, bios to the disk, and both to their partition. A request ends its
 * bios, so stage total needs both keys.
 */
static u32 keys_of(const struct watch *w, const struct found_device *found, u64 ret[2])
{
	u32 n = 0;

	if (device_is_partition(w->device)) {
		ret[n++] = found->part;
		return n;
	}
	if (BLKLAT_OF_BIOS(w->stage))
		ret[n++] = found->disk;
	if (w->device->hw_queues)
		ret[n++] = found->queue;
	return n;
}

/*
 * @target: one for each whole, as stages device and queue have just one each. IOs of a part are found
 * as those of the whole.
 */
static int list_targets(struct targets *t, const struct watch *watches, const struct found_device *found, u32 n,
			struct target **target)
{
	struct positions in;
	int err = positions_init(&in, 2 * n);

	if (err)
		return err;
	for (u32 i = 0; i < n; i++) {
		u64 keys[2];
		u32 n_keys = watches[i].part ? 0 : keys_of(&watches[i], &found[i], keys);

		for (u32 k = 0; k < n_keys; k++) {
			target[i] = target_for(t, &in, keys[k]);
			target[i]->watch[watches[i].stage] = i + 1;
		}
	}
	free(in.cells);
	return 0;
}

/* All but the number of queues. */
static void set_slots(struct target *t, const struct slots *s, u32 first)
{
	t->stride = s->stride;
	t->distance = s->shared_tags ? 0 : s->stride;
	t->first_slot = first;
}

/* For stages device and queue; devices that have neither tags nor slots are left empty. */
static void give_slots(struct target *t, const struct targets_of *of, u32 i)
{
	if (of->watches[i].part || BLKLAT_OF_BIOS(of->watches[i].stage))
		return;
	set_slots(t, &of->slots[i], of->ranges[i].first);
	t->queues = of->slots[i].queues;
}

/* --- a bucket for each target ------------------------------------------------------------------ */

/* xorshift64* (Vigna 2016), from a fixed seed: the same devices give the same table. */
static u32 next_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL >> 32;
}

static u32 bucket_at(const struct targets *t, u32 i, u32 look)
{
	return (u32)t->list[i].key * t->factor[look] >> (32 - t->bits);
}

static bool collides(struct targets *t, u32 *stamps, u32 stamp)
{
	for (u32 i = 0; i < t->n; i++) {
		t->bucket[i] = bucket_at(t, i, 0);
		if (stamps[t->bucket[i]] == stamp)
			return true;
		stamps[t->bucket[i]] = stamp;
	}
	return false;
}

/* Finds a factor with which no two share a bucket. The hash grows only to the size for a few hundred targets. */
static int place_for_one_look(struct targets *t, u64 *random, u32 least)
{
	u32 *stamps CLEANUP(cleanup_free) = calloc(1U << BLKLAT_TARGET_BITS, sizeof(*stamps));
	u32 stamp = 0;

	if (!stamps)
		return -ENOMEM;
	for (t->bits = 1; t->bits < BLKLAT_TARGET_BITS && 1U << t->bits < least; t->bits++)
		;
	for (; t->bits <= BLKLAT_TARGET_BITS; t->bits++)
		for (u32 i = 0; i < ONE_LOOK_TRIES; i++) {
			t->factor[0] = next_random(random) | 1;
			if (!collides(t, stamps, ++stamp))
				return 0;
		}
	return -E2BIG;
}

/*
 * Puts a target into one of its two buckets. If both are taken, the owner of one moves to its own other
 * bucket, and so on.
 */
static bool place(struct targets *t, u32 *owners, u32 i, u64 *random)
{
	for (u32 moves = 0; moves < MOST_MOVES; moves++) {
		u32 bucket, other;

		for (u32 look = 0; look < 2; look++) {
			bucket = bucket_at(t, i, look);
			if (owners[bucket])
				continue;
			owners[bucket] = i + 1;
			t->bucket[i] = bucket;
			return true;
		}
		bucket = bucket_at(t, i, next_random(random) & 1);
		other = owners[bucket] - 1;
		owners[bucket] = i + 1;
		t->bucket[i] = bucket;
		i = other;
	}
	return false;
}

/* Moves may have freed the first bucket of some targets. Use it: that saves a lookup for each of their IOs. */
static void prefer_first(struct targets *t, u32 *owners)
{
	for (u32 i = 0; i < t->n; i++) {
		u32 first = bucket_at(t, i, 0);

		if (owners[first])
			continue;
		owners[t->bucket[i]] = 0;
		owners[first] = i + 1;
		t->bucket[i] = first;
	}
}

static bool place_all(struct targets *t, u32 *owners, u64 *random)
{
	memset(owners, 0, sizeof(*owners) << t->bits);
	for (u32 i = 0; i < t->n; i++)
		if (!place(t, owners, i, random))
			return false;
	prefer_first(t, owners);
	return true;
}

/*
 * For any number of targets, with two lookups (cuckoo hashing, Pagh and Rodler 2001); fills the hash to nearly a half.
 * If the lower halves of more than two addresses are equal, these have no place at any size.
 */
static int place_for_two_looks(struct targets *t, u64 *random, u32 most)
{
	for (t->bits = 1; t->bits < TWO_LOOK_BITS && 9ULL << t->bits < 20ULL * most; t->bits++)
		;
	for (u32 larger = 0; larger < 3 && t->bits <= TWO_LOOK_BITS; larger++, t->bits++) {
		u32 *owners CLEANUP(cleanup_free) = malloc(sizeof(*owners) << t->bits);

		if (!owners)
			return -ENOMEM;
		for (u32 i = 0; i < TWO_LOOK_TRIES; i++) {
			t->factor[0] = next_random(random) | 1;
			t->factor[1] = next_random(random) | 1;
			if (place_all(t, owners, random))
				return 0;
		}
	}
	return -E2BIG;
}

static int place_targets(struct targets *t, bool more)
{
	u64 random = 0x9e3779b97f4a7c15ULL;
	int err = place_for_one_look(t, &random, more ? 64 * t->room : 0);

	if (err == -E2BIG)
		err = place_for_two_looks(t, &random, more ? t->room : t->n);
	/* Those that come later have a second chance for a bucket. */
	if (!err && more && !t->factor[1])
		t->factor[1] = next_random(&random) | 1;
	return err;
}

int targets_make(struct targets *t, const struct targets_of *of, const struct found_device *found, u32 n, u32 room,
		 struct problem *p)
{
	struct target **target CLEANUP(cleanup_free) = calloc(n, sizeof(*target));
	int err = -ENOMEM;

	*t = (struct targets){
		.room = 2 * room,	/* a watch has up to two keys */
		.list = calloc(2 * room, sizeof(*t->list)),
		.bucket = calloc(2 * room, sizeof(*t->bucket)),
	};
	if (target && t->list && t->bucket)
		err = list_targets(t, of->watches, found, n, target);
	for (u32 i = 0; !err && i < n; i++)
		give_slots(target[i], of, i);
	err = err ?: place_targets(t, room > n);
	if (!err)
		return 0;
	err = err == -ENOMEM ? problem_set(p, err, "out of memory") :
	      problem_set(p, err, "the kernel's addresses of %u devices and stages are too much alike to tell them "
			  "apart: watch fewer", n);
	targets_free(t);
	return err;
}

void targets_free(struct targets *t)
{
	free(t->list);
	free(t->bucket);
	*t = (struct targets){ 0 };
}

/* --- while the programs run ----------------------------------------------------------------- */

void targets_fill(struct targets *t)
{
	for (u32 i = 0; i < t->n; i++)
		t->table[t->bucket[i]] = t->list[i];
}

/* Programs see a target's other fields, too, when they see its key. */
static void set_key(struct targets *t, u32 i, u64 key)
{
	t->list[i].key = key;
	__atomic_store_n(&t->table[t->bucket[i]].key, key, __ATOMIC_RELEASE);
}

#define RESERVED 1	/* a key that no IO has */

/* Adds a target with this key and nothing else, which programs do not find yet. Returns its position, or t->room. */
static u32 add_key(struct targets *t, u64 key)
{
	u32 i = 0;

	while (i < t->n && t->list[i].key)
		i++;
	if (i == t->room)
		return i;
	t->list[i] = (struct target){ .key = key };
	for (u32 look = 0; look < 2 && t->factor[look]; look++) {
		t->bucket[i] = bucket_at(t, i, look);
		if (t->table[t->bucket[i]].key)
			continue;
		t->table[t->bucket[i]].key = RESERVED;
		t->n = max_u64(t->n, i + 1);
		return i;
	}
	t->list[i].key = 0;
	return t->room;
}

int targets_add(struct targets *t, const struct targets_of *of, const struct found_device *found, u32 at, u32 n)
{
	struct added {
		u32 i;
		u64 key;
	} added[2 * BLKLAT_STAGES];
	u32 n_added = 0;
	bool full = false;

	for (u32 i = at; i < at + n && !full; i++) {
		u64 keys[2];
		u32 n_keys = of->watches[i].part ? 0 : keys_of(&of->watches[i], found, keys);

		for (u32 k = 0; k < n_keys && !full; k++) {
			u32 a = 0;

			while (a < n_added && added[a].key != keys[k])
				a++;
			if (a == n_added)
				added[n_added++] = (struct added){ add_key(t, keys[k]), keys[k] };
			full = added[a].i == t->room;
			if (full)
				break;
			t->list[added[a].i].watch[of->watches[i].stage] = i + 1;
			give_slots(&t->list[added[a].i], of, i);
		}
	}
	for (u32 a = 0; a < n_added && added[a].i < t->room; a++) {
		struct target is = t->list[added[a].i];

		is.key = RESERVED;	/* until all else is written */
		t->table[t->bucket[added[a].i]] = is;
		set_key(t, added[a].i, full ? 0 : added[a].key);
	}
	return full ? -ENOSPC : 0;
}

static bool has_watch(const struct target *t, u32 at, u32 n)
{
	for (u32 stage = 0; stage < BLKLAT_STAGES; stage++)
		if (t->key && t->watch[stage] > at && t->watch[stage] <= at + n)
			return true;
	return false;
}

void targets_drop(struct targets *t, u32 i, bool reuse)
{
	for (u32 j = 0; j < t->n; j++)
		if (has_watch(&t->list[j], i, 1))
			set_key(t, j, reuse ? 0 : RESERVED);
}

static void set_queues(struct targets *t, u32 at, u32 n, u32 queues)
{
	for (u32 j = 0; j < t->n; j++)
		if (has_watch(&t->list[j], at, n) && t->list[j].queues)
			__atomic_store_n(&t->table[t->bucket[j]].queues, queues, __ATOMIC_RELAXED);
}

void targets_move(struct targets *t, u32 at, u32 n, const struct slots *s, u32 first, void (*wait)(void *arg))
{
	/* No program may see some of the new values beside some of the old ones. */
	set_queues(t, at, n, 0);
	wait(NULL);
	for (u32 j = 0; j < t->n; j++) {
		if (has_watch(&t->list[j], at, n) && t->list[j].queues)
			set_slots(&t->table[t->bucket[j]], s, first);
	}
	wait(NULL);
	set_queues(t, at, n, s->queues);
}
