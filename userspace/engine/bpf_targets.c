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
	if (w->stage == BLKLAT_STAGE_TOTAL)
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

/* For stages device and queue; devices that have neither tags nor slots are left empty. */
static void place_slots(struct targets *t, const struct watch *watches, u32 n, u32 cpus, struct target **targets)
{
	for (u32 i = 0; i < n; i++) {
		struct slots s = slots_of(watches[i].device, cpus);
		struct target *target = targets[i];

		if (watches[i].part || watches[i].stage == BLKLAT_STAGE_TOTAL)
			continue;
		if (!target->queues) {
			target->queues = s.queues;
			target->stride = s.stride;
			target->tags = s.tags;
			target->first_slot = t->n_slots;
			t->n_slots += slots_total(watches[i].device, target->watch[BLKLAT_STAGE_DEVICE],
						  target->watch[BLKLAT_STAGE_QUEUE], cpus);
		}
		t->slots[i].n = s.queues * s.stride;
		t->slots[i].first = target->first_slot + (watches[i].stage == BLKLAT_STAGE_QUEUE ? t->slots[i].n : 0);
	}
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
static int place_for_one_look(struct targets *t, u64 *random)
{
	u32 *stamps CLEANUP(cleanup_free) = calloc(1U << BLKLAT_TARGET_BITS, sizeof(*stamps));
	u32 stamp = 0;

	if (!stamps)
		return -ENOMEM;
	for (t->bits = 1; t->bits <= BLKLAT_TARGET_BITS; t->bits++)
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
static int place_for_two_looks(struct targets *t, u64 *random)
{
	for (t->bits = 1; t->bits < TWO_LOOK_BITS && 9ULL << t->bits < 20ULL * t->n; t->bits++)
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

static int place_targets(struct targets *t)
{
	u64 random = 0x9e3779b97f4a7c15ULL;
	int err = place_for_one_look(t, &random);

	return err == -E2BIG ? place_for_two_looks(t, &random) : err;
}

int targets_make(struct targets *t, const struct watch *watches, const struct found_device *found,
		 u32 n, u32 cpus, struct problem *p)
{
	struct target **target CLEANUP(cleanup_free) = calloc(n, sizeof(*target));
	int err = -ENOMEM;

	*t = (struct targets){
		.list = calloc(2 * n, sizeof(*t->list)),	/* a watch has up to two keys */
		.bucket = calloc(2 * n, sizeof(*t->bucket)),
		.slots = calloc(n, sizeof(*t->slots)),
	};
	if (target && t->list && t->bucket && t->slots)
		err = list_targets(t, watches, found, n, target);
	if (!err) {
		place_slots(t, watches, n, cpus, target);
		err = place_targets(t);
	}
	if (!err)
		return 0;
	err = err == -ENOMEM ? problem_set(p, err, "out of memory") :
	      problem_set(p, err, "the kernel's addresses of %u devices and stages are too much alike to tell them "
			  "apart: watch fewer", n);
	targets_free(t);
	return err;
}

bool targets_drop(struct targets *t, u32 watch)
{
	bool any = false;

	for (u32 i = 0; i < t->n; i++)
		for (u32 stage = 0; stage < BLKLAT_STAGES; stage++)
			if (t->list[i].watch[stage] == watch + 1 && t->list[i].key) {
				t->list[i].key = 0;
				any = true;
			}
	return any;
}

void targets_free(struct targets *t)
{
	free(t->list);
	free(t->bucket);
	free(t->slots);
	*t = (struct targets){ 0 };
}
