/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the rules, findings_*.c. Only they and findings.c include it. */
#ifndef REPORT_FINDINGS_RULES_H
#define REPORT_FINDINGS_RULES_H

#include "report/findings.h"
#include "util/types.h"
#include "util/units.h"

/* What a rule examines, and where its findings go. */
struct inquiry {
	const struct run *run;
	const struct watch_run *watch;
	const struct steady_window *window;
	/*
	 * [interval] Whether the oldest IO in flight at the interval's end really was in flight: an IO of that age
	 * ended later, or none had ended by the end of the run. Without this proof it may be an IO whose end the
	 * capture missed: that one also seems to be in flight, until its tag is used again.
	 */
	bool *age_proven;
	/* [interval] For how long the device stalled. Set by find_stalls(), for the rules that run after it. */
	double *stalled_s;
	/* [op] Whether its load changes all the time, at marks or in turns. Set by find_level_changes(). */
	bool *sweeps;
	/* [interval] The same for stalls that were told: of the device or one of its ops, at any stage. */
	double *told_s;
	struct findings *to;
};

/* Rules, of a watch or of an op that matters: see findings.c. Each returns 0 or -ENOMEM. */
int find_errors(const struct inquiry *q);
int find_gone(const struct inquiry *q);
int find_stalls(const struct inquiry *q);
int find_hung(const struct inquiry *q);
int find_level_changes(const struct inquiry *q, u32 op);
int find_peers(const struct inquiry *q, u32 op);	/* of all peers of the watch, if it is the first among them */
int find_compared(const struct inquiry *q, u32 op);	/* the same: several kinds, see findings_compare.c */
int find_layer(const struct inquiry *q);
int find_losses(const struct inquiry *q);
int find_kernel_count(const struct inquiry *q);
int find_saturated(const struct inquiry *q, u32 op);
int find_beside(const struct inquiry *q, u32 op);
int find_flush_cost(const struct inquiry *q);
int find_slow_common(const struct inquiry *q);
int find_duty_cycle(const struct inquiry *q);
int find_after_pause(const struct inquiry *q);
int find_steady_state(const struct inquiry *q, u32 op);
int find_consistency(const struct inquiry *q, u32 op);
int find_peaks(const struct inquiry *q, u32 op);

/* Like findings_levels(), for an op of the watch; find_stalls() must have run before. */
int find_levels(const struct inquiry *q, u32 op, double *ret);

/*
 * Adds a finding about the whole run, of the kind's usual grade and with the name of device and op as the begin of
 * its text; the caller fills in the rest. The pointer is invalid once the next one is added. If there is no memory,
 * findings_make() will fail.
 */
struct finding *finding_add(const struct inquiry *q, const char *kind, int op);
void finding_value(struct finding *f, const char *name, double value);
/* Several: { "share", 0.5 }, { "ios", 7 } */
#define finding_values(f, ...) finding_add_values(f, (const struct finding_value[]){ __VA_ARGS__ }, \
						  ARRAY_SIZE(((const struct finding_value[]){ __VA_ARGS__ })))
void finding_add_values(struct finding *f, const struct finding_value *values, u32 n);
/* The value of that name; NAN: there is none. */
double finding_get(const struct finding *f, const char *name);
__attribute__((format(printf, 2, 3)))
void finding_say(struct finding *f, const char *format, ...);	/* adds to the text */
__attribute__((format(printf, 2, 3)))
void finding_rule(struct finding *f, const char *format, ...);

/* Drives that have other names in other runs, and names that other drives have. */
void find_drives(const struct comparison *c, struct findings *to);

/* The place of a kind in the order of severity. */
u32 finding_rank(const char *kind);

/*
 * Marks findings about the steady state of devices alike whose verdicts differ only by chance, and gives them the
 * grade of most. Returns 0 or -ENOMEM.
 */
int steady_mark_chance(struct findings *fs);

/*
 * Whether they are of devices of one kind and model, and say of the same op at a like rate, in the same window,
 * whether it is steady.
 */
bool steady_is_like(const struct finding *a, const struct finding *b);

/*
 * Puts findings in order, and those that are alike behind the one that speaks for them, whose text then names them.
 * Returns 0 or -ENOMEM.
 */
int findings_order(struct findings *fs, const struct run *r);

/*
 * Stages queue and wait are watched to tell where latency comes from. The rate at which IOs leave them is that of the
 * device, and their time is part of stage total: if the device is watched at another stage too, or at total, that is
 * told there.
 */
bool rate_is_its_own(const struct inquiry *q);
bool latency_is_its_own(const struct inquiry *q);

/* True for an op with at least 1 % of the watch's IOs. A rarer one has no meaningful rate. */
bool op_matters(const struct watch_run *w, u32 op);

/* The op's share of the time of all IOs. */
double op_share_of_time(const struct watch_run *w, u32 op);

/* True for an op that matters, or flushes, which applications wait for, and has IOs enough for percentiles. */
static inline bool op_has_figures(const struct watch_run *w, u32 op)
{
	return (op_matters(w, op) || op == BLKLAT_OP_FLUSH) && w->ops[op].total->ios >= PART_IOS_LEAST;
}

