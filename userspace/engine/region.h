/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading the counters of abi.h, wherever they are mapped from, for both kernel engines. No system call is made. */
#ifndef ENGINE_REGION_H
#define ENGINE_REGION_H

#include "core/snapshot.h"
#include "engine/own.h"

struct region {
	u32 cpus;			/* rows of own */
	u32 rows;			/* of accounts: one for each CPU, and perhaps one that all share */
	u32 watches;			/* that there is room for; parts included */
	u32 parts;			/* of each whole; they follow it */
	u32 by;				/* enum blklat_by */
	u32 scale;
	u32 series_bytes;		/* from one series to the next */
	void *series;			/* [watch][op], shared; then the spare ones */
	struct blklat_own *own;		/* [cpu][watch] */
	struct owns owns;		/* which CPU has which spare series */
	/* the octaves of a series in which nothing was counted: see region_use_all_octaves() */
	u64 octaves_used;
	u64 *accounts;			/* [row][whole][BLKLAT_ACCOUNTS] */
	struct blklat_slots *slots;
	u32 n_slots;			/* of all watches */
	struct region_slots {		/* of each watch; a part has none */
		u32 first, n;		/* multiples of BLKLAT_SLOTS; n is 0 at stage total */
		bool queue;		/* stage queue; its slots are those of the device's other stage as well */
		u64 starts, overwritten, left;	/* in the slots that it had before; left: in flight when it was moved */
		u64 rested_at;		/* stage queue: the number of starts, if none of them was in flight then */
	} *ranges;
	/* [slots / 32], from region_init(): the sum of started; the top bit: not all were at rest then */
	u64 *starts;
	void *idle;			/* [watch][op], struct blklat_idle_series; NULL: pauses are not looked for */
	volatile u32 *epoch;		/* number of the interval, read by the engine */
};

/*
 * Makes what the reader keeps: starts, and r->owns for @spare series (owns_init()). All else in @r is set, and the
 * counters are 0. Returns 0 or -ENOMEM; region_uninit() frees it in both cases.
 */
int region_init(struct region *r, u32 spare);
void region_uninit(struct region *r);

/*
 * Ends the interval: clears the extremes' cells of the other parity and makes the engine use them. Call it once, just
 * before the watches are read.
 */
void region_next_epoch(struct region *r);

/*
 * Marks every octave of all series as in use, so that the engine never has to: for kernels where that would not be
 * safe, since a program may run on top of itself. After region_init().
 */
void region_use_all_octaves(struct region *r);

/*
 * Reads watch @i, a whole, into @w, and its parts into the entries after @w. It leaves out what the
 * engine gets elsewhere: kernel_ios, gone and, if the watch has no slots (stage total), the starts and
 * the IOs in flight. If these are there before, starts not being 0, or there are slots, then the series of a device at
 * rest are not read again: @w has to be 0, or what an earlier read left there. @now_ns is CLOCK_MONOTONIC.
 */
void region_read(const struct region *r, u32 i, u64 now_ns, struct watch_counts *w);

/* The series with this number: watch * BLKLAT_OPS + op is a shared one. */
struct blklat_series *region_series(const struct region *r, u32 number);

/*
 * Adds the bins and sums of a series to @ret; with a shared one also the IOs after a pause. Fetches the memory of
 * @next, likely the one that is read after it.
 */
void region_add_series(const struct region *r, u32 number, u32 next, struct op_counts *ret);

/* Makes a series that nobody counts in what it was when the capture began. */
void region_clear_series(const struct region *r, u32 number);

/*
 * A number that grows whenever one of the series' sums does, that is, with each IO and before its bin; of a shared
 * one, also with IOs after a pause. Everything that is read before is older, and everything that is read afterwards
 * is newer.
 */
u64 region_progress(const struct region *r, u32 number);

/*
 * Watch @i gets other slots. Its starts, and its ends that were missed, go on; what is in flight in those it had is
 * left there.
 */
void region_move(struct region *r, u32 i, u32 first, u32 n);

/*
 * All counts of watch @i, which nobody writes to, become 0; and all of its slots. The series of its CPUs are spare
 * again.
 */
void region_clear(struct region *r, u32 i);
void region_clear_slots(struct region *r, u32 first, u32 n);

/* Requests of watch @i in flight, by its slots; and the age of the oldest at @now_ns. */
u64 region_in_flight(const struct region *r, u32 i);
u64 region_oldest_ns(const struct region *r, u32 i, u64 now_ns);

/* The sum of a cell of a whole's account over the rows. */
u64 region_account(const struct region *r, u32 whole, enum blklat_account cell);

#endif
