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
 * Kinds and their values are those in FINDINGS of docs/blklat-report.8, where the names of both are promised.
 * Shares are fractions of 1.
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
