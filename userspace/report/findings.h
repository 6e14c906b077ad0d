/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Findings: what an expert would read off a run's charts, as plain sentences, each with its numbers and
 * the rule that found it. Each rule is a file, findings_*.c. Pure.
 */
#ifndef REPORT_FINDINGS_H
#define REPORT_FINDINGS_H

#include "report/run.h"
#include "report/steady.h"

#define FINDING_VALUES_MAX 24
#define FINDING_TEXT 960
#define FINDINGS_LEVELS_MAX 256

enum finding_grade { FINDING_WRONG, FINDING_DIFFERS, FINDING_WELL };

extern const char *const finding_grades[];	/* "wrong", "differs", "well" */

struct finding_value {
	const char *name;	/* with its unit: "share", "period_s", "fast_p50_ns" */
	double value;		/* finite */
};

/*
 * Kinds and their values; the names of both are stable. Shares are fractions of 1.
 *
 *   steady_state   known, iops, round_s, excursion_share, slope_share; if it is known: reached, stalled_share (share of
 *                  the window's time for which the device stalled); first_reached_s if any five rounds of the run pass
 *   stall          stalls, time_s, share (of the active window's time), intervals (with stalls), mean_s,
 *                  longest_s, longest_at_s, median_iops, pending (at the end of the run); if stalls are regular:
 *                  period_s (from the begin of one to that of the next), period_deviation_s
 *   level_change   at_s, share (of the IOs, done by then); iops, mean_ns, p50_ns and queue_depth (the device's, of all
 *                  ops), each with before_ and after_; times_slower_by_latency (of the means), times_slower_by_iops,
 *                  rest_s; tail (0.99: p99), before_ and after_tail_ns, if a percentile behind p50 changed; episodes,
 *                  cause_ before_iops, after_iops and share (of the device's time), victim_ before_ and after_ p50_ns
 *                  and p99_ns, if another load is surely the cause. If there are more than three: changes, first_at_s,
 *                  last_at_s, and least_ and most_ iops, iops_p50_ns, mean_ns
 *   unlike         times, p99_ns, like_p99_ns (the median of all alike), peers (others), intervals, agree (of these),
 *                  p_value
 *   saturated      iops and mean_ns, each with from_ (the first phase that is) and to_ (the last phase)
 *   duty_cycle     bursts, period_s, share (of the time, busy), busy_iops, overall_iops
 *   renamed        devices (pairs that are told)
 *   exchanged      devices
 *   order          lines, classes, slowest_p50_ns, fastest_p50_ns
 *   pair           of the slower line over the other: times_p50, times_p90, times_last (at last_share); equal_share (up
 *                  to which percentile they are equal), within_share (by how much); p50_ns, iops and queue_depth, each
 *                  also with other_
 *   regimes        least_share (of fast IOs), least_times, most_times (as long take the others), over all lines
 *   consistency    worst_share, the least of all lines
 *   layer          overhead_p50_ns, overhead_p10_ns, overhead_p90_ns, members, queue_depth, member_queue_depth
 *   peaks          peak1_ns, peak1_share, peak2_ns ... in order of latency
 *   after_pause    ios, share, first_p50_ns, rest_p50_ns, first_mean_ns
 *   beside         ios, share (of the op's), p50_ns, p99_ns, base_ios, base_p50_ns, base_p99_ns, times_p50, times_p99,
 *                  lost_s
 *   flush_cost     share (of the time of all IOs), ios, mean_ns, p99_ns, per_write_ns (their time over the writes),
 *                  write_mean_ns
 *   slow_common    slow (slow IOs for which it is known), share (of these), share_of_all (of all IOs), p_value
 *   hung           oldest_ns, at_s, in_flight, pending (at the end of the run); not told of an IO that waited in a
 *                  stall
 *   errors         errors, ios
 *   losses         lost, share, and each reason of lost_names
 *   kernel_count   kernel_ios, completed
 *   gone           at_s
 */
