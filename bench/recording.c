// SPDX-License-Identifier: GPL-2.0-only
/*
 * What it costs to record a device: opens the BPF engine as 'blklat record --dev DEV -o FILE' does, and writes an
 * interval a second for a while. Only the first write of each is timed. Each is written COPIES times, so that the
 * unused end of each table's last page is below 2 % of the file. Prints one line of JSON and deletes the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/intervals.h"
#include "recording/recorder.h"
#include "times.h"
#include "util/cleanup.h"
#include "watched.h"

#define INTERVALS_MAX 3600
#define COPIES 50

struct times {
	u64 wall_ns[INTERVALS_MAX], cpu_ns[INTERVALS_MAX];
};

static void print_times(const char *name, u64 *ns, u32 n)
{
	times_sort(ns, n);
	printf("\"%s\":{\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f},", name, ns[n / 2] / 1e3, ns[n * 99 / 100] / 1e3,
	       ns[n - 1] / 1e3);
}

static u32 series_of(const struct frames *is)
{
	u32 n = 0;

	for (u32 i = 0; i < is->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			n += is->f[i].ops[op].ios > 0;
	return n;
}

static int write_interval(struct sink *s, const struct frames *is, u64 *ret_wall_ns, u64 *ret_cpu_ns)
{
	u64 wall = clock_ns(CLOCK_MONOTONIC), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = s->ops->interval(s, is);

	*ret_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	*ret_wall_ns = clock_ns(CLOCK_MONOTONIC) - wall;
	for (u32 i = 1; !err && i < COPIES; i++)
		err = s->ops->interval(s, is);
	return err;
}

static int write_intervals(struct capture *c, struct sink *s, u32 n, struct times *t, struct problem *p)
{
	const struct percentiles *ps = &percentiles_default;
	struct intervals intervals;
	const struct frames *is = &intervals.frames;
	u64 series = 0, ios = 0;
	int err = intervals_init(&intervals, c) ?: intervals_begin(&intervals, p);

	for (u32 i = 0; !err && i < n; i++) {
		const struct timespec second = { .tv_sec = 1 };

		nanosleep(&second, NULL);
		err = intervals_next(&intervals, ps, p);
		if (err)
			break;
		err = write_interval(s, is, &t->wall_ns[i], &t->cpu_ns[i]);
		recorder_problem(s, p);
		series += COPIES * series_of(is);
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			ios += is->f[0].ops[op].ios;
	}
	intervals_uninit(&intervals);
	printf("{\"intervals\":%u,\"series\":%llu,\"ios\":%llu,", n, series, ios);
	return err;
}

static u64 size_of(const char *file)
{
	struct stat st;

	return stat(file, &st) ? 0 : st.st_size;
}

static int record(const struct watched *w, const char *file, u32 n, struct problem *p)
{
	static struct times times;
	struct capture *c = w->capture;
	const struct origin origin = { .label = "", .host = "", .kernel = "", .version = "", .command = "" };
	const struct run_info info = {
		.version = BLKLAT_VERSION, .engine = c->engine, .watches = c->watches, .n_watches = c->n_watches,
		.devices = &w->devices, .origin = &origin, .cpus = c->cpus, .scale = c->scale,
		.memory_bytes = c->memory_bytes, .interval_s = 1, .percentiles = percentiles_default,
	};
	const struct recorder_config cfg = { .file = file, .overwrite = true };
	struct sink *s;
	u64 empty;
	int err = recorder_open(&info, &cfg, &s, p);

	/* What a file without intervals takes: the tables and the bounds of the bins. */
	if (err)
		return err;
	s->ops->close(s);
	empty = size_of(file);
	err = recorder_open(&info, &cfg, &s, p);
	if (!err) {
		err = write_intervals(c, s, n, &times, p);
		s->ops->close(s);
	}
	if (err)
		return err;
	print_times("wall_us", times.wall_ns, n);
	print_times("cpu_us", times.cpu_ns, n);
	printf("\"empty_bytes\":%llu,\"bytes\":%llu}\n", empty, size_of(file));
	return unlink(file);
}

int main(int argc, char **argv)
{
	u32 n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct watched w CLEANUP(watched_close) = { 0 };
	struct problem p = { "out of memory" };
	int err;

	if (!n || n > INTERVALS_MAX) {
		fprintf(stderr, "usage: recording DEV FILE INTERVALS\n");
		return 2;
	}
	err = watched_open(&w, argv[1], &p) ?: record(&w, argv[2], n, &p);
	if (err)
		fprintf(stderr, "recording: %s\n", p.text);
	return err ? 1 : 0;
}
