// SPDX-License-Identifier: GPL-2.0-only
#include "hist.h"

#include <asm/local64.h>

#include "blklat/bins.h"

static local64_t *local(u64 *cell)
{
	BUILD_BUG_ON(sizeof(local64_t) != sizeof(*cell));
	return (local64_t *)cell;
}

void blklat_hist_add(u64 *cell, u64 n)
{
	local64_add(n, local(cell));
}

struct blklat_series *blklat_series_of(const struct blklat_session *s, u32 cpu, u32 watch, u32 op)
{
	size_t row = ((size_t)cpu * s->watches + watch - 1) * BLKLAT_OPS + op;

	return s->series + row * s->series_bytes;
}

/* Userspace empties the cells of the parity that is not in use, so a slow CPU may meet it: no loop is long. */
static void raise(u64 *cell, u64 value)
{
	u64 seen = READ_ONCE(*cell), old;

	while (seen < value) {
		old = seen;
		seen = local64_cmpxchg(local(cell), old, value);
		if (seen == old)
			break;
	}
}

static void set_bit_once(u64 *cell, u64 bit)
{
	u64 seen = READ_ONCE(*cell), old;

	while (!(seen & bit)) {
		old = seen;
		seen = local64_cmpxchg(local(cell), old, old | bit);
		if (seen == old)
			break;
	}
}

u64 *blklat_hist_begin(const struct blklat_session *s, struct blklat_series *series, u64 ns)
{
	u32 parity = READ_ONCE(s->header->epoch) & 1;
	u32 cell = blklat_cell(ns, s->scale);

	raise(&series->max_ns[parity], ns);
	raise(&series->not_min_ns[parity], ~ns);
	blklat_hist_add(&series->sum_ns, ns);
	set_bit_once(&series->octaves, 1ULL << blklat_octave(cell, s->scale));
	smp_wmb();
	return &series->bins[cell];
}

void blklat_account(const struct blklat_session *s, u32 cpu, u32 watch, enum blklat_account cell)
{
	size_t row = (size_t)cpu * s->watches + watch - 1;

	blklat_hist_add(&s->accounts[row * BLKLAT_ACCOUNTS + cell], 1);
}
