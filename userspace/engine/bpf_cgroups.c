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

static struct {
	pthread_mutex_t lock;	/* a capture may be opened by another thread, see core/background.h */
	u32 captures;		/* two while one replaces the other */
	int parts, cgroups;	/* descriptors */
	bool can_wait;		/* see bpf_can_wait() */
	u32 step[BLKLAT_CGROUPS_MAX];	/* enum blklat_step */
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

int bpf_cgroups_share(struct bpf_capture *b)
{
	struct bpf_map *parts = b->skel->maps.cgroup_parts, *cgroups = b->skel->maps.cgroups;

	if (!b->kernel.cgroups)
		return 0;
	if (shared.captures)
		return bpf_map__reuse_fd(parts, shared.parts) ?: bpf_map__reuse_fd(cgroups, shared.cgroups);
	return bpf_map__set_max_entries(parts, b->kernel.cgroups)
		       ?: bpf_map__set_max_entries(cgroups, b->kernel.cgroups);
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
	memset(shared.step, 0, sizeof(shared.step));	/* held */
	return 0;
}

int bpf_cgroups_hold(struct bpf_capture *b)
{
	int err;

	if (!b->kernel.cgroups)
		return 0;
	pthread_mutex_lock(&shared.lock);
	err = shared.captures ? 0 : begin_sharing(b->skel);
	shared.captures += !err;
	b->shares_cgroups = !err;
	pthread_mutex_unlock(&shared.lock);
	return err;
}

void bpf_cgroups_release(struct bpf_capture *b)
{
	if (!b->shares_cgroups)
		return;
	pthread_mutex_lock(&shared.lock);
	if (!--shared.captures) {
		cleanup_close(&shared.parts);
		cleanup_close(&shared.cgroups);
	}
	pthread_mutex_unlock(&shared.lock);
}

int bpf_cgroups_list(struct kernel_capture *k, struct blklat_cgroup *list)
{
	struct blklat_cgroup found[BLKLAT_CGROUPS_MAX];
	u32 numbers[BLKLAT_CGROUPS_MAX], position, n = BLKLAT_CGROUPS_MAX;
	/* There are no more cgroups than this, so one call returns them all, with -ENOENT as the end of the map. */
	int err = bpf_map_lookup_batch(shared.cgroups, NULL, &position, numbers, found, &n, NULL);

	if (err && err != -ENOENT)
		return err;
	memset(list, 0, k->cgroups * sizeof(*list));
	for (u32 i = 0; i < n; i++)
		if (numbers[i] < k->cgroups)
			list[numbers[i]] = found[i];
	/*
	 * A program that found no room just before a number became free may have set the flag just
	 * after it was cleared.
	 */
	if (n < k->cgroups)
		__atomic_store_n(&((struct bpf_capture *)k)->skel->bss->cgroups_full, 0, __ATOMIC_RELAXED);
	return 0;
}

/* --- cgroups that have ended ---------------------------------------------------------------- */

/* Removes @id from cgroups_seen. Returns whether it was there. */
static bool forget_seen(const struct bpf_capture *b, u64 id)
{
	unsigned long long *at = &b->skel->bss->cgroups_seen[id % ARRAY_SIZE(b->skel->bss->cgroups_seen)];
	unsigned long long seen = __atomic_load_n(at, __ATOMIC_RELAXED);

	return seen >> SEEN_PART_BITS == id &&
	       __atomic_compare_exchange_n(at, &seen, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
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

static int take_step(const struct bpf_capture *b, struct blklat_leaving *l)
{
	u32 step = l->step + 1;
	int err = 0;

	if (step == BLKLAT_STEP_LEFT)
		err = take_out_id(l->number, l->id);
	else if (step == BLKLAT_STEP_FREE)
		err = bpf_map_delete_elem(shared.cgroups, &l->number);
	if (err)
		return err;
	shared.step[l->number] = step == BLKLAT_STEP_FREE ? BLKLAT_STEP_HELD : step;
	l->step = step;
	if (step == BLKLAT_STEP_FREE)
		__atomic_store_n(&b->skel->bss->cgroups_full, 0, __ATOMIC_RELAXED);
	return 0;
}

/* Takes a step, unless a capture before this one has taken it. Returns 0 or a negative errno. */
static int leave(const struct bpf_capture *b, struct blklat_leaving *l)
{
	struct blklat_cgroup is;
	int err = bpf_map_lookup_elem(shared.cgroups, &l->number, &is);

	if (err && err != -ENOENT)
		return err;
	if (err || is.id != l->id) {
		l->step = BLKLAT_STEP_FREE;
		return 0;
	}
	if (l->step == shared.step[l->number])
		return take_step(b, l);
	l->step = shared.step[l->number];
	return 0;
}

/*
 * Removes the ids that were taken out from cgroups_seen. If there were any, waits for programs that may have seen them.
 */
static void forget_all(const struct bpf_capture *b, const struct blklat_leaving *leaving, const u32 *before, u32 n,
		       bool wait)
{
	for (u32 i = 0; i < n; i++)
		if (before[i] == BLKLAT_STEP_HELD && leaving[i].step == BLKLAT_STEP_LEFT)
			wait |= forget_seen(b, leaving[i].id);
	if (wait)
		bpf_wait_for_programs(NULL);
}

/*
 * A program may have found an id just before it was taken out, and put it into cgroups_seen just after
 * the first pass looked there. Before the second pass, all such programs have ended.
 */
static int let_all_go(const struct bpf_capture *b, struct blklat_leaving *leaving, u32 n)
{
	u32 before[BLKLAT_CGROUPS_MAX];
	bool wait = false;
	int err = 0;

	for (u32 i = 0; !err && i < n; i++) {
		before[i] = leaving[i].step;
		err = leave(b, &leaving[i]);
		wait |= leaving[i].step != before[i] && leaving[i].step != BLKLAT_STEP_FREE;
	}
	if (err)
		return err;
	forget_all(b, leaving, before, n, wait);
	forget_all(b, leaving, before, n, false);
	return 0;
}

/*
 * No number becomes free while there are two captures, as nothing of one is known to the other; or if it can't be
 * waited for programs.
 */
int bpf_cgroups_let_go(struct kernel_capture *k, struct blklat_leaving *leaving, u32 n)
{
	int err = 0;

	pthread_mutex_lock(&shared.lock);
	if (shared.captures == 1 && shared.can_wait)
		err = let_all_go((struct bpf_capture *)k, leaving, n);
	pthread_mutex_unlock(&shared.lock);
	return err;
}
