// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long one drain takes: opens the BPF engine as 'blklat --dev DEV' does and times its read, under
 * whatever load the device has. Prints one line of JSON.
 */
#include <stdio.h>

#include "times.h"
#include "util/cleanup.h"
#include "watched.h"

#define DRAINS 200
#define PAUSE_NS 25000000	/* long enough for the load to take the caches back */

static void print_times(const char *name, u64 *ns, const char *end)
{
	times_sort(ns, DRAINS);
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

int main(int argc, char **argv)
{
	struct watched w CLEANUP(watched_close) = { 0 };
	struct problem p = { "out of memory" };
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: drain DEV\n");
		return 2;
	}
	err = watched_open(&w, argv[1], &p) ?: time_drains(w.capture, &p);
	if (err)
		fprintf(stderr, "drain: %s\n", p.text);
	return err ? 1 : 0;
}
