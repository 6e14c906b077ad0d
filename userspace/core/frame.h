/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A frame: the figures of one watch and one interval, as neutral values; sinks only choose words. Made from two snapshots. Pure.
 */
#ifndef CORE_FRAME_H
#define CORE_FRAME_H

#include "core/accounting.h"
#include "core/quantile.h"
#include "core/slow.h"

/* The counts of an op besides its bins. */
struct op_sums {
	u64 bytes;
	u64 errors;
	u64 sum_ns;		/* of the latencies */
};

struct op_frame {
	u64 ios;		/* 0: the op is absent; but for the two sums below, nothing is meaningful */
	u64 bytes;
	u64 errors;
	u64 sum_ns;		/* of the latencies */
	/*
	 * An engine counts the sums of an IO before its bin, and the bytes of a piece when that completes. In an interval
	 * without an IO of the op, they belong to an IO that has not ended yet (or, on a CPU that reorders stores, that
	 * has just ended). They are kept here until an interval has an IO, and are then added to its bytes, errors and
	 * sum_ns. The same is done with the share of sum_ns that, by the extremes, the interval's IOs can't have taken. If
	 * sum_ns is less than they must have taken, the difference is owed: sum_ns is then below 0 here, modulo 2^64. So
	 * bytes, errors and sum_ns of all intervals, and what is left here at the end of the last, add up to all that was
	 * counted.
	 */
	struct op_sums partial;
	struct op_sums counted;	/* all that was counted in the interval itself, for sinks that keep totals */
	double iops;		/* IOs per second */
	double bytes_per_s;
	double mean_ns;
	u64 min_ns;		/* exact extremes */
	u64 max_ns;
	double percentile_ns[PERCENTILES_MAX];	/* in the order of the run's percentiles */
	struct hist hist;
	/*
	 * Of these, the IOs issued after the device had been idle for the run's idle gap, at idle_scale().
	 * An engine recognises a pause by silence, so an IO that took as long as the gap looks like a pause to those after
	 * it. An interval with such an IO therefore has no IOs after a pause (they can't be told apart), nor has the next
	 * one if IOs were in flight between the two. They are counted before the bin, and wait for it as the sums do.
	 */
	u64 after_idle_ios;
	u64 after_idle_sum_ns;
	struct hist after_idle;
};

struct frame {
	const struct watch *watch;
	/*
	 * The part that these counts belong to. By cgroup, a watch's part may change from one interval to the next when
	 * its owner has ended. In frames that are kept, the counts of the previous owner then move to the part of the
	 * rest: see frames_accumulate().
	 */
	const struct part *part;
	s64 end_ns;		/* CLOCK_REALTIME at the interval's end */
	double interval_s;	/* its true length */
	struct op_frame ops[BLKLAT_OPS];
	u64 in_flight;		/* at the interval's end */
	u64 oldest_ns;
	s64 in_flight_ns;	/* what IOs spent in flight within the interval, summed over them; see in_flight_between() */
	double queue_depth;	/* mean number in flight: in_flight_ns over the interval */
	struct accounting accounting;	/* of a whole; a part has none */
	u64 tag_range;		/* of the interval's lost IOs, those with a tag beyond the slots */
	bool gone;
	bool gone_before;	/* even when the interval began */
	bool replaced;		/* gone, and see watch_counts.replaced */
	bool pauses_hidden;	/* an IO took as long as the idle gap, see after_idle; kept for the next interval */
};

/* Has an IO of any op ended? */
static inline bool frame_has_ios(const struct frame *f)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (f->ops[op].ios)
			return true;
	return false;
}

/* The same, or is one in flight? */
static inline bool frame_is_busy(const struct frame *f)
{
	return f->in_flight || frame_has_ios(f);
}

/* Was anything counted of an op, though none may have ended? See op_frame.partial. */
static inline bool frame_has_sums(const struct frame *f)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (f->ops[op].counted.bytes || f->ops[op].counted.errors || f->ops[op].counted.sum_ns)
			return true;
	return false;
}

/* Nothing completed, and what is in flight has been there for most of the interval. */
static inline bool frame_seems_stalled(const struct frame *f)
{
	return !frame_has_ios(f) && f->in_flight && f->oldest_ns > f->interval_s * NSEC_PER_SEC / 2;
}

/* Did its device go in this very interval? */
static inline bool frame_just_gone(const struct frame *f)
{
	return f->gone && !f->gone_before;
}

/*
 * A set of frames, one for each watch (a whole's is followed by its parts'), with what the next interval needs of this
 * one: a run keeps one set from begin to end.
 */
struct frames {
	u32 n;
	struct frame *f;
	/*
	 * Program runs skipped without a known consequence, see struct accounting; of all captures of these frames
	 * together. It falls when a loss is found that one of them explains.
	 */
	u64 skipped_unexplained;
	u64 mono_ns;		/* CLOCK_MONOTONIC at the interval's end; 0: not known */
	u64 idle_gap_ns;	/* as in struct snapshot; 0 also where more than one capture is in them */
	const struct slow_ios *slow;	/* of an interval, the slow ones by themselves; NULL: not looked for, or a whole run */
	/*
	 * For a recording, frames of an interval: the snapshots that they were made from. NULL for a whole run, and where
	 * frames come from several captures or another process.
	 */
	const struct snapshot *before, *now;
	u64 *cells;		/* of all their histograms; NULL in a shallow copy */
};

/* The number of parts of whole @i, whose frames follow its own. */
u32 frames_parts(const struct frames *fs, u32 i);

/* Returns 0 or -ENOMEM. @watches is borrowed and must outlive the frames. */
int frames_init(struct frames *fs, const struct watch *watches, u32 n, u32 scale);
void frames_uninit(struct frames *fs);

/* Empties it, except for its watch and part, and the place of its histograms. */
void frame_clear(struct frame *f);

/* Their histograms are tracked from now on, see hist_track(). */
void frames_track(struct frames *fs);

/*
 * Fills @fs with what happened between @before and @now. Extremes come from @now; percentiles are
 * computed for @ps. @cpus as in accounting_make().
 */
void frames_between(struct frames *fs, const struct snapshot *before, const struct snapshot *now,
		    const struct percentiles *ps, u32 cpus);

/*
 * @to's capture goes on where that of @from ends, before its first frames are made: what is partial of a device
 * and stage that both have is among the sums of the IOs that @to will see.
 */
void frames_inherit(struct frames *to, const struct frames *from);

/* Adds the IOs of @from to @to, with their sums, extremes and bins. Rates and percentiles of @to are left alone. */
void op_frame_merge(struct op_frame *to, const struct op_frame *from);

/*
 * Adds an interval's frames to the frames of the whole run (bins, sums, extremes; the end, in flight,
 * partial sums and accounting are those of the newer), then recomputes rates and percentiles. Where a watch's part has another
 * owner now, or none, what the one before had goes to "rest" first, so the parts' sum stays the whole.
 */
void frames_accumulate(struct frames *run, const struct frames *interval, const struct percentiles *ps);

/* Computes @ps of a run whose intervals were accumulated without. */
void frames_set_percentiles(struct frames *run, const struct percentiles *ps);

#endif
