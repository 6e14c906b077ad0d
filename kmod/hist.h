/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of abi.h, one row for each CPU. Every change is a single operation that an interrupt on
 * this CPU can't split (local64_t, Documentation/core-api/local_ops.rst). So an IO that ends in an
 * interrupt, while another one is being counted, is counted as well: nothing is skipped. The caller
 * stays on its CPU.
 *
 * The code that every IO runs through is in this header, so that the probe is one piece without calls.
 */
#ifndef KMOD_HIST_H
#define KMOD_HIST_H

#include <asm/local64.h>

#include "blklat/bins.h"
#include "session.h"

static inline local64_t *blklat_local(u64 *cell)
{
	BUILD_BUG_ON(sizeof(local64_t) != sizeof(*cell));
	return (local64_t *)cell;
}

/* Adds to a cell of this CPU's row. */
static __always_inline void blklat_hist_add(u64 *cell, u64 n)
{
	local64_add(n, blklat_local(cell));
}

/* @cpu's series of a watch (number + 1) and op; @cpu < s->cpus, @op < BLKLAT_OPS. */
static __always_inline struct blklat_series *blklat_series_of(const struct blklat_session *s, u32 cpu, u32 watch,
							      u32 op)
{
	return s->series + (u64)cpu * s->cpu_bytes + ((watch - 1) * BLKLAT_OPS + op) * (u64)s->series_bytes;
}

/*
 * The slow paths of the function below. Userspace resets cells at the same time, so not only this CPU
 * changes them.
 */
void blklat_hist_raise(u64 *cell, u64 value);
void blklat_hist_set_bit(u64 *cell, u64 bit);

/*
 * Counts everything about an ended IO of @ns except its bytes and its bin, which comes last (abi.h says
 * why). Returns the bin, for blklat_hist_add().
 */
static __always_inline u64 *blklat_hist_begin(const struct blklat_session *s, struct blklat_series *series, u64 ns)
{
	u32 parity = READ_ONCE(s->header->epoch) & 1;
	u32 octave, cell = blklat_place(ns, s->merged, &octave);

	if (unlikely(READ_ONCE(series->max_ns[parity]) < ns))
		blklat_hist_raise(&series->max_ns[parity], ns);
	if (unlikely(READ_ONCE(series->not_min_ns[parity]) < ~ns))
		blklat_hist_raise(&series->not_min_ns[parity], ~ns);
	blklat_hist_add(&series->sum_ns, ns);
	if (unlikely(!(READ_ONCE(series->octaves) >> octave & 1)))
		blklat_hist_set_bit(&series->octaves, 1ULL << octave);
	smp_wmb();
	return &series->bins[cell];
}

/* Adds one to @cpu's account of a watch (number + 1). */
void blklat_account(const struct blklat_session *s, u32 cpu, u32 watch, enum blklat_account cell);

#endif
