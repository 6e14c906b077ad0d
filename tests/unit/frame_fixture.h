/* SPDX-License-Identifier: GPL-2.0-only */
/* Two snapshots of two watches, which a test fills, and the frame between them. */
#ifndef TEST_FRAME_FIXTURE_H
#define TEST_FRAME_FIXTURE_H

#include "unit.h"

#include <math.h>

#include "core/frame.h"

#define SCALE 6

static const struct watch watches[2] = {
	{ .stage = BLKLAT_STAGE_DEVICE },
	{ .stage = BLKLAT_STAGE_QUEUE },
};

static struct {
	struct snapshot before, now;
	struct frames frames, run;
} f;

void set_up(void)
{
	assert_int_equal(snapshot_init(&f.before, 2, SCALE), 0);
	assert_int_equal(snapshot_init(&f.now, 2, SCALE), 0);
	assert_int_equal(frames_init(&f.frames, watches, 2, SCALE), 0);
	assert_int_equal(frames_init(&f.run, watches, 2, SCALE), 0);
	f.before.mono_ns = f.now.mono_ns = 5000000000;
	f.before.skipped = f.now.skipped = 0;
	f.now.idle_gap_ns = 100000000;
}

void tear_down(void)
{
	snapshot_uninit(&f.before);
	snapshot_uninit(&f.now);
	frames_uninit(&f.frames);
	frames_uninit(&f.run);
}

static inline void assert_near(double is, double must)
{
	if (!(fabs(is - must) <= fabs(must) * 1e-12))
		fail_msg("is %.9f, must be %.9f", is, must);
}

/* Counts one IO the way an engine does; the extremes are those of the interval. */
static inline void put(struct snapshot *s, u32 watch, u32 op, u64 ns, u64 bytes)
{
	struct op_counts *o = &s->w[watch].ops[op];

	hist_put(&o->hist, blklat_cell(ns, SCALE), 1);
	o->sum_ns += ns;
	o->bytes += bytes;
	if (!o->min_ns || ns < o->min_ns)
		o->min_ns = ns;
	if (ns > o->max_ns)
		o->max_ns = ns;
	s->w[watch].started++;
	s->w[watch].started_after++;
}

/* Makes the state now the state before: the next interval begins. */
static inline void advance(void)
{
	snapshot_copy(&f.before, &f.now);
	for (u32 i = 0; i < 2; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			f.now.w[i].ops[op].min_ns = f.now.w[i].ops[op].max_ns = 0;
}

/* Ends the interval; the run is made of all of them. */
static inline void between(u64 interval_ns)
{
	f.now.mono_ns = f.before.mono_ns + interval_ns;
	frames_between(&f.frames, &f.before, &f.now, &percentiles_default, 2);
	frames_accumulate(&f.run, &f.frames, &percentiles_default);
}

#endif
