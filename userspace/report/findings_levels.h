/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of an op (findings_trace.c), the changes between them (findings_levels.c), or without levels
 * (findings_gradual.c), the loads beside them (findings_loads.c), who caused them (findings_cause.c), and the words
 * (findings_*_say.c).
 */
#ifndef REPORT_FINDINGS_LEVELS_H
#define REPORT_FINDINGS_LEVELS_H

#include "report/findings_rules.h"

#define FACTOR 1.5
/* a change of IOPS and one of latency are the same if at most this many intervals apart */
#define SAME_CUT 2
#define NEAR 10
#define SHORT_APART 4		/* values between rises that are too short for a level, as of write-back each 5 s */
#define EVEN 1.2		/* figures that differ by a smaller factor count as unchanged */
#define REGULAR 0.1		/* of the period; rises at most so far from their places are regular */
/* The least by which a percentile changes between levels. */
#define STEP(p) ((p) == RUN_P50 || (p) == LEVEL_MEAN ? FACTOR : 2.0)
#define TAIL_IOS 2		/* IOs that an interval must have beyond a percentile */

/* Places in a trace, from the first to before the last. */
struct span {
	u32 from, to;
};

/* An op of a watch in the intervals in which it was busy: not at rest, not stalled. */
struct trace {
	const struct inquiry *q;
	u32 op;
	const struct series_run *s;
	u32 n;
	u32 *interval;
	double *y;		/* the values that levels are searched in */
	struct weighted *room;	/* for medians */
	u32 cuts[LEVEL_CUTS_MAX];	/* places in interval */
	u32 n_cuts;
	/* those where a rise begins that is too short for a level, and ends at the next one */
	u32 shorts[LEVEL_CUTS_MAX];
	u32 n_shorts;
	/* those that take longer than a step, from the cut on: the level behind begins where they end */
	struct span ramps[LEVEL_CUTS_MAX];
	u32 n_ramps;
	struct handover {
		u32 cut;
		double at_s;
	/* those where one load that makes the op slow ends and another begins: for both at one instant */
	} handovers[LEVEL_CUTS_MAX];
	u32 n_handovers;
	bool backed[PERCENTILES_OVER_TIME];	/* enough IOs an interval for this percentile */
};

struct level {
	double iops, bytes_per_s, mean_ns;
	double ns[PERCENTILES_OVER_TIME];	/* medians of the intervals' percentiles, of run_over_time */
	double queue_depth;		/* of all ops of the trace's device */
};

/* Another load on the device, of another op or of one owner, that changed at the same time. */
struct other {
	const struct watch_run *watch;	/* NULL: there is none */
	u32 op;
	struct level before, after;	/* only the rates and the mean */
	double depth_step;	/* by how much its queue depth changed */
	u32 step;		/* the place where it did */
	double at_s;
	bool by_bytes;		/* its sizes changed rather than its IOPS */
	double rate_before, rate_after;	/* of IOs or bytes: medians of the intervals' */
	bool grows;		/* little by little; then step and at_s are meaningless */
	bool harms;		/* the IOs of other owners take longer since, although they are no more */
	/*
	 * It did not change after the op; both go together, in the whole run but for levels that another load
	 * explains; and no device without it changed as the op did.
	 */
	bool sure;
};

struct change {
	double at_s, share;
	bool gradual;		/* no step: before and after are the first and the last fifth of the time */
	bool local;		/* of a percentile alone: the mean drifts, so before and after are next to the change */
	struct span ramp;	/* where most of it is, of a drift or of a ramp at a cut; else to is 0 */
	double lasts_s;		/* of a dip, or of a rise that is too short for a level or comes in turns; else 0 */
	double rest_s;		/* pause of the workload before the change */
	/* before (at a handover, before the first load) and after; up to NEAR intervals of each next to the change */
	struct span span[2], near[2];
	struct level before, after;
	int iops, mean, p50;	/* 1: rose, -1: fell, 0: about the same */
	/* of the mean or, if that is about the same, or less clear, of the lowest percentile that is not */
	int latency;
	double first_until_s;	/* the cause was there before, from the run's start until then; 0: it was not */
	bool keeps_depth;	/* the load does, and by that it changed, if it did: a slow device has the same queue */
	u32 tail;		/* the lowest percentile behind p50 that changed by FACTOR; 0: none did */
	struct other cause;	/* the largest of the other loads that can explain it */
	struct other with;	/* another one, at least half as large */
	struct other whose;	/* the owner by whom the op's own load changed */
	/* nothing else changed: neither the load nor the latency of another op or device; nor does it recover */
	bool alone;
	const struct watch_run *only;	/* the only part whose IOs take longer; NULL: there is none */
	bool before_device;	/* of another stage than device, which is watched as well and takes no longer */
	u32 like;		/* devices of its kind with as many of these IOs, which take as long as before */
};