struct finding {
	const char *kind;
	enum finding_grade grade;
	const struct watch *watch;	/* in the run */
	int op;				/* enum blklat_op, or -1: the device as a whole */
	double from_s, to_s;		/* the part of the run that it is about */
	double times;			/* of one kind, by how much it is worse; 0: not told */
	const char *times_of;		/* of level_change: "mean", "median", "p99" ... */
	/* the owner or op that changed at the time, and may have caused it; NULL: none is known */
	const char *cause;
	int cause_op;
	bool culprit;			/* it surely did */
	bool sick;			/* something is wrong with its device */
	bool by_chance;			/* of steady_state: devices like it have another verdict by chance */
	/* this many findings behind it are alike, of other devices, and are said with it */
	u32 also;
	char text[FINDING_TEXT];		/* begins with the name of the device and op, and ": " */
	char rule[480];
	u32 n;
	struct finding_value values[FINDING_VALUES_MAX];
};

struct findings {
	u32 n;
	u32 room;
	struct finding *f;
	bool lacks_memory;	/* one could not be added, and */
	struct finding spare;	/* is this */
};

/*
 * Makes all findings of @r; looks for the steady state in @w. The worst come first: by grade, by kind, by how much.
 * Those alike of several devices follow the one that speaks for them. Returns 0, or -ENOMEM and makes none.
 */
int findings_make(const struct run *r, const struct steady_window *w, struct findings *ret);
void findings_uninit(struct findings *fs);

struct comparison;

/*
 * Makes the findings about what differs between runs: of each op of each device that @c compares, which needs no
 * phases here.
 * @to_first: each run is compared with the first one, else with the next one in the order of p50. Runs have their
 * labels. None of repeats. Returns the same.
 */
int findings_compare(const struct comparison *c, bool to_first, struct findings *ret);

/*
 * Finds where the levels of @r begin, if there is more than one. They are those that level_change finds for the busiest
 * op of the device and stage with the most IOs. @ret has room for FINDINGS_LEVELS_MAX times on the run's axis, and gets
 * them in order. Returns how many there are (0: a single level, or no IO), or -ENOMEM.
 */
int findings_levels(const struct run *r, double *ret);

/* --- findings_slow.c: what the slow IOs of a device and stage have in common; pure --- */

#define SLOW_COMMON_MAX 10
#define SLOW_COMMON_TEXT 256
#define SLOW_COMMON_METHOD "binomial test, one-sided, Bonferroni's correction"

/* What they have in common in one respect. */
struct slow_common {
	/*
	 * "op", what divides the watch, "flags", "beside", "error", "bytes", "comm", "cgroup", "hw_queue" or "region"
	 */
	const char *by;
	char value[SLOW_COMMON_TEXT];	/* cut if there is no room */
	u32 ios, of;			/* how many have the value, and for how many it is known */
	double share_of_all;		/* share of all IOs of the watch, slow or not; negative: not counted */
	/*
	 * If share_of_all is counted, the value is the one least likely to be that frequent by chance, and this is the
	 * probability that any value in this respect would be, if slow IOs were drawn at random from all IOs. (IOs of
	 * one burst are not independent.) Otherwise the value is the most frequent one, and this is negative.
	 */
	double p;
};

/*
 * Fills @ret for the slow IOs that the run keeps of whole @watch, in the order above; respects that are
 * not known for any IO are left out. A region is a sixteenth of the device, given by its bounds in
 * bytes. Returns how many there are, or -ENOMEM.
 */
int slow_common_of(const struct run *r, u32 watch, struct slow_common ret[SLOW_COMMON_MAX]);

/*
 * --- findings_beside.c: by what IOs run beside (--by beside), which of an op's parts the others are compared with;
 * pure ---
 */

/* A percentile of fewer IOs says little. */
#define PART_IOS_LEAST 100

/* Whether @whole is divided in this way. */
bool beside_divides(const struct run *r, const struct watch_run *whole);

/* The IOs of @op that began beside @kind, of enum blklat_kind, or beside nothing. */
const struct op_frame *beside_part(const struct watch_run *whole, u32 kind, u32 op);

/*
 * The base that the others are compared with: the IOs beside nothing or, if they are fewer than PART_IOS_LEAST, those
 * beside reads alone. NULL: these are too few as well, or took no time, so no ratio can be computed.
 */
const struct op_frame *beside_base(const struct watch_run *whole, u32 op, u32 *ret_kind);

#endif
