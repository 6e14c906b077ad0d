// SPDX-License-Identifier: GPL-2.0-only
#include "engine/kernel_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/accounting.h"
#include "engine/cgroups.h"
#include "engine/gone.h"
#include "engine/halts.h"
#include "engine/room.h"
#include "engine/slow.h"
#include "util/clock.h"

bool capture_has_stage(const struct capture *c, enum blklat_stage stage)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].stage == stage)
			return true;
	return false;
}

static int allocate(struct kernel_capture *k, const struct capture_config *cfg)
{
	u32 room = k->capture.room;

	k->capture.watches = calloc(room, sizeof(*cfg->watches));
	k->slots = calloc(room, sizeof(*k->slots));
	k->region.ranges = calloc(room, sizeof(*k->region.ranges));
	k->bios = calloc(room, sizeof(*k->bios));
	k->state = calloc(room, sizeof(*k->state));
	for (u32 i = 0; k->state && i < room; i++)
		k->state[i].files = DEVICE_FILES_NONE;
	if (!k->capture.watches || !k->slots || !k->region.ranges || !k->bios || !k->state)
		return -ENOMEM;
	memcpy(k->capture.watches, cfg->watches, cfg->n_watches * sizeof(*cfg->watches));
	k->capture.n_watches = cfg->n_watches;
	room_place(k);
	if (k->cgroups) {
		k->owners = calloc(k->cgroups, sizeof(*k->owners));
		if (!k->owners)
			return -ENOMEM;
	}
	if (!cfg->slow.wanted)
		return 0;
	k->capture.slow = &k->slow_ios;
	return slow_ios_init(&k->slow_ios, room, cfg->slow.most);
}

int kernel_capture_init(struct kernel_capture *k, const struct capture *is, const struct capture_config *cfg, u32 rows,
			struct problem *p)
{
	const struct capture_room room = capture_room(cfg);
	struct capture_memory memory;
	int err = capture_memory(cfg, is->cpus, rows, &memory, p);

	if (err)
		return err;
	k->spare = memory.spare;
	k->idle_gap_ns = cfg->idle_gap_ns;
	k->slow = cfg->slow;
	k->by = cfg->by;
	k->cgroups = cfg->cgroups;
	k->parts = blklat_parts(cfg->by, cfg->cgroups);
	k->region = (struct region){
		.cpus = is->cpus, .rows = rows, .watches = room.watches, .parts = k->parts, .by = k->by, .scale = memory.scale,
		.n_slots = room.slots,
	};
	k->capture = (struct capture){
		.ops = is->ops,
		.room = room.watches,
		.scale = memory.scale,
		.cpus = is->cpus,
		.memory_bytes = memory.bytes,
		.slow_wanted = cfg->slow,
		.live = is->live,
		.engine = is->ops->name,
		.devices = cfg->devices,
	};
	return allocate(k, cfg) ? problem_set(p, -ENOMEM, "out of memory") : 0;
}

int kernel_capture_no_memory(const struct capture *c, struct problem *p)
{
	return problem_set(p, -ENOMEM, "the kernel, or this process's memory cgroup, has too little memory for the counters, %lluK: "
			   "lower --max-memory or --max-bios, or watch fewer devices", (c->memory_bytes + 1023) / 1024);
}

void kernel_capture_uninit(struct kernel_capture *k)
{
	for (u32 i = 0; k->state && i < k->capture.n_watches; i++) {
		snapshot_uninit(&k->state[i].frozen);
		device_files_close(&k->state[i].files);
	}
	free(k->state);
	region_uninit(&k->region);
	free(k->region.ranges);
	free(k->slots);
	slow_ios_uninit(&k->slow_ios);
	free(k->owners);
	free(k->bios);
	free(k->capture.watches);
}

void kernel_capture_set_slow(struct capture *c, const u64 *from_ns)
{
	struct kernel_capture *k = (struct kernel_capture *)c;

	for (u32 i = 0; i < c->n_watches; i = next_whole(k, i))
		for (u32 op = i * BLKLAT_OPS; op < (i + 1) * BLKLAT_OPS; op++)
			k->slow_from[op] = from_ns[op];
}

void kernel_capture_note_statistics(struct kernel_capture *k, u32 at, u32 n)
{
	struct kernel_stat stat = { 0 };

	for (u32 i = at; i < at + n; i = next_whole(k, i)) {
		const struct device *d = k->capture.watches[i].device;

		if (i == at || k->capture.watches[i - 1].device != d) {
			stat = (struct kernel_stat){ 0 };
			device_files_open(k->capture.devices, d, &k->state[i].files);
			device_files_stat(&k->state[i].files, k->capture.devices, d, &stat);
		}
		k->state[i].ios = (struct kernel_ios){ .base = stat.ios, .last = stat.ios };
	}
}