/* --- findings_trace.c --- */

/* Returns 0 or -ENOMEM; trace_uninit() either way. */
int trace_init(struct trace *t, const struct inquiry *q, u32 op);
void trace_uninit(struct trace *t);

/* Finds the cuts of IOPS, and adds those of the median and of percentiles behind it. Returns 0 or -ENOMEM. */
int trace_find_levels(struct trace *t);

/*
 * Adds where latency rises for too short a time for a level, and where that ends, unless it is near a level's, or at
 * a mark; and where the run's first intervals end, if they are slower or faster for as short a time.
 */
void trace_add_short(struct trace *t);

#define LEVEL_MEAN PERCENTILES_OVER_TIME	/* in place of a percentile of run_over_time */

/* The logarithm of percentile @p in ns, or of the mean, at a place of the trace. */
double trace_log_ns(const struct trace *t, u32 place, u32 p);

/* The values of t->y below and above which @out places lie, such as a twentieth: outliers do not count. */
void trace_ends(const struct trace *t, u32 out, double *ret_low, double *ret_high);

/* A fifth of the time, of what drifts or grows. */
#define FIFTHS 5
#define FALLS 1.05		/* from one to the next, by more than noise */
struct span fifth_of(struct span in, u32 i);

/* Sets y to the logarithm of percentile @p, or of the mean. */
void trace_set(const struct trace *t, u32 p);

/* Where the level behind a cut begins: there, or where the ramp that begins there ends. */
u32 trace_end_of(const struct trace *t, u32 cut);

/* Where a level is. The intervals in which it changes are left out if it is long enough. */
struct span trace_span(const struct trace *t, u32 level);

/* NULL: the cut is none. */
const struct handover *trace_handover(const struct trace *t, u32 cut);

/* Whether a phase begins or ends there. */
bool run_has_mark_at(const struct run *r, double at_s);

/* Rates and mean of an op, or of one owner's IOs of it. */
struct level rates_of(const struct trace *t, const struct series_run *s, struct span in);

/* All figures. */
struct level figures_of(const struct trace *t, const struct series_run *s, struct span in);

/*
 * When in the intervals before and after place @cut the rate of @counts changed, by those there: first at one rate,
 * then at the other.
 */
double moment_of(const struct trace *t, const u64 *counts, u32 cut, double before, double after);

/* --- findings_levels.c --- */

/* The change at cut @i. */
struct change change_at(const struct trace *t, u32 i);

/* Sets what changed from one span to the other. */
void change_compare(const struct trace *t, struct change *c);

/* 1: rose by @factor or more, -1: fell, 0: neither. */
int direction(double before, double after, double factor);

/* The mean number of a load's IOs in flight, by Little's law. */
double depth_of(const struct level *l);

/* The figure that shows a change of latency: a place in run_over_time. */
u32 shown_by(const struct change *c);

/* The load changed: more or fewer IOs are in flight, and done, unless it is known to keep their number. */
bool change_is_load(const struct change *c);

/* The mean size of an IO changed. */
bool is_resized(const struct level *before, const struct level *after);
bool change_is_resized(const struct change *c);
double mean_bytes(const struct level *l);

/* Became slower, surely by another load. */
bool change_has_culprit(const struct change *c);

/* A tail grew or shrank, while rate and median stayed. */
bool change_is_tail(const struct change *c);

/* As when a cache is exhausted; not where as many IOs wait longer for a device that never rests: of a larger load? */
bool change_is_cache(const struct change *c);

/* Became slower at the same load, or has a culprit. */
bool change_is_worse(const struct change *c);

/* The same other load changed with both. */
bool change_have_one_cause(const struct change *a, const struct change *b);

/* --- findings_gradual.c --- */

/*
 * Without a step: whether percentile @p, or the mean, falls from no fifth of the time to the next, and rises in all by
 * as much as a step has to, as clearly; or the other way round. Uses @t's y.
 */
bool find_drift(const struct trace *t, u32 p, struct change *ret);

/*
 * Without a step: where percentile @p rises by two steps little by little and falls again, and is high for as long as
 * two levels; or with @way -1 falls and rises. Sets all changes, there and back in turn; the first has the figures.
 * Returns how many there are.
 */
u32 find_humps(const struct trace *t, u32 p, int way, struct change *ret);

