/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An engine's counters in plain memory, laid out and written by hand from the text of abi.h, so that
 * a reader that trusts the header's structs is checked against something else.
 */
#ifndef FAKE_REGION_H
#define FAKE_REGION_H

#include "unit.h"

#include <math.h>

#include "core/snapshot.h"
#include "engine/region.h"

/* In u64 from the start of a series. */
enum { AT_SUM, AT_BYTES, AT_ERRORS, AT_OCTAVES, AT_MAX, AT_NOT_MIN = AT_MAX + 2, AT_BINS = AT_NOT_MIN + 2 };

enum { FAKE_CPUS = 3, FAKE_WATCHES = 3, FAKE_OPS = 5 };

/* One that all CPUs share for each watch and op, then those of CPU 0, 1 and 2. */
enum { FAKE_SHARED = FAKE_WATCHES * FAKE_OPS, FAKE_SERIES = (1 + FAKE_CPUS) * FAKE_SHARED };

/* Slots 0..31 are nobody's, then 64 of watch 0 and 32 of watch 1; watch 2 has none (stage total). */
enum { FAKE_BLOCKS = 4 };

struct fake {
	struct region r;
	struct region_slots ranges[FAKE_WATCHES];
	u32 epoch;
	u64 *series, *accounts;
	struct blklat_own own[FAKE_CPUS * FAKE_WATCHES];
	struct blklat_slots *slots;
	struct snapshot before, now;
};

/* There is one at a time. */
static struct fake *fake_last;

static inline u32 fake_cells(u32 scale)
{
	return 33 * (1u << scale) + 2;
}

void tear_down_world(void)
{
	if (!fake_last)
		return;
	region_uninit(&fake_last->r);
	snapshot_uninit(&fake_last->before);
	snapshot_uninit(&fake_last->now);
	free(fake_last->series);
	free(fake_last->accounts);
	free(fake_last->slots);
	free(fake_last);
	fake_last = NULL;
}

static inline struct fake *fake_new(u32 scale)
{
	struct fake *f = calloc(1, sizeof(*f));
	u32 words = (AT_BINS + fake_cells(scale) + 7) / 8 * 8;

	tear_down_world();
	fake_last = f;
	f->series = calloc(FAKE_SERIES * words, sizeof(u64));
	f->accounts = calloc(FAKE_CPUS * FAKE_WATCHES * BLKLAT_ACCOUNTS, sizeof(u64));
	f->slots = calloc(FAKE_BLOCKS, sizeof(*f->slots));
	f->ranges[0] = (struct region_slots){ .first = 32, .n = 64 };
	f->ranges[1] = (struct region_slots){ .first = 96, .n = 32 };
	f->r = (struct region){
		.cpus = FAKE_CPUS, .rows = FAKE_CPUS, .watches = FAKE_WATCHES, .scale = scale, .series_bytes = words * 8,
		.series = f->series, .own = f->own, .accounts = f->accounts, .slots = f->slots, .n_slots = FAKE_BLOCKS * BLKLAT_SLOTS, .ranges = f->ranges,
		.epoch = &f->epoch,
	};
	if (region_init(&f->r, FAKE_CPUS * FAKE_SHARED) || snapshot_init(&f->before, FAKE_WATCHES, scale) || snapshot_init(&f->now, FAKE_WATCHES, scale))
		abort();
	return f;
}

/* The series of @cpu; with FAKE_CPUS the shared one. */
static inline u64 *fake_series(const struct fake *f, u32 cpu, u32 watch, u32 op)
{
	u32 first = cpu < FAKE_CPUS ? (1 + cpu) * FAKE_SHARED : 0;

	return f->series + (size_t)(first + watch * FAKE_OPS + op) * (f->r.series_bytes / 8);
}

static inline u64 *fake_account(const struct fake *f, u32 cpu, u32 watch, u32 cell)
{
	return f->accounts + (cpu * (FAKE_WATCHES / (1 + f->r.parts)) + watch) * BLKLAT_ACCOUNTS + cell;
}

/*
 * A latency in the middle of a bin of the finest grid: no rounding can move it to another bin.
 * Bins below number 320 are less than a nanosecond wide, so use those from 320 on.
 */
struct latency {
	u64 ns;
	u32 bin;
};

static inline struct latency latency_of(u32 bin)
{
	return (struct latency){ llround(1e9 * exp2(-26 + (bin + 0.5) / 64)), bin };
}

static inline u32 fake_cell(const struct fake *f, struct latency l)
{
	return 1 + (l.bin >> (6 - f->r.scale));
}

/* The extremes and sums of an ended IO, all but its bin. */
static inline void fake_begin_end(struct fake *f, u64 *s, u64 ns, u32 octave)
{
	u32 parity = f->epoch & 1;

	if (s[AT_MAX + parity] < ns)
		s[AT_MAX + parity] = ns;
	if (s[AT_NOT_MIN + parity] < ~ns)
		s[AT_NOT_MIN + parity] = ~ns;
	s[AT_SUM] += ns;
	s[AT_OCTAVES] |= 1ULL << octave;
}

static inline void fake_io(struct fake *f, u32 cpu, u32 watch, u32 op, struct latency l)
{
	u64 *s = fake_series(f, cpu, watch, op);

	fake_begin_end(f, s, l.ns, l.bin / 64);
	s[AT_BINS + fake_cell(f, l)]++;
}

/* The same for an IO outside of the grid: its cell is 0 or the last one. */
static inline void fake_io_outside(struct fake *f, u32 watch, u32 op, u64 ns, bool above)
{
	u64 *s = fake_series(f, 0, watch, op);

	fake_begin_end(f, s, ns, above ? 33 : 34);
	s[AT_BINS + (above ? fake_cells(f->r.scale) - 1 : 0)]++;
}

/* One drain, the way engines do it. */
static inline const struct watch_counts *fake_read(struct fake *f, u32 watch)
{
	struct snapshot swap = f->before;

	f->before = f->now;
	f->now = swap;
	for (u32 i = 0; i < FAKE_WATCHES; i++)
		region_read(&f->r, i, 1000000, &f->now.w[i]);
	return &f->now.w[watch];
}

/* The extremes that a frame of the last interval would have; there must have been IOs. */
static inline struct extremes fake_extremes(const struct fake *f, u32 watch, u32 op)
{
	const struct op_counts *before = &f->before.w[watch].ops[op], *now = &f->now.w[watch].ops[op];
	struct extremes e;
	struct hist h;

	if (hist_init(&h, f->r.scale))
		abort();
	hist_diff(&h, &now->hist, &before->hist);
	e = extremes_of(now, &h);
	hist_uninit(&h);
	return e;
}

static inline const struct watch_counts *fake_drain(struct fake *f, u32 watch)
{
	region_next_epoch(&f->r);
	return fake_read(f, watch);
}

#endif
