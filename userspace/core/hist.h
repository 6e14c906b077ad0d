/* SPDX-License-Identifier: GPL-2.0-only */
/* A latency histogram on the grid of bins.h, and its operations. Pure. */
#ifndef CORE_HIST_H
#define CORE_HIST_H

#include "blklat/bins.h"
#include "util/types.h"

struct hist {
	u32 scale;		/* an octave has 2^scale bins */
	u64 *cells;		/* BLKLAT_CELLS(scale): below the grid, the bins, above the grid */
	/*
	 * Bit o set: cells of octave o may hold IOs (see blklat_octave()); clear: they are all 0. IOs fall into few
	 * octaves, and with many devices most histograms are empty, so the functions below skip the rest. Whatever
	 * else writes to cells sets the octave's bit.
	 */
	u64 octaves;
};

#define HIST_ALL_OCTAVES ((1ULL << (BLKLAT_OCTAVE_BELOW + 1)) - 1)

/* Makes an empty histogram. Returns 0, -ENOMEM, or -EINVAL (scale above BLKLAT_SCALE_MAX). */
int hist_init(struct hist *h, u32 scale);
void hist_uninit(struct hist *h);

/* An empty histogram on borrowed cells: BLKLAT_CELLS(scale), all 0. Needs no hist_uninit(). */
static inline struct hist hist_on(u64 *cells, u32 scale)
{
	return (struct hist){ .scale = scale, .cells = cells };
}
void hist_clear(struct hist *h);

/* Adds to a cell. */
static inline void hist_put(struct hist *h, u32 cell, u64 n)
{
	h->cells[cell] += n;
	h->octaves |= 1ULL << blklat_octave(cell, h->scale);
}

/* Returns the number of cells of an octave; the first is *ret_first. */
static inline u32 hist_octave(u32 scale, u32 octave, u32 *ret_first)
{
	*ret_first = octave == BLKLAT_OCTAVE_BELOW ? 0 : 1 + (octave << scale);
	return octave < BLKLAT_OCTAVES ? 1U << scale : 1;
}

/* Number of IOs. */
u64 hist_count(const struct hist *h);

/* @to = @from, both of one scale. */
void hist_copy(struct hist *to, const struct hist *from);

/* @to += @from. @from may be finer than @to (an exact merge), never coarser. */
void hist_add(struct hist *to, const struct hist *from);

/* @to = @now - @before, or += it; all of one scale, @before a former state of @now. */
void hist_diff(struct hist *to, const struct hist *now, const struct hist *before);
void hist_add_diff(struct hist *to, const struct hist *now, const struct hist *before);

/*
 * Bounds of a cell in ns, lower exclusive, upper inclusive. Cell 0 is (0, first bound]; the last one has no upper
 * bound and returns UINT64_MAX.
 */
u64 hist_lower_ns(u32 scale, u32 cell);
u64 hist_upper_ns(u32 scale, u32 cell);

/*
 * Bins are the buckets of exponential histograms (Prometheus native, OpenTelemetry) whose schema is the scale: bucket
 * i is (2^((i - 1) / 2^scale), 2^(i / 2^scale)] s. The grid begins at 2^HIST_FIRST_LOG2 s. Cell 0, below it, is those
 * formats' zero bucket and has no number. The cell above the grid gets the number after the last bin's, so it merges
 * like the others.
 */
#define HIST_FIRST_LOG2 (-26)
s32 hist_bucket(u32 scale, u32 cell);

/* Finds the first and the last cell that hold IOs. Returns false if there is none. */
bool hist_range(const struct hist *h, u32 *ret_first, u32 *ret_last);

/* The first cell from @cell on that holds IOs; BLKLAT_CELLS() if there is none. */
u32 hist_next(const struct hist *h, u32 cell);

#define hist_for_each(cell, h) \
	for (u32 cell = hist_next(h, 0); cell < BLKLAT_CELLS((h)->scale); cell = hist_next(h, cell + 1))

#endif
