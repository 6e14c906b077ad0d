// SPDX-License-Identifier: GPL-2.0-only
#include "engine/gone.h"

#include <errno.h>
#include <time.h>

#include "util/clock.h"

/* Reads at the first of a device's watches; keeps @read at the others. */
static void read_statistics(struct kernel_capture *k, u32 i, struct kernel_read *read)
{
	const struct device *d = k->capture.watches[i].device;
	const struct watch_state *w = &k->state[i];

	if (i && k->capture.watches[i - 1].device == d)
		return;
	read->stat = (struct kernel_stat){ 0 };
	read->err = w->gone ? -ENODEV : device_files_stat(&w->files, k->capture.devices, d, &read->stat);
}

int gone_read_statistics(struct kernel_capture *k, u32 i, struct kernel_read *read)
{
	struct kernel_ios *ios = &k->state[i].ios;
	struct watch_state *g = &k->state[i];
	int err;

	read_statistics(k, i, read);
	err = g->gone ? -ENODEV : read->err;
	/*
	 * A count that fell has been reset. zram keeps its device when it is reset, but nothing else
	 * (zram_reset_device()).
	 */
	if (!err && read->stat.ios < ios->last)
		err = -ENODEV;
	if (err == -ENODEV && !g->gone) {
		g->gone = true;
		g->replaced = device_replaced(k->capture.devices, k->capture.watches[i].device);
	}
	ios->last = read->stat.ios;
	return err;
}

void gone_mark(const struct kernel_capture *k, u32 whole, struct watch_counts *w)
{
	for (u32 n = 0; n <= k->parts; n++) {
		w[n].gone = k->state[whole].gone;
		w[n].replaced = k->state[whole].replaced;
	}
}

static bool any_in_flight(const struct kernel_capture *k)
{
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i))
		if (k->state[i].gone && !k->state[i].frozen.n && region_in_flight(&k->region, i))
			return true;
	return false;
}

/* IOs in flight on devices that are gone end soon, if at all. */
static void wait_for_ends(const struct kernel_capture *k)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (u32 n = 0; n < 20 && any_in_flight(k); n++)
		nanosleep(&ms, NULL);
}

static void swap(u64 *a, u64 *b)
{
	u64 was = *a;

	*a = *b;
	*b = was;
}

/* For a watch that was read in the middle of an interval: the cells for late extremes hold its extremes. */
static void take_late_extremes(struct watch_counts *w)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		swap(&w->ops[op].min_ns, &w->ops[op].late_min_ns);
		swap(&w->ops[op].max_ns, &w->ops[op].late_max_ns);
	}
}

/* Takes the final figures of devices that are gone and were not reported yet; @amid an interval, or at its end. */
static void freeze(struct kernel_capture *k, bool amid)
{
	u64 now = now_ns();

	k->hooks->count_bios(k);
	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		struct watch_state *g = &k->state[i];
		struct watch_counts *w;

		/* If there is no memory, the watch is read at the interval's end like any other. */
		if (!g->gone || g->frozen.n || g->told || snapshot_init(&g->frozen, 1 + k->parts, k->capture.scale))
			continue;
		w = g->frozen.w;
		region_read(&k->region, i, now, w);
		for (u32 p = 0; amid && p <= k->parts; p++)
			take_late_extremes(&w[p]);
		if (!BLKLAT_OF_BIOS(k->capture.watches[i].stage))
			continue;
		w->started = w->started_after = region_account(&k->region, i, BLKLAT_STARTED);
		kernel_capture_take_bios(k, i, now, w);
		w->in_flight_after = w->in_flight;
	}
}

void gone_take_frozen(const struct kernel_capture *k, struct snapshot *s)
{
	for (u32 i = 0; i < s->n; i = next_whole(k, i))
		for (u32 n = 0; n < k->state[i].frozen.n; n++)
			watch_counts_copy(&s->w[i + n], &k->state[i].frozen.w[n]);
}

bool gone_find(struct kernel_capture *k)
{
	struct kernel_read read = { 0 };
	bool any = false;

	for (u32 i = 0; i < k->capture.n_watches; i = next_whole(k, i)) {
		bool gone = k->state[i].gone;

		any |= gone_read_statistics(k, i, &read) == -ENODEV && !gone;
	}
	if (any)
		wait_for_ends(k);
	return any;
}

void gone_freeze(struct kernel_capture *k)
{
	freeze(k, true);
}

void gone_finish(struct kernel_capture *k, struct snapshot *s)
{
	wait_for_ends(k);
	freeze(k, false);
	gone_take_frozen(k, s);
	for (u32 i = 0; i < s->n; i = next_whole(k, i))
		gone_mark(k, i, &s->w[i]);
}

void gone_reported(struct kernel_capture *k)
{
	for (u32 i = 0; i < k->capture.n_watches; i++)
		k->state[i].told = k->state[i].gone;
}
