/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings of made-up intervals, as many as a test likes; the same ones each time. */
#ifndef TEST_RECORDING_FEED_H
#define TEST_RECORDING_FEED_H

#include "recording_world.h"

#include <sys/wait.h>

#include "blklat/parts.h"
#include "util/clock.h"

#define FEED_OPS 2	/* reads and writes */
#define SCALE 6

/* The made-up run. */
static struct {
	struct device device[2];
	struct device_table table;
	struct watch *watches;
	struct origin origin;
	struct run_info info;
	struct snapshot before, now;
	struct frames is;
	struct sink *sink;
	u64 seed;
	u32 cells;		/* that the IOs of an interval may fall into */
	u32 parts;		/* per watch */
	bool gone[2];		/* devices that go away in the next interval, or have gone */
} f;

static inline u64 feed_random(u64 n)
{
	return next_random(&f.seed) % n;
}

static inline void feed_close(void)
{
	if (f.sink)
		f.sink->ops->close(f.sink);
	f.sink = NULL;
}

static inline void feed_uninit(void)
{
	feed_close();
	snapshot_uninit(&f.before);
	snapshot_uninit(&f.now);
	frames_uninit(&f.is);
	free(f.watches);
	f.watches = NULL;
}

/* @n_watches wholes, each with its parts. Begins anew. */
static inline void feed_begin_by(u32 n_watches, enum blklat_by by)
{
	struct watch *wholes = calloc(n_watches, sizeof(*wholes));

	feed_uninit();
	memset(&f, 0, sizeof(f));
	f.device[0] = (struct device){ .name = "loop0", .kind = "loop", .parent = 0 };
	f.device[1] = (struct device){ .name = "loop1", .parent = 1 };
	f.seed = 88172645463325252ULL;
	f.cells = 300;
	f.origin = recording_origin;
	f.origin.start_mono_ns = 7 * NSEC_PER_SEC;
	f.origin.start_wall_ns = 1795246500 * (s64)NSEC_PER_SEC;
	f.table = (struct device_table){ .n = 2, .d = f.device };
	/* There are three stages, and the reader refuses any other, so two devices have at most six watches. */
	for (u32 i = 0; i < n_watches; i++)
		wholes[i] = (struct watch){ .device = &f.device[i % 2], .stage = i / 2 };
	assert_int_equal(watches_divide(wholes, n_watches, by, 0, &f.watches, &n_watches), 0);
	free(wholes);
	f.parts = blklat_parts(by, 0);
	f.info = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = f.watches, .n_watches = n_watches,
		.devices = &f.table, .origin = &f.origin, .cpus = 2, .scale = SCALE, .interval_s = 1,
		.percentiles = percentiles_default,
	};
	snapshot_make(&f.before, n_watches, SCALE);
	snapshot_make(&f.now, n_watches, SCALE);
	assert_int_equal(frames_init(&f.is, f.watches, n_watches, SCALE), 0);
	f.now.mono_ns = f.origin.start_mono_ns;
	f.now.wall_ns = f.origin.start_wall_ns;
	f.now.idle_gap_ns = f.origin.idle_gap_ns;
}

static inline void feed_begin(u32 n_watches)
{
	feed_begin_by(n_watches, BLKLAT_BY_NOTHING);
}

static inline int feed_open_as(const struct recorder_config *cfg)
{
	return recorder_open(&f.info, cfg, &f.sink, &p);
}

static inline int feed_open(u64 max_bytes)
{
	return feed_open_as(&(struct recorder_config){ .file = at.file, .max_bytes = max_bytes });
}

static inline u64 feed_op(struct op_counts *o)
{
	u32 scale = o->hist.scale, idle = o->after_idle.scale;
	u64 ios = 0;

	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	/* A part of an IO, which may end in a later interval. */
	if (!feed_random(4)) {
		o->bytes += 512;
		o->errors++;
	}
	/* Some intervals have no IO. */
	for (u32 i = feed_random(8) ? f.cells : 0; i--;) {
		u64 ns = 50000 + feed_random(1ULL << (10 + feed_random(16))), n = 1 + feed_random(200);

		hist_put(&o->hist, blklat_cell(ns, scale), n);
		o->sum_ns += n * ns;
		o->bytes += n * 4096;
		o->errors += !feed_random(100);
		o->min_ns = ns < o->min_ns ? ns : o->min_ns;
		o->max_ns = ns > o->max_ns ? ns : o->max_ns;
		ios += n;
		if (feed_random(50))
			continue;
		hist_put(&o->after_idle, blklat_cell(ns, idle), 1);
		o->after_idle_sum_ns += ns;
	}
	return ios;
}

