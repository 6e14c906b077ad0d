/* SPDX-License-Identifier: GPL-2.0-only */
/* Made-up intervals, as many as a test likes, for a recording of its own. */
#ifndef TEST_RECORDING_FEED_H
#define TEST_RECORDING_FEED_H

#include "blklat/parts.h"
#include "recording_run.h"

#define FEED_OPS 2	/* reads and writes */

struct feed {
	struct device device[2];
	struct device_table table;
	struct watch *watches;
	struct origin origin;
	struct run_info info;
	struct snapshot before, now;
	struct frames is;
	struct sink *sink;
	struct problem problem;
	u64 seed;
	u32 cells;		/* that the IOs of an interval may fall into */
	u32 parts;		/* per watch */
	bool gone[2];		/* devices that go away in the next interval, or have gone */
};

static inline u64 feed_random(struct feed *f, u64 n)
{
	f->seed ^= f->seed << 13;
	f->seed ^= f->seed >> 7;
	f->seed ^= f->seed << 17;
	return f->seed % n;
}

/* @n_watches wholes, each with its parts. */
static inline void feed_init_by(struct feed *f, u32 n_watches, u32 scale, enum blklat_by by)
{
	struct watch *wholes = calloc(n_watches, sizeof(*wholes));

	*f = (struct feed){
		.device = { { .name = "loop0", .kind = "loop", .parent = 0 }, { .name = "loop1", .parent = 1 } },
		.origin = recording_origin, .seed = 88172645463325252ULL, .cells = 300,
	};
	f->origin.start_mono_ns = 7 * NSEC_PER_SEC;
	f->origin.start_wall_ns = 1795246500 * (s64)NSEC_PER_SEC;
	f->table = (struct device_table){ .n = 2, .d = f->device };
	/* There are three stages, and the reader refuses any other, so two devices have at most six watches. */
	for (u32 i = 0; i < n_watches; i++)
		wholes[i] = (struct watch){ .device = &f->device[i % 2], .stage = i / 2 };
	assert_int_equal(watches_divide(wholes, n_watches, by, 0, &f->watches, &n_watches), 0);
	free(wholes);
	f->parts = blklat_parts(by, 0);
	f->info = (struct run_info){
		.version = "1.2.3", .engine = "bpf", .watches = f->watches, .n_watches = n_watches,
		.devices = &f->table, .origin = &f->origin, .cpus = 2, .scale = scale, .interval_s = 1,
		.percentiles = percentiles_default,
	};
	assert_int_equal(snapshot_init(&f->before, n_watches, scale), 0);
	assert_int_equal(snapshot_init(&f->now, n_watches, scale), 0);
	assert_int_equal(frames_init(&f->is, f->watches, n_watches, scale), 0);
	f->now.mono_ns = f->origin.start_mono_ns;
	f->now.wall_ns = f->origin.start_wall_ns;
	f->now.idle_gap_ns = f->origin.idle_gap_ns;
}

static inline void feed_init(struct feed *f, u32 n_watches, u32 scale)
{
	feed_init_by(f, n_watches, scale, BLKLAT_BY_NOTHING);
}

static inline void feed_uninit(struct feed *f)
{
	snapshot_uninit(&f->before);
	snapshot_uninit(&f->now);
	frames_uninit(&f->is);
	free(f->watches);
}

static inline int feed_open(struct feed *f, const char *file, u64 max_bytes)
{
	const struct recorder_config cfg = { .file = file, .max_bytes = max_bytes };

	return recorder_open(&f->info, &cfg, &f->sink, &f->problem);
}

static inline u64 feed_op(struct feed *f, struct op_counts *o)
{
	u32 scale = o->hist.scale, idle = o->after_idle.scale;
	u64 ios = 0;

	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	/* A part of an IO, which may end in a later interval. */
	if (!feed_random(f, 4)) {
		o->bytes += 512;
		o->errors++;
	}
	/* Some intervals have no IO. */
	for (u32 i = feed_random(f, 8) ? f->cells : 0; i--;) {
		u64 ns = 50000 + feed_random(f, 1ULL << (10 + feed_random(f, 16))), n = 1 + feed_random(f, 200);

		o->hist.cells[blklat_cell(ns, scale)] += n;
		o->sum_ns += n * ns;
		o->bytes += n * 4096;
		o->errors += !feed_random(f, 100);
		o->min_ns = ns < o->min_ns ? ns : o->min_ns;
		o->max_ns = ns > o->max_ns ? ns : o->max_ns;
		ios += n;
		if (feed_random(f, 50))
			continue;
		o->after_idle.cells[blklat_cell(ns, idle)]++;
		o->after_idle_sum_ns += ns;
	}
	return ios;
}

