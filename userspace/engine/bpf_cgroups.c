// SPDX-License-Identifier: GPL-2.0-only
#include "engine/bpf_engine.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "blklat.skel.h"
#include "blklat/parts.h"
#include "engine/cgroups.h"
#include "util/cleanup.h"

#define SEEN_PART_BITS 8	/* as in bpf/parts.bpf.h */

/* The state of one capture. */
struct bpf_cgroups {
	struct bpf_cgroups *next;
	struct blklat *skel;
	struct blklat_cgroup list[BLKLAT_CGROUPS_MAX];	/* as last read */
	u32 agreed[BLKLAT_CGROUPS_MAX];			/* for each number, the last turn to which it agreed */
};

static struct {
	/* of users and leaving: a capture may be opened by another thread, see core/background.h */
	pthread_mutex_t lock;
	struct bpf_cgroups *users;
	int parts, cgroups;	/* descriptors */
	bool can_wait;		/* see bpf_can_wait() */
	struct {
		u32 step;	/* enum blklat_step */
		u32 turn;	/* counts the steps, from 1 on */
		u32 agreed;	/* number of users that have agreed to the present step */
	} leaving[BLKLAT_CGROUPS_MAX];
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

int bpf_cgroups_share(struct bpf_capture *b)
{
	struct bpf_map *parts = b->skel->maps.cgroup_parts, *cgroups = b->skel->maps.cgroups;

	if (!b->kernel.cgroups)
		return 0;
	if (shared.users)
		return bpf_map__reuse_fd(parts, shared.parts) ?: bpf_map__reuse_fd(cgroups, shared.cgroups);
	return bpf_map__set_max_entries(parts, b->kernel.cgroups)
		       ?: bpf_map__set_max_entries(cgroups, b->kernel.cgroups);
}

static void begin_step(u32 number, u32 step)
{
	shared.leaving[number].step = step;
	shared.leaving[number].turn++;
	shared.leaving[number].agreed = 0;
}

static int begin_sharing(const struct blklat *skel)
{
	shared.parts = fcntl(bpf_map__fd(skel->maps.cgroup_parts), F_DUPFD_CLOEXEC, 3);
	shared.cgroups = fcntl(bpf_map__fd(skel->maps.cgroups), F_DUPFD_CLOEXEC, 3);
	if (shared.parts < 0 || shared.cgroups < 0) {
		int err = -errno;

		cleanup_close(&shared.parts);
		cleanup_close(&shared.cgroups);
		return err;
	}
	shared.can_wait = bpf_can_wait();
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++)
		begin_step(i, BLKLAT_STEP_HELD);
	return 0;
}

int bpf_cgroups_hold(struct bpf_capture *b)
{
	struct bpf_cgroups *c;
	int err;

	if (!b->kernel.cgroups)
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	err = shared.users ? 0 : begin_sharing(b->skel);
	if (err) {
		free(c);
		return err;
	}
	c->skel = b->skel;
	pthread_mutex_lock(&shared.lock);
	c->next = shared.users;
	shared.users = b->cgroups = c;
	pthread_mutex_unlock(&shared.lock);
	return 0;
}

