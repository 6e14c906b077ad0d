// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cgroup's number is the index of its id. A CPU first looks for the id without a lock, in a hash, as IOs of many
 * cgroups may have no number. If it is not there, the CPU takes the first free number under the lock, so no id can
 * get two. While an owner leaves, its number is not free yet, but its id is not found any more. Processes have a table
 * of their own.
 */
#include "cgroups.h"

#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "kernel.h"
#include "probe.h"

#define BUCKET_BITS 8

struct table {
	u64 ids[BLKLAT_CGROUPS_MAX];	/* 0: the number is free, or its owner is leaving */
	/*
	 * The numbers whose ids have the same hash form a list. Here are numbers + 1, 0 is its end. When a number is
	 * taken out, it keeps its successor, for probes that are looking at it; it has another id only when these have
	 * finished (leave()).
	 */
	u8 first_of[1 << BUCKET_BITS], next_of[BLKLAT_CGROUPS_MAX];
	struct blklat_cgroup owners[BLKLAT_CGROUPS_MAX];	/* id 0: the number is free */
	u32 first_free;
	u32 users;
	struct {
		u32 step;	/* enum blklat_step */
		u32 turn;	/* counts the steps from 1, so that no earlier agreement counts for this step */
		u32 users;	/* sessions with room for this number */
		u32 agreed;	/* how many of them have agreed to the present step */
	} leaving[BLKLAT_CGROUPS_MAX];
};

static struct table tables[2];	/* of cgroups, of processes */

/* Protects changes of owners, first_free, ids and the lists, in any context. */
static DEFINE_RAW_SPINLOCK(lock);
/* Protects users and leaving: how many sessions have released a number. */
static DEFINE_MUTEX(users_lock);

static struct table *table_of(u32 by)
{
	return &tables[by == BLKLAT_BY_PROCESS];
}

static void begin_step(struct table *t, u32 number, u32 step)
{
	t->leaving[number].step = step;
	t->leaving[number].turn++;
	t->leaving[number].agreed = 0;
}

void blklat_cgroups_get(u32 by, u32 room)
{
	struct table *t = table_of(by);
	u32 i;

	mutex_lock(&users_lock);
	for (i = 0; !t->users && i < BLKLAT_CGROUPS_MAX; i++)
		begin_step(t, i, BLKLAT_STEP_HELD);
	for (i = 0; i < room; i++)
		t->leaving[i].users++;
	t->users++;
	mutex_unlock(&users_lock);
}

void blklat_cgroups_put(u32 by, const struct blklat_cgroups_user *user, u32 room)
{
	struct table *t = table_of(by);
	u32 i;

	mutex_lock(&users_lock);
	for (i = 0; i < room; i++) {
		t->leaving[i].users--;
		t->leaving[i].agreed -= user->agreed[i] == t->leaving[i].turn;
	}
	if (!--t->users) {
		memset(t->ids, 0, sizeof(t->ids));
		memset(t->first_of, 0, sizeof(t->first_of));
		memset(t->owners, 0, sizeof(t->owners));
		t->first_free = 0;
	}
	mutex_unlock(&users_lock);
}

static u8 *list_of(struct table *t, u64 id)
{
	return &t->first_of[hash_64(id, BUCKET_BITS)];
}

static u32 find(struct table *t, u32 room, u64 id)
{
	u32 at;

	BUILD_BUG_ON(BLKLAT_CGROUPS_MAX > U8_MAX);
	for (at = READ_ONCE(*list_of(t, id)); at; at = READ_ONCE(t->next_of[at - 1]))
		if (at <= room && READ_ONCE(t->ids[at - 1]) == id)
			return at - 1;
	return room;
}

static void take_out(struct table *t, u32 number)
{
	u8 *at = list_of(t, t->ids[number]);

	while (*at != number + 1)
		at = &t->next_of[*at - 1];
	WRITE_ONCE(*at, t->next_of[number]);
	WRITE_ONCE(t->ids[number], 0);
}

