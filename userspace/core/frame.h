/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A frame: the figures of one watch and one interval, as neutral values; sinks only choose the words. Made from two
 * snapshots. Pure.
 */
#ifndef CORE_FRAME_H
#define CORE_FRAME_H

#include "core/accounting.h"
#include "core/health.h"
#include "core/quantile.h"
#include "core/slow.h"

/* The counts of an op besides its bins. */
struct op_sums {
	u64 bytes;
	u64 errors;
	u64 sum_ns;		/* of the latencies */
};

struct op_frame {
	u64 ios;		/* 0: no IO of this op; then only partial and counted below are meaningful */
	u64 bytes;
	u64 errors;
	u64 sum_ns;		/* of the latencies */
	/*
	 * An engine counts an IO's sums before its bin, and the bytes of a portion as soon as that completes. So an
	 * interval without an IO of the op can have sums: of an IO that has not completed yet (or has just completed,
	 * on a CPU that reorders stores). They are kept here until an interval has an IO, and are then added to its
	 * bytes, errors and sum_ns.
	 *
	 * The share of sum_ns that the interval's IOs can't have taken, by the extremes, is kept in the same way. If
	 * sum_ns is less than they must have taken, the difference is borrowed: sum_ns is then negative here, modulo
	 * 2^64. So the bytes, errors and sum_ns of all intervals, plus what is left here after the last one, add up
	 * to all that was counted.
	 */
	struct op_sums partial;
	struct op_sums counted;	/* all that was counted in the interval itself, for sinks with totals */
	double iops;		/* IOs per second */
	double bytes_per_s;
	double mean_ns;
	u64 min_ns;		/* exact extremes */
	u64 max_ns;
	/*
	 * Of these, IOs that were issued after the device had been idle for the run's idle gap, at idle_scale().
	 *
	 * An engine recognises a pause by silence, so to the IOs after it an IO that takes as long as the gap looks
	 * like a pause. An interval with such an IO therefore has no IOs after a pause, as they can't be told apart;
	 * nor has the next one if IOs were in flight between the two. These IOs are counted before their bin and,
	 * like the sums, wait here until the bin is counted.
	 */
	u64 after_idle_ios;
	u64 after_idle_sum_ns;
	double percentile_ns[PERCENTILES_MAX];	/* in the order of the run's percentiles */
	struct hist hist;
	struct hist after_idle;
};

/* Any percentile; negative: there is no IO. */
static inline double op_quantile_ns(const struct op_frame *o, double q)
{
	return quantile_ns(&o->hist, q, o->min_ns, o->max_ns);
}

struct frame {
	const struct watch *watch;
	u32 number;		/* of the watch in the run; never used again when the watch goes away */
	/*
	 * The number of the part that these counts belong to. By cgroup or process, a watch may get another part from
	 * one interval to the next, when the owner of its part has ended. In frames that are kept, the counts of the
	 * previous owner then move to the part "rest": see frames_accumulate().
	 */
	u32 part;
	s64 end_ns;		/* CLOCK_REALTIME at the interval's end */
	double interval_s;	/* its true length */
	u64 in_flight;		/* at the interval's end */
	u64 oldest_ns;
	s64 in_flight_ns;	/* total time that IOs spent in flight, see in_flight_between() */
	double queue_depth;	/* mean number in flight: in_flight_ns over the interval */
	bool busy_known;	/* of a whole: IOs in flight are counted (--by depth, beside), and there has been one */
	u64 busy_ns;		/* if so, the time in which at least one was in flight */
	double busy;		/* its share of the interval */
	s64 busy_left_ns;	/* left to the next interval, see take_busy() */
	struct accounting accounting;	/* of a whole; a part has none */
	u64 tag_range;		/* of the interval's lost IOs, those with a tag beyond the slots */
	bool gone;
	bool gone_before;	/* already gone when the interval began, or, in a replay, not there yet */
	bool replaced;		/* gone, and see watch_counts.replaced */
	const struct watch_counts *counts;	/* for a recording, as struct frames.now: those at the end */
	struct health health;	/* of a whole; see health_judge() */
	const struct slow_of *slow;	/* of a whole: its part of frames.slow; NULL: not looked for */
	bool pauses_hidden;	/* an IO took as long as the idle gap, see after_idle; for the next interval */
	struct op_frame ops[BLKLAT_OPS];
	/* of a whole: what the next interval is judged by; behind all that another process is sent */
	struct health_past past;
};

/* Has an IO of any op completed? */
static inline bool frame_has_ios(const struct frame *f)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++)
		if (f->ops[op].ios)
			return true;
	return false;
}

/* Has an IO of any op completed, or is one in flight? */
static inline bool frame_is_busy(const struct frame *f)
{
	return f->in_flight || frame_has_ios(f);
}

/* Was anything counted for an op, even if no IO has completed? See op_frame.partial. */
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

/* Did its device go away in this very interval? */
static inline bool frame_just_gone(const struct frame *f)
{
	return f->gone && !f->gone_before;
}

/*
 * The frames of all watches (a whole's frame is followed by those of its parts), and what the next interval needs
 * from this one: a run keeps one set from beginning to end.
 */
