// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long one drain takes: opens the BPF engine as 'blklat --dev DEV' does and times its read, under
 * whatever load the device has. Prints one line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/capture.h"
#include "cmd/watches.h"
#include "util/cleanup.h"

#define DRAINS 200
#define PAUSE_NS 25000000	/* long enough for the load to take the caches back */

static u64 clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *name, u64 *ns, const char *end)
{
	qsort(ns, DRAINS, sizeof(*ns), ascending);
	printf("\"%s\":{\"p50\":%.1f,\"p99\":%.1f}%s", name, ns[DRAINS / 2] / 1e3, ns[DRAINS * 99 / 100] / 1e3,
	       end);
}

static int time_drains(struct capture *c, struct problem *p)
{
	static u64 wall_ns[DRAINS], cpu_ns[DRAINS];
	struct snapshot s;
	int err = snapshot_init(&s, c->n_watches, c->scale);

	for (u32 i = 0; i < DRAINS && !err; i++) {
		const struct timespec pause = { .tv_nsec = PAUSE_NS };
		u64 wall, cpu;

		nanosleep(&pause, NULL);
		wall = clock_ns(CLOCK_MONOTONIC);
		cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		err = c->ops->read(c, &s, p);
		cpu_ns[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		wall_ns[i] = clock_ns(CLOCK_MONOTONIC) - wall;
	}
	if (err)
		return err;
	printf("{\"drains\":%d,", DRAINS);
	print_times("wall_us", wall_ns, ",");
	print_times("cpu_us", cpu_ns, "}\n");
	snapshot_uninit(&s);
	return 0;
}

static int run(const char *dev, struct device_table *t, struct watches *w, struct problem *p)
{
	const struct wanted wanted = { .n = 1, .devices = &dev };
	struct capture_config cfg = { .devices = t, .scale = -1, .max_bios = CAPTURE_MAX_BIOS };
	struct capture *c;
	int err = device_table_read(t, "", p);

	if (!err)
		err = watches_make(t, &wanted, w, p);
	if (err)
		return err;
	cfg.watches = w->w;
	cfg.n_watches = w->n;
	err = capture_bpf.open(&cfg, &c, p);
	if (err)
		return err;
	err = time_drains(c, p);
	capture_bpf.close(c);
	return err;
}

int main(int argc, char **argv)
{
	struct problem p = { "out of memory" };
	struct device_table t = { 0 };
	struct watches w = { 0 };
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: drain DEV\n");
		return 2;
	}
	err = run(argv[1], &t, &w, &p);
	if (err)
		fprintf(stderr, "drain: %s\n", p.text);
	watches_free(&w);
	device_table_free(&t);
	return err ? 1 : 0;
}