static void find_free(struct table *t)
{
	u32 number = 0;

	while (number < BLKLAT_CGROUPS_MAX && t->owners[number].id)
		number++;
	WRITE_ONCE(t->first_free, number);
}

/* Out of line, so that the usual path saves few registers. */
static noinline u32 claim(struct table *t, u32 room, u64 id, const char *name)
{
	unsigned long flags;
	u32 number;

	raw_spin_lock_irqsave(&lock, flags);
	number = find(t, room, id);
	if (number == room && t->first_free < room) {
		number = t->first_free;
		t->owners[number].id = id;
		strscpy(t->owners[number].name, name, sizeof(t->owners[number].name));
		WRITE_ONCE(t->ids[number], id);
		t->next_of[number] = *list_of(t, id);
		smp_store_release(list_of(t, id), number + 1);
		find_free(t);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return number;
}

u32 blklat_owner_part(u32 by, u32 room, u64 id, const char *name)
{
	struct table *t = table_of(by);
	u32 number;

	if (!id)
		return BLKLAT_CGROUP_NONE;
	number = find(t, room, id);
	if (number == room && READ_ONCE(t->first_free) < room)
		number = claim(t, room, id, name);
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
	part = blklat_owner_part(BLKLAT_BY_CGROUP, room, id, name);
	rcu_read_unlock();
	return part;
}

u32 blklat_process_part(u32 room)
{
	const struct task_struct *leader;

	if (!current->tgid || current->flags & PF_WQ_WORKER)
		return BLKLAT_PROCESS_WORKERS;
	/* A thread that executes a program becomes the leader, and RCU keeps the one before it: preemption is off. */
	leader = READ_ONCE(current->group_leader);
	return blklat_owner_part(BLKLAT_BY_PROCESS, room, blklat_process_id(current->tgid, leader->start_boottime),
				 leader->comm);
}

void blklat_cgroups_list(u32 by, struct blklat_cgroup *ret, u32 n)
{
	struct table *t = table_of(by);
	unsigned long flags;
	u32 i;

	for (i = 0; i < n; i++) {
		raw_spin_lock_irqsave(&lock, flags);
		ret[i] = t->owners[i];
		raw_spin_unlock_irqrestore(&lock, flags);
	}
}

static void take_step(struct table *t, u32 number)
{
	u32 step = t->leaving[number].step + 1;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (t->ids[number])
		take_out(t, number);
	if (step == BLKLAT_STEP_FREE) {
		memset(&t->owners[number], 0, sizeof(t->owners[number]));
		find_free(t);
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	begin_step(t, number, step == BLKLAT_STEP_FREE ? BLKLAT_STEP_HELD : step);
}

/* Returns whether probes that are running now have to finish before the step that was taken holds. */
static bool leave(struct table *t, struct blklat_cgroups_user *user, struct blklat_leaving *l)
{
	bool all;

	/* The id of a number in use changes only under users_lock, which is held here. */
	if (READ_ONCE(t->owners[l->number].id) != l->id) {
		l->step = BLKLAT_STEP_FREE;
		return false;
	}
	if (l->step != t->leaving[l->number].step) {
		l->step = t->leaving[l->number].step;
		return false;
	}
	if (user->agreed[l->number] != t->leaving[l->number].turn) {
		user->agreed[l->number] = t->leaving[l->number].turn;
		t->leaving[l->number].agreed++;
	}
	all = t->leaving[l->number].agreed == t->leaving[l->number].users;
	if (all) {
		take_step(t, l->number);
		l->step++;
	}
	return all && l->step != BLKLAT_STEP_FREE;
}

void blklat_cgroups_leave(u32 by, struct blklat_cgroups_user *user, struct blklat_leaving *list, u32 n)
{
	bool wait = false;
	u32 i;

	mutex_lock(&users_lock);
	for (i = 0; i < n; i++)
		wait |= leave(table_of(by), user, &list[i]);
	if (wait)
		blklat_probe_wait();
	mutex_unlock(&users_lock);
}
