/* SPDX-License-Identifier: GPL-2.0-only */
/* Where ended IOs are counted: a series for each watch and op that all CPUs share, and spare ones (abi.h). */
#ifndef SERIES_BPF_H
#define SERIES_BPF_H

#include "counters.bpf.h"

const volatile u32 cfg_merged = 0;		/* BLKLAT_SCALE_MAX - scale */
const volatile u32 cfg_cells = BLKLAT_CELLS(6);	/* of one histogram at that scale */
const volatile bool cfg_all_own = false;	/* each CPU has series of its own for everything, see owns_init() */

/* The sizes of both are set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, BLKLAT_SERIES_BYTES(BLKLAT_CELLS(6)));
	__uint(map_flags, BPF_F_MMAPABLE);
} series SEC(".maps");

/* [cpu][watch] */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct blklat_own);
	__uint(map_flags, BPF_F_MMAPABLE);
} own SEC(".maps");

/* This CPU's own series, if all have theirs. */
static __always_inline struct blklat_series *own_series(u32 watch, u32 op)
{
	u32 number = ((bpf_get_smp_processor_id() + 1) * cfg_watches + watch - 1) * BLKLAT_OPS + op;

	return bpf_map_lookup_elem(&series, &number);
}

/*
 * Where an ended IO counts: the first program in the CPU's own series, if it has one; standbys, and CPUs without one,
 * in the shared one. NULL never happens, but the verifier can't know.
 */
static __always_inline struct blklat_series *series_of(u32 watch, u32 op, u32 turn, enum sharing *ret)
{
	u32 number, at, mine;
	struct blklat_own *o;

	*ret = turn == TURN_FIRST && cfg_only_adds ? NESTED : SHARED;
	if (turn == TURN_FIRST && cfg_all_own) {
		*ret = sharing_of_own();
		return own_series(watch, op);
	}
	number = (watch - 1) * BLKLAT_OPS + op;
	if (turn == TURN_FIRST) {
		at = bpf_get_smp_processor_id() * cfg_watches + watch - 1;
		o = bpf_map_lookup_elem(&own, &at);
		/* For the verifier of 6.1; the compiler must not know that no op is larger. */
		asm volatile("" : "+r"(op));
		if (!o || op >= BLKLAT_OPS)
			return NULL;
		mine = o->series[op];
		if (mine) {
			number = mine;
			*ret = sharing_of_own();
		} else {
			o->shared[op]++;
		}
	}
	return bpf_map_lookup_elem(&series, &number);
}

/* Only the first IO of an octave finds the bit clear. If cfg_unguarded, userspace has set all bits. */
static __always_inline void note_octave(struct blklat_series *s, u32 octave, enum sharing sharing)
{
	u64 bit = 1ULL << octave;

	/* Without this, the compiler would also keep the address of the bitmap. */
	asm volatile("" : "+r"(bit));
	if (s->octaves & bit)
		return;
	if (sharing == SHARED)
		__sync_fetch_and_or(&s->octaves, bit);
	else
		s->octaves |= bit;
}

/*
 * Raises an extreme to @value. If another raises that of a shared series at the same moment, the lesser value may
 * remain. The reader then uses the bound of the bin. (Trying again would take the verifier beyond its limit where
 * everything is asked for.)
 */
static __always_inline void raise(u64 *cell, u64 value, enum sharing sharing)
{
	u64 is = *cell;

	if (is >= value)
		return;
	if (sharing == SHARED)
		__sync_val_compare_and_swap(cell, is, value);
	else
		*cell = value;
}

/*
 * Counts everything about an ended IO except its bytes and its bin, which comes last (abi.h says why).
 * Returns that bin; NULL never happens, but the verifier can't know.
 */
static __always_inline u64 *count_latency(struct blklat_series *s, u64 ns, enum sharing sharing)
{
	u32 parity = epoch & 1;
	u32 octave, cell = blklat_place(ns, cfg_merged, &octave);
	u64 *bin;

	if (cell >= cfg_cells)
		return NULL;
	/* Without this, the compiler would compute the address before the comparison. */
	asm volatile("" : "+r"(cell));
	bin = &s->bins[cell];
	/* And without this long after it, from a copy of the cell that the verifier has not seen compared. */
	asm volatile("" : "+r"(bin));
	raise(&s->max_ns[parity], ns, sharing);
	raise(&s->not_min_ns[parity], ~ns, sharing);
	add(&s->sum_ns, ns, sharing);
	note_octave(s, octave, sharing);
	return bin;
}

#endif