void kernel_capture_check_statistics(struct kernel_capture *k, u32 at, u32 n)
{
	struct kernel_stat stat = { 0 };
	int err = device_files_stat(&k->state[at].files, k->capture.devices, k->capture.watches[at].device, &stat);

	for (u32 i = at; i < at + n; i = next_whole(k, i))
		k->state[i].ios.unsure |= err || stat.in_flight || stat.ios != k->state[i].ios.base;
}

static u64 age_ns(u64 start_ns, u64 now_ns)
{
	return start_ns < now_ns ? now_ns - start_ns : 0;
}

/* Bios of the parts belong to the whole as well. */
static struct bio_counts all_bios(const struct kernel_capture *k, u32 whole)
{
	struct bio_counts all = { .earliest_ns = UINT64_MAX };

	for (u32 i = whole; i < next_whole(k, whole); i++) {
		all.in_flight += k->bios[i].in_flight;
		all.starts_ns += k->bios[i].starts_ns;
		if (k->bios[i].earliest_ns < all.earliest_ns)
			all.earliest_ns = k->bios[i].earliest_ns;
	}
	return all;
}

/* The sum of the ages. Bios that started just after @now_ns can make it negative, which is 0. */
static u64 ages_ns(const struct bio_counts *bios, u64 now_ns)
{
	s64 ns = bios->in_flight * now_ns - bios->starts_ns;

	return ns > 0 ? ns : 0;
}

static void take_waiting(const struct bio_counts *bios, u64 now_ns, struct watch_counts *w)
{
	w->in_flight = bios->in_flight;
	w->oldest_ns = age_ns(bios->earliest_ns, now_ns);
	w->waited_ns = ages_ns(bios, now_ns);
}

void kernel_capture_take_bios(const struct kernel_capture *k, u32 whole, u64 now_ns, struct watch_counts *w)
{
	const struct bio_counts all = all_bios(k, whole);

	take_waiting(&all, now_ns, w);
	for (u32 p = 1; p <= k->parts; p++)
		take_waiting(&k->bios[whole + p], now_ns, &w[p]);
}

static void take_bios(const struct kernel_capture *k, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		if (!BLKLAT_OF_BIOS(k->capture.watches[i].stage))
			continue;
		s->w[i].started = k->bios[i].started;
		kernel_capture_take_bios(k, i, s->mono_ns, &s->w[i]);
	}
}

static void take_bios_after(const struct kernel_capture *k, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		struct bio_counts all;

		if (!BLKLAT_OF_BIOS(k->capture.watches[i].stage))
			continue;
		all = all_bios(k, i);
		s->w[i].started_after = region_account(&k->region, i, BLKLAT_STARTED);
		s->w[i].in_flight_after = all.in_flight;
		s->w[i].waited_after_ns = ages_ns(&all, s->mono_ns);
		for (u32 p = 1; p <= k->parts; p++)
			s->w[i + p].waited_after_ns = ages_ns(&k->bios[i + p], s->mono_ns);
		accounting_settle_ages(&s->w[i], k->parts);
	}
}

/*
 * The time is that of this reading: one that did not settle may be some 20 ms old.
 *
 * Counts the bios before and after the region, to know what moved in between. First the starts are read
 * and then the bios in flight, at the end the other way round. An IO that had started then and is not
 * in flight now has surely completed; one that is in flight now surely had not.
 */
static int read_once(struct kernel_capture *k, struct snapshot *s)
{
	int err;

	s->mono_ns = clock_ns(CLOCK_MONOTONIC);
	s->wall_ns = clock_ns(CLOCK_REALTIME);
	for (u32 i = 0; i < s->n; i = next_whole(k, i))
		k->bios[i].started = region_account(&k->region, i, BLKLAT_STARTED);
	err = k->hooks->count_bios(k);
	take_bios(k, s);
	for (u32 i = 0; i < s->n; i = next_whole(k, i))
		region_read(&k->region, i, s->mono_ns, &s->w[i]);
	if (!err)
		err = k->hooks->count_bios(k);
	take_bios_after(k, s);
	return err;
}

/*
 * A virtual CPU can be paused for longer than an interval, and an IO that ends on it stays half counted for that long.
 */
#define GAP_LOST_NS NSEC_PER_SEC

/* Whether each watch moves, or its account closes, or lacks just what is known to be lost. */
static bool settled(const struct kernel_capture *k, const struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		s64 gap = accounting_still(&s->w[i]) ? accounting_gap(&s->w[i]) : 0;

		if (gap && !(k->state[i].gap.lost && gap == k->state[i].gap.ios))
			return false;
	}
	return true;
}

