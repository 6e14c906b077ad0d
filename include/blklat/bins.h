/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * The one grid of all latencies: from a number of nanoseconds to a bin.
 *
 * Bounds are 2^(k/64) seconds, so a bin is 1.09 % wide, and the bins are the buckets of Prometheus
 * native histograms of schema 6 and of OpenTelemetry exponential histograms of scale 6. A bin holds
 *   lower < ns <= upper        (as both define it)
 * with upper = floor(10^9 * 2^(k/64)). They cover 2^-26 s (14.9 ns) to 2^7 s (128 s): 33 octaves, 2112
 * bins. Cell 0 counts what lies below, the last cell what lies above; nothing is clamped.
 * At scale s an octave has 2^s bins: 64 >> (6 - s) neighbours merged, exactly.
 *
 * Worked row: 60000 ns = 1.83 * 2^15. Below it lie 15 octaves of 64 bounds and, of the mantissas of
 * the bounds, those under 1.83: 56. That is bound 1016; the grid begins at bound 249, so it is cell
 * 767, (59727, 60377] ns.
 *
 * Exact for every u64: a bound's mantissa is kept with 57 bits, an ns within the grid has at most 37.
 * The error of anything computed from bins alone is at most half a bin's ratio, 0.55 %, at scale 6.
 */
#ifndef BLKLAT_BINS_H
#define BLKLAT_BINS_H

#ifdef __KERNEL__
#include <linux/bitops.h>
#else
#include <linux/types.h>
#endif
#include "blklat/bins_table.h"

#define BLKLAT_SCALE_MAX 6
#define BLKLAT_OCTAVES 33U
#define BLKLAT_BINS(scale) (BLKLAT_OCTAVES << (scale))
#define BLKLAT_CELLS(scale) (BLKLAT_BINS(scale) + 2)
#define BLKLAT_CELLS_MAX BLKLAT_CELLS(BLKLAT_SCALE_MAX)

/* Bits of the bitmap of octaves in use: 0..32 the grid's, then the cells above and below it. */
#define BLKLAT_OCTAVE_ABOVE BLKLAT_OCTAVES
#define BLKLAT_OCTAVE_BELOW (BLKLAT_OCTAVES + 1)

static const __u64 blklat_mantissas[128] = BLKLAT_MANTISSAS;

/*
 * Has the kernel's verifier of BPF programs forget what it knows about a number below 2^29. It would go through all
 * that follows once for each constant that a branch has set. But the difference of two addresses is any number to it.
 * And after a jump it compares what it knows with what it has seen there; this one is removed (opt_remove_nops()).
 */
#ifdef __bpf__
#define BLKLAT_FORGET(number)							\
	do {									\
		/* x86 shifts by this one: see bucket_of() */			\
		register __u64 n asm("r4") = number;				\
										\
		asm volatile("%0 += r10; %0 -= r10; goto +0" : "+r"(n));	\
		number = n;							\
	} while (0)
#else
#define BLKLAT_FORGET(number)
#endif

/*
 * floor(log2(v)) for 1 <= v < 2^40. There is no count-leading-zeros: clang 14 crashes on it for BPF.
 * Three or four compares find the highest nonzero nibble. They are predicted well, as the latencies of
 * a device fall into few octaves. The nibble's own logarithm is looked up in a constant that has one
 * nibble for each value.
 */
#ifdef __KERNEL__
static inline __u32 blklat_log2(__u64 v)
{
	return __fls(v);
}
#else
static inline __u32 blklat_log2(__u64 v)
{
	__u64 nibble;

	if (v >> 20)
		nibble = v >> 28 ? (v >> 32 ? (v >> 36 ? 36 : 32) : 28) : (v >> 24 ? 24 : 20);
	else
		nibble = v >> 12 ? (v >> 16 ? 16 : 12) : (v >> 8 ? 8 : (v >> 4 ? 4 : 0));
	BLKLAT_FORGET(nibble);
	return nibble + (0x3333333322221100ULL >> ((v >> nibble) * 4) & 3);
}
#endif

/* Whether a latency lies in the grid. */
static inline int blklat_in_grid(__u64 ns)
{
	return ns - BLKLAT_FIRST_NS - 1 < BLKLAT_LAST_NS - BLKLAT_FIRST_NS;
}

/* The bin at scale 6, 0..2111, of a latency in the grid; its cell is the next. */
static inline __u32 blklat_bin_finest(__u64 ns)
{
	__u32 e = blklat_log2(ns);
	__u64 mantissa = ns << (63 - e);
	__u64 entry = blklat_mantissas[mantissa >> 56 & 127];

	/* The lower 26 bits of mantissa are 0, so the count in entry's lower 7 bits does not affect the comparison. */
	return e * 64 + (entry & 127) + (mantissa > entry) - BLKLAT_ORIGIN - 1;
}

/* The cell of a latency at scale 6: 0 below the grid, 1..2112, 2113 above. */
static inline __u32 blklat_cell_finest(__u64 ns)
{
	if (ns <= BLKLAT_FIRST_NS)
		return 0;
	return ns > BLKLAT_LAST_NS ? BLKLAT_CELLS_MAX - 1 : blklat_bin_finest(ns) + 1;
}

/* The cell at a scale of 0 to 6 that a cell at scale 6 is part of. */
static inline __u32 blklat_coarser(__u32 cell, __u32 scale)
{
	if (!cell)
		return 0;
	/* Rounding up keeps bin n of the grid in bin n >> shift; above stays the last. */
	return ((cell - 1) >> (BLKLAT_SCALE_MAX - scale)) + 1;
}

/* The cell of a latency at a scale of 0 to 6, within BLKLAT_CELLS(scale). */
static inline __u32 blklat_cell(__u64 ns, __u32 scale)
{
	return blklat_coarser(blklat_cell_finest(ns), scale);
}

/* A latency's cell at scale 6 - @merged, and that cell's octave (the same at any scale). */
static inline __u32 blklat_place(__u64 ns, __u32 merged, __u32 *ret_octave)
{
	__u32 bin;

	if (__builtin_expect(blklat_in_grid(ns), 1)) {
		bin = blklat_bin_finest(ns);
		*ret_octave = bin >> BLKLAT_SCALE_MAX;
		return (merged ? bin >> merged : bin) + 1;
	}
	*ret_octave = ns > BLKLAT_LAST_NS ? BLKLAT_OCTAVE_ABOVE : BLKLAT_OCTAVE_BELOW;
	return ns > BLKLAT_LAST_NS ? (BLKLAT_BINS(BLKLAT_SCALE_MAX) >> merged) + 1 : 0;
}

/* The octave, 0..34, whose bit in the bitmap stands for a cell. */
static inline __u32 blklat_octave(__u32 cell, __u32 scale)
{
	return cell ? (cell - 1) >> scale : BLKLAT_OCTAVE_BELOW;
}

#endif
