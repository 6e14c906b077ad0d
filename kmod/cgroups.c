// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cgroup's number is where its id stands, and each one looks from the first on for its own id or a free place, which it claims by
 * compare-and-swap. Places are taken in order and none is freed, so no id can get two.
 */
#include "cgroups.h"

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "blklat/parts.h"
#include "kernel.h"

static u64 ids[BLKLAT_CGROUPS_MAX];	/* 0: free, and so are all behind it */
static char names[BLKLAT_CGROUPS_MAX][sizeof_field(struct blklat_cgroup, name)];
static bool named[BLKLAT_CGROUPS_MAX];

static DEFINE_MUTEX(lock);
static u32 users;

void blklat_cgroups_get(void)
{
	mutex_lock(&lock);
	users++;
	mutex_unlock(&lock);
}

void blklat_cgroups_put(void)
{
	mutex_lock(&lock);
	if (!--users) {
		memset(ids, 0, sizeof(ids));
		memset(names, 0, sizeof(names));
		memset(named, 0, sizeof(named));
	}
	mutex_unlock(&lock);
}

static void name_it(u32 number, const char *name)
{
	strscpy(names[number], name, sizeof(names[number]));
	smp_store_release(&named[number], true);
}

u32 blklat_cgroup_part_of(u32 room, u64 id, const char *name)
{
	u32 number;

	if (!id)
		return BLKLAT_CGROUP_NONE;
	for (number = 0; number < room; number++) {
		u64 is = READ_ONCE(ids[number]);

		if (!is) {
			is = cmpxchg64(&ids[number], 0, id);
			if (!is)
				name_it(number, name);
		}
		if (!is || is == id)
			return BLKLAT_CGROUP_FIRST + number;
	}
	return BLKLAT_CGROUP_REST;
}

u32 blklat_cgroup_part(u32 room, struct bio *bio)
{
	const char *name;
	u32 part;
	u64 id;

	/* A cgroup may be called otherwise meanwhile (version 1), and the name that it had is freed then, by RCU. */
	rcu_read_lock();
	id = blklat_bio_cgroup(bio, &name);
	part = blklat_cgroup_part_of(room, id, name);
	rcu_read_unlock();
	return part;
}

void blklat_cgroups_list(struct blklat_cgroup *ret, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		ret[i] = (struct blklat_cgroup){ .id = READ_ONCE(ids[i]) };
		if (smp_load_acquire(&named[i]))
			strscpy(ret[i].name, names[i], sizeof(ret[i].name));
	}
}