/* The ops of whole @w are the sum of its parts'; what these have in flight is made up. Returns its IOs. */
static inline u64 feed_parts(struct watch_counts *w)
{
	u64 ios = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct hist hist = w->ops[op].hist, after_idle = w->ops[op].after_idle;

		hist_clear(&hist);
		hist_clear(&after_idle);
		w->ops[op] = (struct op_counts){ .min_ns = UINT64_MAX, .late_min_ns = UINT64_MAX, .hist = hist, .after_idle = after_idle };
	}
	for (u32 part = 1; part <= f.parts; part++) {
		/* Some parts are never used. */
		for (u32 op = 0; part % 3 && op < FEED_OPS; op++)
			ios += feed_op(&w[part].ops[op]);
		watch_counts_add_part(w, &w[part]);
		w[part].in_flight = feed_random(3);
		w[part].oldest_ns = w[part].in_flight * feed_random(1000);
		w[part].waited_ns = w[part].in_flight * w[part].oldest_ns;
		w[part].gone = w[part].replaced = w->gone;
	}
	return ios;
}

/* Makes up an interval. */
static inline void feed_make(void)
{
	snapshot_copy(&f.before, &f.now);
	for (u32 i = 0; i < f.now.n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			f.now.w[i].ops[op].min_ns = UINT64_MAX;
			f.now.w[i].ops[op].max_ns = 0;
		}
	f.now.mono_ns += NSEC_PER_SEC + feed_random(1000);
	f.now.wall_ns = f.origin.start_wall_ns + (f.now.mono_ns - f.origin.start_mono_ns);
	for (u32 i = 0; i < f.now.n; i += 1 + f.parts) {
		struct watch_counts *w = &f.now.w[i];
		u64 ios = 0;

		if (w->gone)
			continue;
		w->gone = w->replaced = f.gone[f.watches[i].device - f.device];
		if (f.parts)
			ios = feed_parts(w);
		else for (u32 op = 0; op < FEED_OPS; op++)
			ios += feed_op(&w->ops[op]);
		w->started += ios + 32 - w->in_flight;
		w->started_after = w->started;
		w->accounts[BLKLAT_BUSY] += NSEC_PER_SEC / 4;
		w->in_flight = w->in_flight_after = 32;
		w->oldest_ns = feed_random(100000);
		w->waited_ns = w->oldest_ns * 20;
		w->unsettled = !feed_random(4);
		w->kernel_ios += ios;
		w->kernel_in_flight = w->kernel_ios % 40;
		w->kernel_known = true;
	}
	frames_between(&f.is, &f.before, &f.now, &f.info.percentiles, f.info.cpus);
}

/* Makes the same intervals again, up to the time of a replay, as one interval. Returns how many they are. */
static inline u32 feed_again(u64 mono_ns, u64 bytes[FEED_OPS])
{
	u32 n = 0;

	for (; f.now.mono_ns < mono_ns; n++) {
		feed_make();
		for (u32 i = 0; i < f.now.n; i++)
			for (u32 op = 0; n && op < BLKLAT_OPS; op++) {
				struct op_counts *o = &f.now.w[i].ops[op], *before = &f.before.w[i].ops[op];

				o->min_ns = min_u64(o->min_ns, before->min_ns);
				o->max_ns = max_u64(o->max_ns, before->max_ns);
			}
		for (u32 op = 0; op < FEED_OPS; op++)
			bytes[op] += f.is.f[0].ops[op].bytes;
	}
	assert_true(f.now.mono_ns == mono_ns);
	return n;
}

static inline int feed_write(void)
{
	return f.sink->ops->interval(f.sink, &f.is);
}

/* Makes up an interval and writes it. */
static inline void feed_interval(void)
{
	feed_make();
	if (feed_write()) {
		recorder_problem(f.sink, &p);
		fail_msg("%s", p.text);
	}
}

/* Records @n intervals. */
static inline void feed_record(u64 max_bytes, u32 n)
{
	if (feed_open(max_bytes))
		fail_msg("%s", p.text);
	while (n--)
		feed_interval();
	feed_close();
}

void tear_down(void)
{
	feed_uninit();
}

/* --- a child process, which the test kills, or takes its rights away ----------------------------------- */

/* Runs the function in a child process, to its end. */
static inline void in_child(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a child failed: status %x, line modulo 256: %d", status, WEXITSTATUS(status));
}

#endif
