/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counters of abi.h. Every change of a series or row that only this CPU writes to is a single operation
 * that an interrupt on this CPU can't split (local64_t, Documentation/core-api/local_ops.rst). So an IO that
 * ends in an interrupt, while another one is being counted, is counted as well: nothing is skipped. In a
 * shared series every change is atomic. The caller stays on its CPU.
 *
 * The code that every IO runs through is in this header, so that the probe is one piece without calls.
 */
#ifndef KMOD_HIST_H
#define KMOD_HIST_H

#include <linux/atomic.h>
#include <linux/nospec.h>
#include <asm/local64.h>

#include "blklat/bins.h"
#include "session.h"

/* Adds to a cell; @shared: other CPUs do so as well. */
static __always_inline void blklat_hist_add(u64 *cell, u64 n, bool shared)
{
	BUILD_BUG_ON(sizeof(local64_t) != sizeof(*cell) || sizeof(atomic64_t) != sizeof(*cell));
	/* What this CPU has seen of others' changes, such as a greater extreme, is visible before. */
	if (unlikely(shared))
		atomic64_fetch_add_release(n, (atomic64_t *)cell);
	else
		local64_add(n, (local64_t *)cell);
}

/*
 * The series in which @cpu counts the IOs of a watch (number + 1) and op: its own or, if it has none, the shared one.
 * @cpu < s->cpus, @op < BLKLAT_OPS.
 */
static __always_inline struct blklat_series *blklat_series_of(const struct blklat_session *s, u32 cpu, u32 watch,
							      u32 op, bool *ret_shared)
{
	struct blklat_own *own = &s->own[cpu * s->watches + watch - 1];	/* no kernel has 2^16 CPUs */
	/*
	 * Userspace wrote it, so it may be anything; 0 if it is out of range. With an index, kernels that have
	 * CONFIG_UBSAN_BOUNDS would also check @op.
	 */
	u32 number = array_index_nospec(READ_ONCE(*(own->series + op)), s->n_series);

	*ret_shared = !number;
	if (unlikely(!number)) {
		WRITE_ONCE(own->shared[op], READ_ONCE(own->shared[op]) + 1);
		number = (watch - 1) * BLKLAT_OPS + op;
	}
	return s->series + number * (u64)s->series_bytes;
}

/* For the function below. Atomic in any series, as it is rare, and userspace resets cells at the same time. */
void blklat_hist_raise(u64 *cell, u64 value);

/*
 * Counts everything about an ended IO of @ns except its bytes and its bin, which comes last (abi.h says
 * why). Returns the bin, for blklat_hist_add().
 */
static __always_inline u64 *blklat_hist_begin(const struct blklat_session *s, struct blklat_series *series, u64 ns,
					      bool shared)
{
	u32 parity = READ_ONCE(s->header->epoch) & 1;
	u32 octave, cell = blklat_place(ns, s->merged, &octave);

	if (unlikely(READ_ONCE(series->max_ns[parity]) < ns))
		blklat_hist_raise(&series->max_ns[parity], ns);
	if (unlikely(READ_ONCE(series->not_min_ns[parity]) < ~ns))
		blklat_hist_raise(&series->not_min_ns[parity], ~ns);
	blklat_hist_add(&series->sum_ns, ns, shared);
	if (unlikely(!(READ_ONCE(series->octaves) >> octave & 1)))
		atomic64_or(1ULL << octave, (atomic64_t *)&series->octaves);
	smp_wmb();
	return &series->bins[cell];
}

/* The number of the whole to which a watch (number + 1) belongs. Out of line, as a division takes long. */
u32 blklat_whole_number(const struct blklat_session *s, u32 watch);

/* Adds one to @cpu's account of the whole to which a watch (number + 1) belongs. */
static __always_inline void blklat_account(const struct blklat_session *s, u32 cpu, u32 watch, enum blklat_account cell)
{
	u32 whole = likely(!s->parts) ? watch - 1 : blklat_whole_number(s, watch);
	size_t row = (size_t)cpu * s->wholes + whole;

	blklat_hist_add(&s->accounts[row * BLKLAT_ACCOUNTS + cell], 1, false);
}

#endif