struct frames {
	u32 n;
	struct frame *f;
	double interval_s;	/* the length of the interval, or of the run: a watch may have been there for less */
	/*
	 * Program runs that were skipped without a known consequence, of all captures of these frames; see struct
	 * accounting. It falls when a loss is found that one of them explains.
	 */
	u64 skipped_unexplained;
	u64 mono_ns;		/* CLOCK_MONOTONIC at the interval's end; 0: not known */
	u64 reads;		/* of the counters: how many intervals were added up here; 0: one */
	u64 drain_ns;		/* that these took, in a service */
	u64 idle_gap_ns;	/* as in struct snapshot */
	struct health_host host;
	const struct slow_ios *slow;	/* slow IOs of the interval; NULL: not looked for, or a whole run */
	/*
	 * For a recording: the two snapshots from which an interval's frames were made, in the order of the capture's
	 * watches. NULL for a whole run, and if the frames come from another process.
	 */
	const struct snapshot *before, *now;
	u64 *cells;		/* the cells of all histograms; NULL in a shallow copy */
	u64 **appended;		/* the same, of each frames_append() */
	u32 n_appended;
	u32 forgotten;		/* of a run: devices and stages that went away and were dropped */
	u32 scale;
};

/* The number of parts of whole @i, whose frames follow its own. */
u32 frames_parts(const struct frames *fs, u32 i);

/*
 * At stage device, has each device lost no IO and completed exactly as many as the kernel's statistics counted? Then
 * skipped programs missed nothing there. False if that is not known, or nothing is watched at this stage.
 */
bool frames_agree_with_kernel(const struct frames *fs);

/* Makes frames for @watches, numbered from 0; they are borrowed and must outlive the frames. Returns 0 or -ENOMEM. */
int frames_init(struct frames *fs, const struct watch *watches, u32 n, u32 scale);
void frames_uninit(struct frames *fs);

/* Bytes that a replay takes for each watch, without those of its histograms (replay_op_bytes()). */
u64 replay_watch_bytes(void);

/* As snapshot_init_room() and snapshot_enter(). @watches points to the first that enters, which gets @number. */
int frames_init_room(struct frames *fs, u32 room, u32 scale);
void frames_enter(struct frames *fs, const struct watch *watches, u32 first, u32 n, u32 number);

/* Adds frames for @watches, numbered from @number, with memory of their own. Returns 0 or -ENOMEM. */
int frames_append(struct frames *fs, const struct watch *watches, u32 n, u32 number);

/* Makes @fs shallow copies of the frames of @interval whose device was not gone before it; @fs->f has room for all. */
void frames_choose_there(struct frames *fs, const struct frames *interval);

/* Sets the slow IOs of all frames; @slow is indexed as the frames are. NULL: they were not looked for. */
void frames_set_slow(struct frames *fs, const struct slow_ios *slow);

/* Empties the frame; keeps its watch, number, part and cells. */
void frame_clear(struct frame *f);

/*
 * Fills @fs with what happened between @before and @now. Extremes come from @now; percentiles are
 * computed for @ps. @cpus as in accounting_make().
 */
void frames_between(struct frames *fs, const struct snapshot *before, const struct snapshot *now,
		    const struct percentiles *ps, u32 cpus);

/* Adds the IOs of @from to @to, with their sums, extremes and bins. Rates and percentiles of @to are left alone. */
void op_frame_merge(struct op_frame *to, const struct op_frame *from);

/* Makes an empty op in which all ops of a frame can be merged; @scale may be coarser. Returns 0 or -ENOMEM. */
int merged_init(struct op_frame *m, u32 scale);
void merged_uninit(struct op_frame *m);

/* Sets @ret to the merged counts, extremes and bins of all ops of @f. Rates and percentiles are not set. */
void frame_merge_ops(const struct frame *f, struct op_frame *ret);

/*
 * Adds an interval's frame to that of the whole run: bins, sums and extremes are added; the end, IOs in flight,
 * partial sums and accounting are those of the interval. Then computes rates and percentiles.
 */
void frame_accumulate(struct frame *run, const struct frame *interval, const struct percentiles *ps);

/*
 * Called before the frames of an interval are added: where a watch's part has another owner now, or none, moves the
 * counts of the previous owner to "rest", so that the parts still add up to the whole.
 */
void frames_follow_parts(struct frames *run);

/* Adds what does not belong to one watch. */
void frames_accumulate_rest(struct frames *run, const struct frames *interval);

/* All of this, if both have the same watches. */
void frames_accumulate(struct frames *run, const struct frames *interval, const struct percentiles *ps);

/* Computes @ps for a run whose intervals were accumulated without percentiles. */
void frames_set_percentiles(struct frames *run, const struct percentiles *ps);

/*
 * Figures of the IOs after a pause (op_frame.after_idle). Their sum is exact; of their extremes only the bins are
 * known, and the extremes of all IOs of the op. The mean latency in ns; NAN if there are none.
 */
double after_idle_mean_ns(const struct op_frame *o);

/* As quantile_ns(), right within a bin; NAN when there are none. */
double after_idle_quantile_ns(const struct op_frame *o, double q);

#endif
