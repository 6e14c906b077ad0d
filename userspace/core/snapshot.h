/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is watched, and what an engine has counted at one moment. Counts are cumulative since the capture began;
 * extremes cover the time since the previous snapshot. A replay has stored intervals, so there all of struct
 * op_counts covers the time since the previous snapshot.
 */
#ifndef CORE_SNAPSHOT_H
#define CORE_SNAPSHOT_H

#include "blklat/abi.h"
#include "core/device.h"
#include "core/hist.h"
#include "core/part.h"

/*
 * A watch: a device at a stage or, where IOs are divided (--by), one part of them.
 *
 * In every list a whole is followed by its parts, in their order: whole, parts, whole, parts. A part has only the
 * counts of its ops; what exists only for the whole (the accounting, the kernel's count, losses) is zero there. The
 * whole's counts are the sums of its parts'.
 */
struct watch {
	const struct device *device;	/* borrowed from the device table */
	enum blklat_stage stage;
	const struct part *part;	/* one for each --by and label, see part_find(); NULL: the whole */
	bool matched;			/* found by a pattern, not by name: may be left out if it goes away */
};

/* "device", "queue", "total" */
extern const char *const stage_names[BLKLAT_STAGES];

/* "device (issue to completion)" */
extern const char *const stage_spans[BLKLAT_STAGES];

/* Returns the number of parts of watch @i of @n; 0 if it is undivided, or a part itself. */
u32 watch_parts(const struct watch *w, u32 n, u32 i);

/* Of @n watches, how many from the first on are of its device; those of a device are next to each other. */
u32 watches_of_device(const struct watch *w, u32 n);

/*
 * Makes a list of the @n wholes @w, each followed by its parts; by cgroup or process, there is room for @cgroups.
 * Returns 0 or -ENOMEM. The caller frees the list, but never its parts.
 */
int watches_divide(const struct watch *w, u32 n, enum blklat_by by, u32 cgroups, struct watch **ret, u32 *ret_n);

struct op_counts {
	u64 sum_ns;
	u64 bytes;
	u64 errors;
	/*
	 * Candidates for the extremes since the previous snapshot, see extremes_of(). UINT64_MAX and 0: no IO
	 * completed.
	 */
	u64 min_ns;
	u64 max_ns;
	u64 late_min_ns;	/* of IOs that completed during the read: their bins may be included */
	u64 late_max_ns;
	struct hist hist;
	/* Of these, IOs that were issued after the device had been idle for the idle gap; see idle_scale(). */
	u64 after_idle_sum_ns;
	struct hist after_idle;
	/* IOs that are not in hist: in a replay, those before the previous snapshot; else, of a previous capture. */
	u64 ios_before;
};

/* Returns how many IOs have completed since the capture began. */
u64 op_counts_ios(const struct op_counts *o);

/* The scale of after_idle for a run's @scale. */
static inline u32 idle_scale(u32 scale)
{
	return BLKLAT_IDLE_SCALE(scale);
}

/*
 * The cells of both histograms of each watch and op, in one allocation, so that those that stay 0 take no memory.
 * op_cells_make() returns NULL if there is no memory or the scale is invalid. op_cells_take() points the histograms
 * of a watch and op at their cells, or empties them if they already have cells.
 */
#define OP_CELLS(scale) (BLKLAT_CELLS(scale) + BLKLAT_CELLS(idle_scale(scale)))
u64 *op_cells_make(u32 watches, u32 scale);
void op_cells_take(u64 *cells, u32 watch, u32 op, u32 scale, struct hist *hist, struct hist *after_idle);

/* Bytes of histograms that a replay takes for each op that has IOs, in all copies: RUN_COPIES. */
u64 replay_op_bytes(u32 scale);

/* A time during which a whole had IOs in flight and none completed (CLOCK_MONOTONIC). */
struct halt {
	u64 from_ns, to_ns;
};

#define HALTS_MOST 12	/* in an interval */