/* Whether @a is of the kind, model and stage of @b, so that they may be compared; not if @a lies on another device. */
bool is_same_kind(const struct watch_run *a, const struct watch_run *b);

/* The op with the most IOs. */
u32 main_op(const struct watch_run *w);

/* The op to name: @op or, if it is -1, the only one that has IOs, if there is only one. */
int op_named(const struct watch_run *w, int op);

struct weighted {
	double value, weight;	/* sorted by the first */
};

/*
 * The smallest value such that all values up to it have at least half of the weight; 0 if @n is 0. Sorts @w by value.
 */
double weighted_median(struct weighted *w, u32 n);

/* --- findings_even.c: how even IOPS are --- */

struct evenness {
	/* of the worst 1 % of the intervals over the mean; negative: they are too few, or the load not constant */
	double share;
	const char *how;	/* "alternates", "wanders", "decays", "scatters"; NULL: they are even */
	double period_s;	/* of what alternates, else 0 */
	double mean, deviation;	/* IOPS */
	double from_s, to_s;
};

#define EVENNESS_RULE "of 100 intervals or more in the window of the steady state, or else in that of the rates, if the queue depth of the worst 1 %% is at least 90 %% of the mean; " \
	"IOPS alternate if their autocorrelation at 2 to 10 intervals is 0.5 or more, wander if it is at 1, decay if they end 20 %% lower; " \
	"even is 80 %%, or noise"

/*
 * Looks at @in, the window of the steady state; if that has too few intervals, at the window of the rates without its
 * ends. The pauses of a duty cycle are left out. Returns 0 or -ENOMEM.
 */
int evenness_of(const struct run *r, const struct watch_run *w, u32 op, const struct steady_window *in,
		struct evenness *ret);
void evenness_say(struct finding *f, const struct evenness *e);

/* Whether the device stalled between the two times. */
bool stalled_within(const struct inquiry *q, double from_s, double to_s);

/* Whether the op's levels change between the two times, as was told before; @drifts: also without a step. */
bool levels_are_told(const struct inquiry *q, u32 op, double from_s, double to_s, bool drifts);

/* --- finds where a series of figures changes from one level to another --- */

#define LEVEL_LEAST 5		/* a level has at least this many values */
#define LEVEL_CUTS_MAX 512

/*
 * Finds the cuts between levels of @y[0..n): cut c means that y[c] is the first value of a new level.
 * For each cut,
 *   - the means of the two levels differ by at least @step, as do the medians of the LEVEL_LEAST values on both
 *     sides of the cut (a ramp is no step);
 *   - both levels are stable: the standard deviation within each is at most half the difference;
 *   - the difference is at least 5 standard errors.
 * Ascending cuts are written to @ret, which has room for LEVEL_CUTS_MAX. Returns their number, or
 * -ENOMEM.
 */
int levels_find(const double *y, u32 n, double step, u32 *ret);

/* The median of the LEVEL_LEAST values from @y on. */
double median_near(const double *y);

/*
 * Finds stalls of a run: nothing completes, or less than 1 % of the usual rate, although there is work to do. A pause
 * of the workload is not a stall, so each stall needs a witness: an IO that was in flight. Pure.
 *
 * There are two signs, used together. The first is an interval that is empty, or nearly, and has a witness. The
 * second, for stalls within intervals that are not empty, are halts (struct halt), where they were looked for; else
 * an IO that took half an interval or more and ended while as many IOs were missing as would have completed
 * meanwhile. A stall with the second sign has its true length; one with the first sign alone has that of its
 * intervals.
 */

/* The IOs of a device, or of one of its ops. */
struct flow {
	const struct inquiry *q;
	int op;			/* -1: all */
	u64 *ios;		/* [interval]; also owns the next two */
	u64 *sum_ns;		/* of the latencies */
	u64 *max_ns;		/* of those that took 10 times the median of their op */
	struct weighted *room;	/* [interval] for medians */
	double median;		/* IOPS of the intervals with IOs */
	double least;		/* IOPS below which an interval is low */
	double gap_s;		/* least length of a stall */
};

/* @op as in struct flow. Returns 0 or -ENOMEM; flow_uninit() either way. */
int flow_init(struct flow *f, const struct inquiry *q, int op);
void flow_uninit(struct flow *f);

struct stalls {
	u32 n;
	struct stall *s;	/* in order; no two touch */
	u32 room;
	double time_s, mean_s, longest_s, longest_at_s;	/* see stalls_sum_up() */
};

/* Finds all stalls, without the figures of all together. Returns 0 or -ENOMEM; stalls_uninit() either way. */
int stalls_find(const struct flow *f, struct stalls *ret);
void stalls_uninit(struct stalls *s);

/*
 * Drops the stalls of which more than half was told: @told_s has the seconds told of each interval. Then sets the
 * figures of all together; the longest is the first of equal ones, and the mean is never above it.
 */
void stalls_sum_up(struct stalls *s, const struct run *r, const double *told_s);

/* How many of @stalled_s, seconds of each interval, lie in @within; @last is the interval in which it ends. */
double stalled_time(const struct run *r, const double *stalled_s, u32 last, const struct stall *within);

/* Adds to @stalled_s for how long each interval stalled. Returns how many did. */
u32 stalls_spread(const struct stalls *s, const struct run *r, double *stalled_s);

#endif