void bpf_cgroups_release(struct bpf_capture *b)
{
	struct bpf_cgroups *c = b->cgroups, **at = &shared.users;

	if (!c)
		return;
	pthread_mutex_lock(&shared.lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (u32 i = 0; i < BLKLAT_CGROUPS_MAX; i++)
		shared.leaving[i].agreed -= c->agreed[i] == shared.leaving[i].turn;
	free(c);
	b->cgroups = NULL;
	if (!shared.users) {
		cleanup_close(&shared.parts);
		cleanup_close(&shared.cgroups);
	}
	pthread_mutex_unlock(&shared.lock);
}

int bpf_cgroups_name(struct bpf_capture *b)
{
	struct blklat_cgroup found[BLKLAT_CGROUPS_MAX], *list;
	u32 numbers[BLKLAT_CGROUPS_MAX], position, n = BLKLAT_CGROUPS_MAX;
	int err;

	if (!b->cgroups)
		return 0;
	/* There are no more cgroups than this, so one call returns them all, with -ENOENT as the end of the map. */
	err = bpf_map_lookup_batch(shared.cgroups, NULL, &position, numbers, found, &n, NULL);
	if (err && err != -ENOENT)
		return err;
	list = b->cgroups->list;
	memset(list, 0, sizeof(b->cgroups->list));
	for (u32 i = 0; i < n; i++)
		if (numbers[i] < b->kernel.cgroups)
			list[numbers[i]] = found[i];
	/*
	 * A program that found no room just before a number became free may have set the flag just
	 * after it was cleared.
	 */
	if (n < b->kernel.cgroups)
		__atomic_store_n(&b->skel->bss->cgroups_full, 0, __ATOMIC_RELAXED);
	return cgroups_name(&b->kernel, list);
}

/* --- cgroups that have ended ---------------------------------------------------------------- */

/* Removes @id from all cgroups_seen. Returns whether it was in any. */
static bool forget_seen(u64 id)
{
	bool any = false;

	for (struct bpf_cgroups *c = shared.users; c; c = c->next) {
		unsigned long long *at = &c->skel->bss->cgroups_seen[id % ARRAY_SIZE(c->skel->bss->cgroups_seen)];
		unsigned long long seen = __atomic_load_n(at, __ATOMIC_RELAXED);

		if (seen >> SEEN_PART_BITS == id)
			any |= __atomic_compare_exchange_n(at, &seen, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return any;
}

/* Does nothing if the id has appeared again, with another number. */
static int take_out_id(u32 number, u64 id)
{
	u64 found;
	int err = bpf_map_lookup_elem(shared.parts, &id, &found);

	if (err || (found & BLKLAT_PARTS_MAX) != BLKLAT_CGROUP_FIRST + number)
		return err == -ENOENT ? 0 : err;
	return bpf_map_delete_elem(shared.parts, &id);
}

static int take_step(struct blklat_leaving *l)
{
	u32 step = l->step + 1;
	int err = 0;

	if (step == BLKLAT_STEP_LEFT)
		err = take_out_id(l->number, l->id);
	else if (step == BLKLAT_STEP_FREE)
		err = bpf_map_delete_elem(shared.cgroups, &l->number);
	if (err)
		return err;
	begin_step(l->number, step == BLKLAT_STEP_FREE ? BLKLAT_STEP_HELD : step);
	l->step = step;
	for (struct bpf_cgroups *c = shared.users; step == BLKLAT_STEP_FREE && c; c = c->next)
		__atomic_store_n(&c->skel->bss->cgroups_full, 0, __ATOMIC_RELAXED);
	return 0;
}

static u32 count_users(void)
{
	u32 n = 0;

	for (const struct bpf_cgroups *c = shared.users; c; c = c->next)
		n++;
	return n;
}

/* Agrees to a step, and takes it if all have agreed. Returns 0 or a negative errno. */
static int leave(struct bpf_cgroups *c, struct blklat_leaving *l)
{
	struct blklat_cgroup is;
	u32 *turn = &shared.leaving[l->number].turn;
	int err = bpf_map_lookup_elem(shared.cgroups, &l->number, &is);

	if (err && err != -ENOENT)
		return err;
	if (err || is.id != l->id) {
		l->step = BLKLAT_STEP_FREE;
		return 0;
	}
	if (l->step != shared.leaving[l->number].step) {
		l->step = shared.leaving[l->number].step;
		return 0;
	}
	shared.leaving[l->number].agreed += c->agreed[l->number] != *turn;
	c->agreed[l->number] = *turn;
	return shared.leaving[l->number].agreed == count_users() ? take_step(l) : 0;
}

/*
 * Removes the ids that were taken out from cgroups_seen. If there were any, waits for programs that may have seen them.
 */
static void forget_all(const struct blklat_leaving *leaving, const u32 *before, u32 n, bool wait)
{
	for (u32 i = 0; i < n; i++)
		if (before[i] == BLKLAT_STEP_HELD && leaving[i].step == BLKLAT_STEP_LEFT)
			wait |= forget_seen(leaving[i].id);
	if (wait)
		bpf_wait_for_programs(NULL);
}

/*
 * A program may have found an id just before it was taken out, and put it into cgroups_seen just after
 * the first pass looked there. Before the second pass, all such programs have ended.
 */
static int let_all_go(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n)
{
	struct bpf_cgroups *c = ((struct bpf_capture *)k)->cgroups;
	u32 before[BLKLAT_CGROUPS_MAX];
	bool wait = false;
	int err = 0;

	for (u32 i = 0; !err && i < n; i++) {
		before[i] = leaving[i].step;
		err = leave(c, &leaving[i]);
		wait |= leaving[i].step != before[i] && leaving[i].step != BLKLAT_STEP_FREE;
	}
	if (err)
		return err;
	forget_all(leaving, before, n, wait);
	forget_all(leaving, before, n, false);
	return 0;
}

static int let_go(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n)
{
	int err;

	pthread_mutex_lock(&shared.lock);
	err = let_all_go(k, leaving, n);
	pthread_mutex_unlock(&shared.lock);
	return err;
}

int bpf_cgroups_leave(struct bpf_capture *b, const struct snapshot *s)
{
	return b->cgroups && shared.can_wait ? cgroups_leave(&b->kernel, b->cgroups->list, s, let_go) : 0;
}
