// SPDX-License-Identifier: GPL-2.0-only
#include "capture/bpf_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/geometry.h"
#include "util/cleanup.h"

#define TRIES 4096

u32 targets_bucket(const struct targets *t, u64 key)
{
	return (u32)key * t->factor >> (32 - t->bits);
}

static struct target *target_for(struct targets *t, u64 key)
{
	for (u32 i = 0; i < t->n; i++)
		if (t->list[i].key == key)
			return &t->list[i];
	t->list[t->n].key = key;
	return &t->list[t->n++];
}

/*
 * Requests lead to their queue, bios to the disk, and both to the partition they are for. A request
 * ends its bios, so stage total is looked for on both ways.
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

static struct target *target_of_watch(struct targets *t, u32 watch, enum blklat_stage stage)
{
	u32 i = 0;

	while (t->list[i].watch[stage] != watch + 1)
		i++;
	return &t->list[i];
}

/* Stages device and queue; what has neither tags nor slots is left as it is, empty. */
static void place_slots(struct targets *t, const struct watch *watches, u32 n, u32 cpus)
{
	for (u32 i = 0; i < n; i++) {
		struct slots s = slots_of(watches[i].device, cpus);
		struct target *target;

		if (watches[i].stage == BLKLAT_STAGE_TOTAL)
			continue;
		target = target_of_watch(t, i, watches[i].stage);
		if (!target->queues) {
			target->queues = s.queues;
			target->stride = s.stride;
			target->tags = s.tags;
			target->first_slot = t->n_slots;
			t->n_slots += slots_total(watches[i].device, target->watch[BLKLAT_STAGE_DEVICE],
						  target->watch[BLKLAT_STAGE_QUEUE], cpus);
		}
		t->slots[i].n = s.queues * s.stride;
		t->slots[i].first = target->first_slot +
				    (watches[i].stage == BLKLAT_STAGE_QUEUE ? t->slots[i].n : 0);
	}
}

/* xorshift64* (Vigna 2016), from a fixed start: the same devices give the same table. */
static u32 next_factor(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL >> 32 | 1;
}

static bool collides(const struct targets *t, u32 *stamps, u32 stamp)
{
	for (u32 i = 0; i < t->n; i++) {
		u32 bucket = targets_bucket(t, t->list[i].key);

		if (stamps[bucket] == stamp)
			return true;
		stamps[bucket] = stamp;
	}
	return false;
}

static int find_factor(struct targets *t, struct problem *p)
{
	u32 *stamps CLEANUP(cleanup_free) = calloc(1U << BLKLAT_TARGET_BITS, sizeof(*stamps));
	u64 state = 0x9e3779b97f4a7c15ULL;
	u32 stamp = 0;

	if (!stamps)
		return problem_set(p, -ENOMEM, "out of memory");
	for (t->bits = 1; t->bits <= BLKLAT_TARGET_BITS; t->bits++)
		for (u32 i = 0; i < TRIES; i++) {
			t->factor = next_factor(&state);
			if (!collides(t, stamps, ++stamp))
				return 0;
		}
	return problem_set(p, -E2BIG, "too many devices and stages at once (%u) to tell their addresses apart: "
			   "watch fewer", t->n);
}

int targets_make(struct targets *t, const struct watch *watches, const struct found_device *found,
		 u32 n, u32 cpus, struct problem *p)
{
	int err;

	*t = (struct targets){
		.list = calloc(2 * n, sizeof(*t->list)),	/* a watch has up to two keys */
		.slots = calloc(n, sizeof(*t->slots)),
	};
	if (!t->list || !t->slots) {
		targets_free(t);
		return problem_set(p, -ENOMEM, "out of memory");
	}
	for (u32 i = 0; i < n; i++) {
		u64 keys[2];
		u32 n_keys = keys_of(&watches[i], &found[i], keys);

		for (u32 k = 0; k < n_keys; k++)
			target_for(t, keys[k])->watch[watches[i].stage] = i + 1;
	}
	place_slots(t, watches, n, cpus);
	err = find_factor(t, p);
	if (err)
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
	free(t->slots);
	*t = (struct targets){ 0 };
}
