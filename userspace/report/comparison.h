/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares runs with a first one, the baseline: which figures belong together, and the verdicts of --fail-if. Pure. */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "report/condition.h"

/* Two watches that are compared: indices into the runs' watches. */
struct pair {
	u32 base, other;
};

/*
 * Pairs the watches of two runs: first those with the same device name and stage; then, if each run has just one
 * watch of a stage left, these two (another drive, the same test). @ret has room for @base's watches. Returns how many.
 */
u32 comparison_pairs(const struct run *base, const struct run *other, struct pair *ret);

/* What a run has of a group. */
struct compared {
	const struct run *run;
	const struct watch_run *watch;	/* NULL: the run has nothing to compare */
	const struct op_frame *o;	/* NULL likewise; may be without IOs, if another run has some */
	double ks;			/* distance from the baseline's distribution; negative: unknown */
};

/* One op of one device and stage, in each run. */
struct compared_group {
	u32 op;
	struct compared *of;		/* [runs]; the first is the baseline's */
};

/* A condition, applied to one device of one run. */
struct judgement {
	const struct condition *condition;
	struct judged judged;
	struct verdict verdict;
	struct problem sentence;	/* what was found */
};

struct comparison {
	const struct run *runs;		/* borrowed */
	u32 n_runs;
	u32 n_groups;
	struct compared_group *groups;	/* those with IOs in any run, by the baseline's watch, then by op */
	u32 n_judgements;
	struct judgement *judgements;
	bool any_holds;
};

/* Compares @runs with the first of them. Returns 0 or -ENOMEM. */
int comparison_make(const struct run *runs, u32 n, struct comparison *ret);

/*
 * Judges each run but the baseline (or a single run itself) by @conditions, on each device and stage that has the
 * op. @conditions must outlive the comparison. Returns 0, or -ENOMEM, or -ENODATA and a sentence if a condition can't
 * be judged, because no device has the op or only one side has it.
 */
int comparison_judge(struct comparison *c, const struct condition *conditions, u32 n, struct problem *p);

void comparison_uninit(struct comparison *c);

/* Calls @tell for each watch of the other runs that has no partner in the baseline. */
void comparison_unpaired(const struct comparison *c,
			 void (*tell)(void *to, const struct run *run, const struct watch *watch), void *to);

#endif
