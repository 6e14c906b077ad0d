/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IOs after a pause: issued when nothing had been issued or ended on their device for cfg_idle_gap_ns.
 *
 * The time of a device's last use is shared by all CPUs, so they must not write it at each IO. It is
 * written only when it is older than SEEN_EVERY_NS. An IO's end looks at it only if the IO took longer
 * than that; otherwise its issue has updated it recently enough. So the time may be up to two such
 * periods old (PAUSE_DOUBT_NS), and a pause is only certain if it seems that much longer than the gap.
 * CPUs that issue at the same moment may each find the pause. If a clock is behind another CPU's, the
 * age is negative, not huge.
 */
#ifndef PAUSES_BPF_H
#define PAUSES_BPF_H

#include "counters.bpf.h"
#include "parts.bpf.h"

const volatile u64 cfg_idle_gap_ns = 0;		/* 0: pauses are not looked for */
const volatile u32 cfg_idle_merged = 0;		/* BLKLAT_SCALE_MAX - scale of idle_series */
const volatile u32 cfg_idle_cells = 1;		/* of a histogram at that scale */

#define SEEN_EVERY_NS 500000
#define PAUSE_DOUBT_NS (2 * SEEN_EVERY_NS)

/* [watch][op], shared by all CPUs, as these IOs are rare. Its size is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, BLKLAT_IDLE_SERIES_BYTES(1));
	__uint(map_flags, BPF_F_MMAPABLE);
} idle_series SEC(".maps");

static __always_inline bool is_old(u64 seen_ns, u64 now)
{
	return (s64)(now - seen_ns) > SEEN_EVERY_NS;
}

static __always_inline void note_use(u64 *seen_ns, u64 now)
{
	if (is_old(*seen_ns, now))
		*seen_ns = now;
}

/*
 * True if an IO issued now follows a pause. At first nothing is known, so the answer is no. The
 * difference is signed, as another CPU may have noted a use of the device that is later than @now.
 */
static __always_inline bool note_issue(u64 *seen_ns, u64 now)
{
	u64 before = *seen_ns;

	*seen_ns = now;
	return before && (s64)(now - before) >= (s64)(cfg_idle_gap_ns + PAUSE_DOUBT_NS);
}

/* The mark of a start time, or 0. */
static __noinline u64 find_mark(struct target *t, u64 now)
{
	return t && note_issue(&t->seen_ns, now) ? BLKLAT_SLOT_AFTER_IDLE : 0;
}

/* Whether pauses are looked for; @mode is a constant in the caller. */
static __always_inline bool wants_pauses(enum mode mode)
{
	return mode >= MODE_DEVICE_MORE && cfg_idle_gap_ns;
}

/* The start time of an IO issued now, with its mark. */
static __always_inline u64 marked_start(struct target *t, u64 now)
{
	if (is_old(t->seen_ns, now))
		now |= find_mark(t, now);
	return now;
}

/* Done in addition to the normal counting, and before it. */
static __noinline int count_after_idle(u32 watch, u32 op, u64 ns)
{
	u32 octave, cell = blklat_place(ns, cfg_idle_merged, &octave), row = (watch - 1) * BLKLAT_OPS + op;
	struct blklat_idle_series *s = bpf_map_lookup_elem(&idle_series, &row);

	if (!s || cell >= cfg_idle_cells)
		return 0;
	/* Without this, the compiler would compute the address before the comparison. */
	asm volatile("" : "+r"(cell));
	__sync_fetch_and_add(&s->sum_ns, ns);
	__sync_fetch_and_add(&s->bins[cell], 1);
	return 0;
}

/* The latency of a request that ends now and is marked or took long. */
static __noinline u64 end_marked(struct target *t, struct request *rq, u64 now, u64 start)
{
	u64 ns = now - (start & ~BLKLAT_SLOT_AFTER_IDLE);

	if (!t || !rq)
		return ns;
	note_use(&t->seen_ns, now);
	if (start & BLKLAT_SLOT_AFTER_IDLE)
		count_after_idle(t->watch[BLKLAT_STAGE_DEVICE], op_of(rq->cmd_flags), ns);
	return ns;
}

/* The same for a watch with parts; the latency is @ns. */
static __noinline int note_parted_end(struct target *t, struct request *rq, u64 now, u64 start, u64 ns)
{
	if (!t || !rq)
		return 0;
	note_use(&t->seen_ns, now);
	if (start & BLKLAT_SLOT_AFTER_IDLE)
		count_after_idle(t->watch[BLKLAT_STAGE_DEVICE] + blklat_slot_part(start, cfg_by), op_of(rq->cmd_flags),
				 ns);
	return 0;
}

#endif