/* --- findings_loads.c --- */

#define MATTERS 0.01		/* share of the IOs or bytes from which on another load may be a cause */
#define HEAVY 0.05		/* share of the time for which it is in flight, or of the time of all IOs */

/* IOs or bytes of each interval; a rate of them; and whether that is nearer to the larger one in interval @at. */
const u64 *counts_of(const struct other *o);
double rate_in(const struct other *o, const struct level *l);
bool is_there(const struct trace *t, const struct other *o, u32 at);
double rate_of(const struct trace *t, const struct other *o, struct span in);

/* Where in @in the load is farthest ahead of its mean rate or behind it; in.from: nowhere. */
u32 step_in(const struct trace *t, const struct other *o, struct span in);

/* The levels before and after cut @i. */
struct span both_levels(const struct trace *t, u32 i);

/*
 * Finds the step of @o, whose watch and op are given, in @both levels around place @cut, or if there is none next to
 * it, within NEAR intervals: it may end before the level does. Returns the step's direction, or 0.
 */
int changed_with(const struct trace *t, u32 cut, struct span both, const struct change *c, struct other *o);

/*
 * Returns the direction in which the load @o, whose watch and op are given, changed with change @i, or 0: by its IOs
 * or, if these do not go along with latency, by its bytes.
 */
int changed_along(const struct trace *t, u32 i, const struct change *c, struct other *o);

/* Whether the op was slow when the cause of @c was there, and only then; but for what other causes of @all explain. */
bool goes_together(const struct trace *t, const struct change *all, const struct change *c);

/* --- findings_cause.c --- */

/* Sets cause and all behind it in a drift, or the change at cut @i, but not whether the cause is sure. */
void find_cause(const struct trace *t, u32 i, struct change *c);

/* Where, in the level after cut @i, the load that may have caused @c ends while another begins; cut is 0: nowhere. */
struct handover handover_of(const struct trace *t, u32 i, const struct change *c);

/*
 * Of change @i, when the causes of @all are known: where another load made the op slow, that says nothing of this
 * one.
 */
bool cause_is_sure(const struct trace *t, const struct change *all, u32 i);

/* "nightly-backup.service", or NULL if IOs are not divided by owner. */
const char *owner_of(const struct watch_run *w);

/*
 * The owner who lost most beside @cause: by its IOs times how much longer they take. Undivided, and where no owner
 * did, the whole. @ret_harmed: how many owners' IOs take longer by FACTOR, although they are no more.
 */
const struct watch_run *victim_of(const struct trace *t, const struct change *c, const struct watch_run *cause,
				  u32 *ret_harmed);

/* When the load that caused @c ended, if it did not come again; INFINITY: not in the run. */
double cause_end_of(const struct trace *t, const struct change *c);

/* --- findings_cause_say.c --- */

/*
 * Says of a change for the worse whose cause is sure: who, since when, how much, to whom. The @n changes are for the
 * worse and for the better in turn, as the same load comes and goes.
 */
void say_culprit(struct finding *f, const struct trace *t, const struct change *all, u32 n);

/* Says that another load changed, too: "; at the same time 500 writes/s of 4.00 KiB began". */
void say_other(struct finding *f, const struct trace *t, const struct change *c);

/* Says by whom the op's own load changed: ": backup.service began 40 reads/s of 256 KiB". Returns false: not known. */
bool say_whose(struct finding *f, const struct trace *t, const struct change *c);

/* Says which part it is: "; by size, only 64 KiB takes longer". */
void say_only(struct finding *f, const struct trace *t, const struct change *c);

/* --- findings_turns.c --- */

/* Adds a finding if the load has two rates that take turns. Returns 1 if it has, 0 or -ENOMEM. */
int report_turns(const struct trace *op);

/* --- findings_bursts.c --- */

/* Adds a finding if the op is slow in short bursts, which another load causes. Returns the same. */
int report_bursts(const struct trace *t);

/* --- findings_levels_say.c --- */

/* Adds the finding of a change, or of several times the same by one culprit: @all. */
void report_change(const struct trace *t, const struct change *all, u32 n);

/* Of all levels: those with the lowest and the highest rate, and mean. */
struct level_extremes {
	const struct level *least, *most, *fastest, *slowest;
};

/* Adds a finding about several levels, without its text. */
struct finding *report_levels(const struct trace *t, u32 changes, double first_s, double last_s,
			      const struct level_extremes *e);

/* Sums up the @n changes of all levels, such as those of a drive that cleans up now and then, or of a load in steps. */
void report_many(const struct trace *t, const struct change *all, u32 n);

#endif