struct watch_counts {
	struct op_counts ops[BLKLAT_OPS];
	/* In a part everything below is 0, except in_flight, gone and replaced. */
	u64 started;		/* start events, counted in the slots just before the bins */
	u64 started_after;	/* and just after */
	u64 in_flight;		/* occupied slots before, after */
	u64 in_flight_after;
	u64 oldest_ns;		/* age of the oldest IO in flight; 0 when there is none */
	/*
	 * Sum of the ages of all IOs in flight that are not in the bins; 0: unknown. The second is for
	 * accounting_settle_ages(), in engines.
	 */
	u64 waited_ns;
	u64 waited_after_ns;
	u64 accounts[BLKLAT_ACCOUNTS];	/* see abi.h */
	u64 kernel_ios;		/* completed since the capture began, by the kernel's own statistics */
	u64 kernel_in_flight;	/* in the same statistics */
	bool kernel_known;	/* false: not available for this device and stage */
	bool gone;		/* the device went away; the counts are its last */
	bool awaited;		/* only in a replay: not there yet; gone is set, too */
	bool replaced;		/* gone, and replaced before that was noticed: some IOs may be the new device's */
	bool unsettled;		/* the account does not close although nothing moved; may be temporary */
	u32 epoch;		/* in engines: of the region when it was read */
	/*
	 * Since the previous snapshot, in order; see live_ops.glance. A halt that is not over at the read continues
	 * in the next snapshot. Its bounds lie in the middle between two looks, so they are known to the time between
	 * looks.
	 */
	u32 n_halts;
	struct halt halts[HALTS_MOST];
};

struct snapshot {
	u64 mono_ns;		/* CLOCK_MONOTONIC at the read */
	s64 wall_ns;		/* CLOCK_REALTIME at the read */
	u64 idle_gap_ns;	/* shortest pause after which an IO counts in after_idle; 0: off */
	u64 skipped;		/* program runs that the kernel skipped so far, without a standby that made up for it */
	bool replayed;		/* the ops' counts are only those since the previous snapshot */
	u32 n;			/* watches */
	u32 scale;
	struct watch_counts *w;
	u64 *cells;		/* of all their histograms */
};

/* Makes an empty snapshot for @n watches. Returns 0 or -ENOMEM. */
int snapshot_init(struct snapshot *s, u32 n, u32 scale);
void snapshot_uninit(struct snapshot *s);

/* The same without watches, but with room for @room. Unused room takes no memory. */
int snapshot_init_room(struct snapshot *s, u32 room, u32 scale);

/* Resets the @n watches from @first on to 0. They may be new, in the room behind the others. */
void snapshot_enter(struct snapshot *s, u32 first, u32 n);

/* @to = @from, both made for the same watches and scale; each keeps its own histograms. */
void snapshot_copy(struct snapshot *to, const struct snapshot *from);

/* The same for one watch. */
void watch_counts_copy(struct watch_counts *to, const struct watch_counts *from);

/* Adds the counts of @more to @to, whose histograms may be coarser. */
void op_counts_add(struct op_counts *to, const struct op_counts *more);

/* Adds the ops of @part to those of the whole. */
void watch_counts_add_part(struct watch_counts *whole, const struct watch_counts *part);

/* "read", "write", "flush", "discard", "other" */
extern const char *const op_names[BLKLAT_OPS];

/* --- the shortest and the longest IO of an interval --- */

struct extremes {
	u64 min_ns;
	u64 max_ns;
};

/*
 * The extremes of the IOs in @interval, that is, of those that @now has in addition to the previous snapshot; there
 * is at least one. An IO that completes while the counters are read can be in the bins of one interval and in the
 * extremes of the next. The bins decide. Each extreme is, in this order: the one read for the interval, if it lies in
 * the outermost bin; the one of the IOs that completed during the read, if that does; the bound of that bin that is
 * nearest to what was read, or its lower bound if nothing was. So a percentile, clamped to the extremes, never leaves
 * its bin.
 */
struct extremes extremes_of(const struct op_counts *now, const struct hist *interval);

#endif
