/* SPDX-License-Identifier: GPL-2.0-only */
/* Several runs beside a first one, the baseline: what stands beside what, and what is judged. Pure. */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "report/condition.h"

/* Two watches that are compared: indices into the runs' watches. */
struct pair {
	u32 base, other;
};

/*
 * Pairs the watches of two runs: those of a device's name and stage; then, where a stage is left once in
 * each, these (another drive, the same test). @ret has room for @base's watches. Returns the number.
 */
u32 comparison_pairs(const struct run *base, const struct run *other, struct pair *ret);

/* What a run has of a group. */
struct compared {
	const struct run *run;
	const struct watch_run *watch;	/* NULL: the run has nothing to compare */
	const struct op_frame *o;	/* NULL likewise; without IOs where only the others have some */
	double ks;			/* distance from the baseline's distribution; negative: can't be had */
};

/* One op of one device and stage, in each run. */
struct compared_group {
	u32 op;
	struct compared *of;		/* [runs]; the first is the baseline's */
};

/* A condition and one device of one run. */
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
	struct compared_group *groups;	/* by watch of the baseline, then op; those with IOs in some run */
	u32 n_judgements;
	struct judgement *judgements;
	bool any_holds;
};

/* Puts runs beside the first one. Returns 0 or -ENOMEM. */
int comparison_make(const struct run *runs, u32 n, struct comparison *ret);

/*
 * Judges each run but the baseline (a single run: that) by @conditions, which must outlive the comparison, on
 * each device and stage that has the op. Returns 0, or -ENOMEM, or -ENODATA and a sentence when a condition
 * can't be judged: nothing has the op, or only one side.
 */
int comparison_judge(struct comparison *c, const struct condition *conditions, u32 n, struct problem *p);

void comparison_uninit(struct comparison *c);

/* "nvme0n1, 2nd run only": watches of the runs that stand beside nothing. Calls @tell for each. */
void comparison_unpaired(const struct comparison *c,
			 void (*tell)(void *to, const struct run *run, const struct watch *watch), void *to);

#endif