/* The ops of whole @w are the sum of its parts'; what these have in flight is made up. Returns its IOs. */
static inline u64 feed_parts(struct feed *f, struct watch_counts *w)
{
	u64 ios = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		struct hist hist = w->ops[op].hist, after_idle = w->ops[op].after_idle;

		hist_clear(&hist);
		hist_clear(&after_idle);
		w->ops[op] = (struct op_counts){ .min_ns = UINT64_MAX, .late_min_ns = UINT64_MAX, .hist = hist, .after_idle = after_idle };
	}
	for (u32 p = 1; p <= f->parts; p++) {
		/* Some parts are never used. */
		for (u32 op = 0; p % 3 && op < FEED_OPS; op++)
			ios += feed_op(f, &w[p].ops[op]);
		watch_counts_add_part(w, &w[p]);
		w[p].in_flight = feed_random(f, 3);
		w[p].oldest_ns = w[p].in_flight * feed_random(f, 1000);
		w[p].waited_ns = w[p].in_flight * w[p].oldest_ns;
		w[p].gone = w[p].replaced = w->gone;
	}
	return ios;
}

/* Makes up an interval. */
static inline void feed_make(struct feed *f)
{
	snapshot_copy(&f->before, &f->now);
	for (u32 i = 0; i < f->now.n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			f->now.w[i].ops[op].min_ns = UINT64_MAX;
			f->now.w[i].ops[op].max_ns = 0;
		}
	f->now.mono_ns += NSEC_PER_SEC + feed_random(f, 1000);
	f->now.wall_ns = f->origin.start_wall_ns + (f->now.mono_ns - f->origin.start_mono_ns);
	for (u32 i = 0; i < f->now.n; i += 1 + f->parts) {
		struct watch_counts *w = &f->now.w[i];
		u64 ios = 0;

		if (w->gone)
			continue;
		w->gone = w->replaced = f->gone[f->watches[i].device - f->device];
		if (f->parts)
			ios = feed_parts(f, w);
		else for (u32 op = 0; op < FEED_OPS; op++)
			ios += feed_op(f, &w->ops[op]);
		w->started += ios + 32 - w->in_flight;
		w->started_after = w->started;
		w->in_flight = w->in_flight_after = 32;
		w->oldest_ns = feed_random(f, 100000);
		w->waited_ns = w->oldest_ns * 20;
		w->unsettled = !feed_random(f, 4);
		w->kernel_ios += ios;
		w->kernel_in_flight = w->kernel_ios % 40;
		w->kernel_known = true;
	}
	frames_between(&f->is, &f->before, &f->now, &f->info.percentiles, f->info.cpus);
}

/* Reads the next interval of a replay and adds @sum, the counts up to the previous one, as a live engine would count. */
static inline int read_summed(struct capture *c, struct snapshot *sum, struct problem *p)
{
	struct snapshot s;
	int err;

	assert_int_equal(snapshot_init(&s, c->n_watches, c->scale), 0);
	err = c->ops->read(c, &s, p);
	for (u32 i = 0; !err && i < s.n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++) {
			struct op_counts *o = &s.w[i].ops[op];
			u64 min_ns = o->min_ns, max_ns = o->max_ns;

			assert_int_equal(o->ios_before, hist_count(&sum->w[i].ops[op].hist));
			op_counts_add(o, &sum->w[i].ops[op]);
			o->min_ns = min_ns;
			o->max_ns = max_ns;
			o->ios_before = 0;
		}
	s.replayed = false;
	if (!err)
		snapshot_copy(sum, &s);
	snapshot_uninit(&s);
	return err;
}

static inline int feed_write(struct feed *f)
{
	return f->sink->ops->interval(f->sink, &f->is);
}

#endif
