// SPDX-License-Identifier: GPL-2.0-only
#include "engine/live_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blklat/bins.h"
#include "util/clock.h"

bool live_any_stage(const struct capture *c, enum blklat_stage stage)
{
	for (u32 i = 0; i < c->n_watches; i++)
		if (c->watches[i].stage == stage)
			return true;
	return false;
}

static int allocate(struct live_capture *l, const struct capture_config *cfg)
{
	u32 n = cfg->n_watches;

	l->capture.watches = malloc(n * sizeof(*cfg->watches));
	l->bios = calloc(n, sizeof(*l->bios));
	l->kernel = calloc(n, sizeof(*l->kernel));
	l->gone = calloc(n, sizeof(*l->gone));
	l->files = calloc(n, sizeof(*l->files));
	l->gaps = calloc(n, sizeof(*l->gaps));
	for (u32 i = 0; l->files && i < n; i++)
		l->files[i] = DEVICE_FILES_NONE;
	if (!l->capture.watches || !l->bios || !l->kernel || !l->gone || !l->files || !l->gaps)
		return -ENOMEM;
	memcpy(l->capture.watches, cfg->watches, n * sizeof(*cfg->watches));
	l->capture.n_watches = n;
	if (snapshot_init(&l->last, n, l->capture.scale))
		return -ENOMEM;
	snapshot_track(&l->last);
	return 0;
}

int live_init(struct live_capture *l, const struct capture_ops *ops, const struct capture_config *cfg,
	      u32 cpus, u32 rows, struct problem *p)
{
	int scale = capture_choose_scale(cfg, cpus, rows, p);

	if (scale < 0)
		return scale;
	l->idle_gap_ns = cfg->idle_gap_ns;
	l->capture = (struct capture){
		.ops = ops,
		.scale = scale,
		.cpus = cpus,
		.memory_bytes = capture_memory_bytes(cfg, cpus, rows, scale),
		.live = true,
		.engine = ops->name,
		.devices = cfg->devices,
	};
	return allocate(l, cfg) ? problem_set(p, -ENOMEM, "out of memory") : 0;
}

void live_uninit(struct live_capture *l)
{
	for (u32 i = 0; l->gone && i < l->capture.n_watches; i++)
		snapshot_uninit(&l->gone[i].frozen);
	free(l->gone);
	for (u32 i = 0; l->files && i < l->capture.n_watches; i++)
		device_files_close(&l->files[i]);
	snapshot_uninit(&l->last);
	free(l->bios);
	free(l->kernel);
	free(l->files);
	free(l->gaps);
	free(l->capture.watches);
}

void live_note_kernel(struct live_capture *l)
{
	struct kernel_stat stat = { 0 };

	for (u32 i = 0; i < l->capture.n_watches; i++) {
		const struct device *d = l->capture.watches[i].device;

		if (!i || l->capture.watches[i - 1].device != d) {
			stat = (struct kernel_stat){ 0 };
			device_files_open(l->capture.devices, d, &l->files[i]);
			device_files_stat(&l->files[i], l->capture.devices, d, &stat);
		}
		l->kernel[i].base = l->kernel[i].last = stat.ios;
	}
}

static u64 age_ns(u64 start_ns, u64 now_ns)
{
	return start_ns < now_ns ? now_ns - start_ns : 0;
}

static void take_bios(const struct live_capture *l, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		if (l->capture.watches[i].stage != BLKLAT_STAGE_TOTAL)
			continue;
		s->w[i].started = l->bios[i].started;
		s->w[i].in_flight = l->bios[i].in_flight;
		s->w[i].oldest_ns = age_ns(l->bios[i].earliest_ns, s->mono_ns);
	}
}

static void take_bios_after(const struct live_capture *l, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		if (l->capture.watches[i].stage != BLKLAT_STAGE_TOTAL)
			continue;
		s->w[i].started_after = region_account(&l->region, i, BLKLAT_STARTED);
		s->w[i].in_flight_after = l->bios[i].in_flight;
	}
}

/*
 * The bios before and after the region, so that the two say what moved meanwhile: first the starts and
 * then the bios in flight, last the other way round. What had started then and is not in flight now
 * has surely completed; what is in flight now surely had not.
 */
static int read_once(struct live_capture *l, struct snapshot *s, int (*count_bios)(struct live_capture *l))
{
	int err;

	for (u32 i = 0; i < s->n; i++)
		l->bios[i].started = region_account(&l->region, i, BLKLAT_STARTED);
	err = count_bios(l);
	take_bios(l, s);
	for (u32 i = 0; i < s->n; i++)
		region_read(&l->region, i, &l->last.w[i], s->mono_ns, &s->w[i]);
	if (!err)
		err = count_bios(l);
	take_bios_after(l, s);
	return err;
}

/* Each watch adds up or moves, or lacks just what it lacked before. */
static bool settled(const struct live_capture *l, const struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		s64 gap = region_still(&s->w[i]) ? region_gap(&s->w[i]) : 0;

		if (gap && gap != l->gaps[i])
			return false;
	}
	return true;
}

static void note_gaps(struct live_capture *l, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		struct watch_counts *w = &s->w[i];
		s64 gap;

		w->unsettled = false;
		if (!region_still(w))
			continue;	/* nothing is told of it by what moves */
		gap = region_gap(w);
		w->unsettled = gap && gap != l->gaps[i];
		l->gaps[i] = gap;
	}
}

/*
 * What the kernel's statistics count as one IO is a request where there are requests, and a bio
 * where there are none. zram counts whatever queue/iostats says (zram_submit_bio()). Of bios that were taken back
 * some are counted, others not: dm has begun to by then if the device below is what has no room.
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

/* What the device's statistics say, which are the same for all its stages. */
struct kernel_read {
	struct kernel_stat stat;
	int err;
};

