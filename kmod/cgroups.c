// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cgroup's number is the index of its id. A CPU first looks for the id without a lock, in a hash, as IOs of many
 * cgroups may have no number. If it is not there, the CPU takes the first free number under the lock, so no id can
 * get two. While an owner leaves, its number is not free yet, but its id is not found any more.
 */
#include "cgroups.h"

#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "kernel.h"
#include "probe.h"

#define BUCKET_BITS 8

static u64 ids[BLKLAT_CGROUPS_MAX];	/* 0: the number is free, or its owner is leaving */
/*
 * The numbers whose ids have the same hash form a list. Here are numbers + 1, 0 is its end. When a number is taken
 * out, it keeps its successor, for probes that are looking at it; it has another id only when these have finished
 * (leave()).
 */
static u8 first_of[1 << BUCKET_BITS], next_of[BLKLAT_CGROUPS_MAX];

/* Protects changes of owners, first_free, ids and the lists, in any context. */
static DEFINE_RAW_SPINLOCK(lock);
static struct blklat_cgroup owners[BLKLAT_CGROUPS_MAX];	/* id 0: the number is free */
static u32 first_free;

/* Protects users and leaving: how many sessions have released a number. */
static DEFINE_MUTEX(users_lock);
static u32 users;
static struct {
	u32 step;	/* enum blklat_step */
	u32 turn;	/* counts the steps from 1, so that no earlier agreement counts for this step */
	u32 users;	/* sessions with room for this number */
	u32 agreed;	/* how many of them have agreed to the present step */
} leaving[BLKLAT_CGROUPS_MAX];

static void begin_step(u32 number, u32 step)
{
	leaving[number].step = step;
	leaving[number].turn++;
	leaving[number].agreed = 0;
}

void blklat_cgroups_get(u32 room)
{
	u32 i;

	mutex_lock(&users_lock);
	for (i = 0; !users && i < BLKLAT_CGROUPS_MAX; i++)
		begin_step(i, BLKLAT_STEP_HELD);
	for (i = 0; i < room; i++)
		leaving[i].users++;
	users++;
	mutex_unlock(&users_lock);
}

void blklat_cgroups_put(const struct blklat_cgroups_user *user, u32 room)
{
	u32 i;

	mutex_lock(&users_lock);
	for (i = 0; i < room; i++) {
		leaving[i].users--;
		leaving[i].agreed -= user->agreed[i] == leaving[i].turn;
	}
	if (!--users) {
		memset(ids, 0, sizeof(ids));
		memset(first_of, 0, sizeof(first_of));
		memset(owners, 0, sizeof(owners));
		first_free = 0;
	}
	mutex_unlock(&users_lock);
}

static u8 *list_of(u64 id)
{
	return &first_of[hash_64(id, BUCKET_BITS)];
}

static u32 find(u32 room, u64 id)
{
	u32 at;

	BUILD_BUG_ON(BLKLAT_CGROUPS_MAX > U8_MAX);
	for (at = READ_ONCE(*list_of(id)); at; at = READ_ONCE(next_of[at - 1]))
		if (at <= room && READ_ONCE(ids[at - 1]) == id)
			return at - 1;
	return room;
}

static void take_out(u32 number)
{
	u8 *at = list_of(ids[number]);

	while (*at != number + 1)
		at = &next_of[*at - 1];
	WRITE_ONCE(*at, next_of[number]);
	WRITE_ONCE(ids[number], 0);
}

static void find_free(void)
{
	u32 number = 0;

	while (number < BLKLAT_CGROUPS_MAX && owners[number].id)
		number++;
	WRITE_ONCE(first_free, number);
}

static u32 claim(u32 room, u64 id, const char *name)
{
	unsigned long flags;
	u32 number;

	raw_spin_lock_irqsave(&lock, flags);
	number = find(room, id);
	if (number == room && first_free < room) {
		number = first_free;
		owners[number].id = id;
		strscpy(owners[number].name, name, sizeof(owners[number].name));
		WRITE_ONCE(ids[number], id);
		next_of[number] = *list_of(id);
		smp_store_release(list_of(id), number + 1);
		find_free();
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return number;
}

u32 blklat_cgroup_part_of(u32 room, u64 id, const char *name)
{
	u32 number;

	if (!id)
		return BLKLAT_CGROUP_NONE;
	number = find(room, id);
	if (number == room && READ_ONCE(first_free) < room)
		number = claim(room, id, name);
	return number < room ? BLKLAT_CGROUP_FIRST + number : BLKLAT_CGROUP_REST;
}

u32 blklat_cgroup_part(u32 room, struct bio *bio)
{
	const char *name;
	u32 part;
	u64 id;

	/*
	 * The cgroup may be renamed at this moment (version 1); RCU keeps its old name until the lock
	 * is released.
	 */
	rcu_read_lock();
	id = blklat_bio_cgroup(bio, &name);
	part = blklat_cgroup_part_of(room, id, name);
	rcu_read_unlock();
	return part;
}

void blklat_cgroups_list(struct blklat_cgroup *ret, u32 n)
{
	unsigned long flags;
	u32 i;

	for (i = 0; i < n; i++) {
		raw_spin_lock_irqsave(&lock, flags);
		ret[i] = owners[i];
		raw_spin_unlock_irqrestore(&lock, flags);
	}
}

static void take_step(u32 number)
{
	u32 step = leaving[number].step + 1;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (ids[number])
		take_out(number);
	if (step == BLKLAT_STEP_FREE) {
		memset(&owners[number], 0, sizeof(owners[number]));
		find_free();
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	begin_step(number, step == BLKLAT_STEP_FREE ? BLKLAT_STEP_HELD : step);
}

/* Returns whether probes that are running now have to finish before the step that was taken holds. */
static bool leave(struct blklat_cgroups_user *user, struct blklat_leaving *l)
{
	bool all;

	/* The id of a number in use changes only under users_lock, which is held here. */
	if (READ_ONCE(owners[l->number].id) != l->id) {
		l->step = BLKLAT_STEP_FREE;
		return false;
	}
	if (l->step != leaving[l->number].step) {
		l->step = leaving[l->number].step;
		return false;
	}
	if (user->agreed[l->number] != leaving[l->number].turn) {
		user->agreed[l->number] = leaving[l->number].turn;
		leaving[l->number].agreed++;
	}
	all = leaving[l->number].agreed == leaving[l->number].users;
	if (all) {
		take_step(l->number);
		l->step++;
	}
	return all && l->step != BLKLAT_STEP_FREE;
}

void blklat_cgroups_leave(struct blklat_cgroups_user *user, struct blklat_leaving *list, u32 n)
{
	bool wait = false;
	u32 i;

	mutex_lock(&users_lock);
	for (i = 0; i < n; i++)
		wait |= leave(user, &list[i]);
	if (wait)
		blklat_probe_wait();
	mutex_unlock(&users_lock);
}