static void note_gaps(struct kernel_capture *k, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		struct watch_counts *w = &s->w[i];
		struct gap *g = &k->state[i].gap;
		s64 ios;

		w->unsettled = false;
		if (!accounting_still(w))
			continue;	/* a watch that moves says nothing about its gap */
		ios = accounting_gap(w);
		if (ios != g->ios)
			*g = (struct gap){ .ios = ios, .since_ns = s->mono_ns };
		g->lost = ios && s->mono_ns - g->since_ns >= GAP_LOST_NS;
		w->unsettled = ios && !g->lost;
	}
}

/*
 * Where there are requests, one IO in the kernel's statistics is a request; elsewhere it is a bio. zram
 * counts regardless of queue/iostats (zram_submit_bio()). Of the bios that were taken back, some are
 * counted and others are not: dm has already counted one if it is the device below that has no room.
 */
static bool kernel_comparable(const struct watch *w, const u64 *accounts)
{
	bool requests = w->device->hw_queues > 0, counts = w->device->iostats;

	if (!counts && strcmp(w->device->kind, "zram"))
		return false;
	if (requests)
		return w->stage == BLKLAT_STAGE_DEVICE;
	return w->stage == BLKLAT_STAGE_TOTAL && !accounts[BLKLAT_REQUEUED];
}

static void take_kernel(struct kernel_capture *k, u32 i, struct kernel_read *read, struct watch_counts *w)
{
	u64 before = k->state[i].ios.last, ios;
	int err = gone_read_statistics(k, i, read);

	/*
	 * Since the region was read, IOs may have begun and ended. None has if none ended since the statistics were
	 * read last.
	 */
	if (!err && k->state[i].ios.unsure && read->stat.ios == before && !read->stat.in_flight && !w->in_flight &&
	    accounting_still(w))
		k->state[i].ios = (struct kernel_ios){
			.base = read->stat.ios - w->accounts[BLKLAT_EMPTY_FLUSH] - accounting_completed(w), .last = read->stat.ios,
		};
	ios = read->stat.ios - k->state[i].ios.base - w->accounts[BLKLAT_EMPTY_FLUSH];
	w->kernel_known = !err && !k->state[i].ios.unsure && kernel_comparable(&k->capture.watches[i], w->accounts) &&
			  (s64)ios >= 0;
	w->kernel_ios = w->kernel_known ? ios : 0;
	w->kernel_in_flight = w->kernel_known ? read->stat.in_flight : 0;
}

/* Returns whether a device is found to be gone just now. Then @s lacks what it did since the region was read. */
static bool read_kernel(struct kernel_capture *k, struct snapshot *s)
{
	struct kernel_read read = { 0 };
	bool any = false;

	for (u32 i = 0; i < s->n; i = next_whole(k, i)) {
		bool gone = k->state[i].gone;

		take_kernel(k, i, &read, &s->w[i]);
		gone_mark(k, i, &s->w[i]);
		any |= k->state[i].gone && !gone;
	}
	return any;
}

/* Returns @err, with a sentence that says @what could not be done. */
static int step(int err, const char *what, struct problem *p)
{
	return err ? problem_set(p, err, "could not %s: %s", what, strerror(-err)) : 0;
}

static int read_counters(struct kernel_capture *k, struct snapshot *s, struct problem *p)
{
	int err;

	region_next_epoch(&k->region);
	s->idle_gap_ns = k->idle_gap_ns;
	err = read_once(k, s);
	for (long ms = 1; !err && !settled(k, s) && ms <= 16; ms *= 4) {
		nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
		err = read_once(k, s);
	}
	if (err)
		return step(err, "read the bios in flight", p);
	note_gaps(k, s);
	gone_take_frozen(k, s);
	if (read_kernel(k, s))
		gone_finish(k, s);
	halts_read(k, s);
	owns_settle(&k->region, s->mono_ns, k->wait, k);
	return 0;
}

int kernel_capture_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct kernel_capture *k = (struct kernel_capture *)c;
	struct blklat_cgroup list[BLKLAT_CGROUPS_MAX];
	int err = read_counters(k, s, p);

	if (!err && c->slow)
		err = step(k->hooks->read_slow(k, s), "read the slow IOs", p);
	/* After the slow IOs: one may be its cgroup's first, or last. */
	if (!err && k->cgroups)
		err = step(k->hooks->list_cgroups(k, list) ?: cgroups_name(k, list), "read the cgroups", p);
	if (!err && c->slow)
		err = step(slow_finish(k), "list the slow IOs", p);
	if (!err && k->cgroups)
		err = step(cgroups_leave(k, list, s, k->hooks->let_go), "let go of cgroups that have ended", p);
	if (err)
		return err;
	s->skipped = 0;
	gone_reported(k);
	room_remove_gone(k);
	room_move_outgrown(k, s);
	return 0;
}