/* Returns how reading went; -ENODEV also when the device is known to have gone. */
static int find_gone(struct live_capture *l, u32 i, const struct kernel_read *read)
{
	struct kernel_counts *k = &l->kernel[i];
	struct gone_watch *g = &l->gone[i];
	int err = g->gone ? -ENODEV : read->err;

	/* A count that fell began anew: zram stays when it is reset, but nothing else of it does (zram_reset_device()). */
	if (!err && read->stat.ios < k->last)
		err = -ENODEV;
	if (err == -ENODEV && !g->gone) {
		g->gone = true;
		g->replaced = device_replaced(l->capture.devices, l->capture.watches[i].device);
	}
	k->last = read->stat.ios;
	return err;
}

static void take_kernel(struct live_capture *l, u32 i, const struct kernel_read *read, struct watch_counts *w)
{
	const struct watch *watch = &l->capture.watches[i];
	struct kernel_counts *k = &l->kernel[i];
	u64 ios;
	int err;

	w->kernel_known = false;
	w->gone = l->last.w[i].gone;
	w->replaced = l->gone[i].replaced;
	if (w->gone)
		return;
	err = find_gone(l, i, read);
	w->gone = err == -ENODEV;
	w->replaced = l->gone[i].replaced;
	ios = read->stat.ios - k->base - w->accounts[BLKLAT_EMPTY_FLUSH];
	w->kernel_known = !err && kernel_comparable(watch, w->accounts) && (s64)ios >= 0;
	w->kernel_ios = w->kernel_known ? ios : 0;
	w->kernel_in_flight = w->kernel_known ? read->stat.in_flight : 0;
}

/* Reads them at the first of a device's watches, which stand together; keeps @read at the others. */
static void read_stat(struct live_capture *l, u32 i, struct kernel_read *read)
{
	const struct device *d = l->capture.watches[i].device;

	if (i && l->capture.watches[i - 1].device == d)
		return;
	read->stat = (struct kernel_stat){ 0 };
	read->err = l->gone[i].gone || l->last.w[i].gone ? -ENODEV :
		    device_files_stat(&l->files[i], l->capture.devices, d, &read->stat);
}

static void read_kernel(struct live_capture *l, struct snapshot *s)
{
	struct kernel_read read = { 0 };

	for (u32 i = 0; i < s->n; i++) {
		read_stat(l, i, &read);
		take_kernel(l, i, &read, &s->w[i]);
	}
}

int live_read(struct live_capture *l, struct snapshot *s, int (*count_bios)(struct live_capture *l),
	      struct problem *p)
{
	int err;

	region_next_epoch(&l->region);
	s->mono_ns = clock_ns(CLOCK_MONOTONIC);
	s->wall_ns = clock_ns(CLOCK_REALTIME);
	s->idle_gap_ns = l->idle_gap_ns;
	err = read_once(l, s, count_bios);
	for (long ms = 1; !err && !settled(l, s) && ms <= 16; ms *= 4) {
		nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
		err = read_once(l, s, count_bios);
	}
	if (err)
		return problem_set(p, err, "could not read the bios in flight: %s", strerror(-err));
	note_gaps(l, s);
	for (u32 i = 0; i < s->n; i++)
		if (l->gone[i].frozen.n)
			watch_counts_copy(&s->w[i], l->gone[i].frozen.w);
	read_kernel(l, s);
	return 0;
}

/* --- devices that go away ------------------------------------------------------------------ */

static bool any_in_flight(const struct live_capture *l)
{
	for (u32 i = 0; i < l->capture.n_watches; i++)
		if (l->gone[i].gone && !l->gone[i].frozen.n && region_in_flight(&l->region, i))
			return true;
	return false;
}

bool live_find_gone(struct live_capture *l)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct kernel_read read = { 0 };
	bool any = false;

	for (u32 i = 0; i < l->capture.n_watches; i++) {
		read_stat(l, i, &read);
		if (!l->gone[i].gone && !l->last.w[i].gone)
			any |= find_gone(l, i, &read) == -ENODEV;
	}
	for (u32 n = 0; any && n < 20 && any_in_flight(l); n++)
		nanosleep(&ms, NULL);
	return any;
}

void live_freeze(struct live_capture *l, int (*count_bios)(struct live_capture *l))
{
	u64 now = now_ns();

	count_bios(l);
	for (u32 i = 0; i < l->capture.n_watches; i++) {
		struct gone_watch *g = &l->gone[i];
		struct watch_counts *w;

		/* Without memory it is read at the interval's end, as any other. */
		if (!g->gone || g->frozen.n || l->last.w[i].gone || snapshot_init(&g->frozen, 1, l->capture.scale))
			continue;
		w = g->frozen.w;
		region_read(&l->region, i, &l->last.w[i], now, w);
		if (l->capture.watches[i].stage != BLKLAT_STAGE_TOTAL)
			continue;
		w->started = w->started_after = region_account(&l->region, i, BLKLAT_STARTED);
		w->in_flight = w->in_flight_after = l->bios[i].in_flight;
		w->oldest_ns = age_ns(l->bios[i].earliest_ns, now);
	}
}

void live_end(struct live_capture *l, const struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i++) {
		struct watch_counts *last = &l->last.w[i];

		last->gone = s->w[i].gone;
		last->started = s->w[i].started;
		last->started_after = s->w[i].started_after;
		last->in_flight_after = s->w[i].in_flight_after;
		last->accounts[BLKLAT_OVERWRITTEN] = s->w[i].accounts[BLKLAT_OVERWRITTEN];
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			hist_copy(&last->ops[op].hist, &s->w[i].ops[op].hist);
	}
}
