/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares runs with a first one, the baseline: which figures belong together, and the verdicts of --fail-if. Pure. */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "report/condition.h"
#include "report/device_map.h"
#include "report/noise.h"

/* Two watches that are compared: indices into the runs' watches. */
struct pair {
	u32 base, other;
};

/*
 * Pairs the watches of two runs at the same stage: first those of devices that @maps pairs, which have no other partner, and
 * those with the same device name; then, if each run has just one
 * watch of a stage left, these two (another drive, the same test); then the same parts of these. @ret has room for
 * @base's watches. Returns how many.
 */
u32 comparison_pairs(const struct run *base, const struct run *other, const struct device_maps *maps, struct pair *ret);

/* What a run has of a group. */
struct compared {
	const struct run *run;
	const struct watch_run *watch;	/* NULL: the run has nothing to compare */
	const struct op_frame *o;	/* NULL likewise; may be without IOs, if another run has some */
	double ks;			/* distance from the baseline's distribution; negative: unknown */
	/*
	 * The mean that a whole's IOs would have if each part had the share of them that it has in the baseline: what
	 * remains of a difference that another mix explains. Negative: unknown, as there are no parts or a part that the
	 * baseline has IOs of has none here.
	 */
	double mean_with_base_mix_ns;
};

/* One op of one device and stage, or of a part of it, in each run. */
struct compared_group {
	u32 op;
	const struct part *part;	/* NULL: the whole */
	struct compared *of;		/* [runs]; the first is the baseline's */
};

/* A condition, applied to one device of one run. */
struct judgement {
	const struct condition *condition;
	struct judged judged;
	struct verdict verdict;
	struct noise noise;		/* only of repeats */
	struct problem sentence;	/* what was found */
};

struct compared_phase;

struct comparison {
	const struct run *runs;		/* borrowed */
	const struct device_maps *maps;	/* same */
	u32 n_runs;
	u32 n_base;			/* the first are repeats of the baseline, the rest of what is compared; 0: no repeats */
	u32 n_groups;
	/*
	 * Those with IOs in any run, by the baseline's watch, then by op, each followed by its parts (if any run has them
	 * besides the baseline).
	 */
	struct compared_group *groups;
	u32 n_judgements;
	struct judgement *judgements;
	u32 n_phases;
	struct compared_phase *phases;	/* comparison_phases.h */
	bool any_holds;
};

/*
 * Compares @runs with the first of them, which together with those behind it are @n_base repeats, or 0. @maps pairs devices of
 * these with those of the rest. Returns 0 or -ENOMEM.
 */
int comparison_make(const struct run *runs, u32 n, u32 n_base, const struct device_maps *maps, struct comparison *ret);

/* The name of the device that a group's is compared with if that is so by @maps, else NULL. */
const char *comparison_mapped(const struct comparison *c, const struct compared_group *g);

/*
 * Judges each run but the baseline (or a single run itself) by @conditions, on each device and stage that has the
 * op, as a whole, and in each phase of the condition's name if it has one. Of repeats it judges medians; KS is the median of
 * the others' distances from the first of the baseline's. @conditions must outlive the comparison. Returns 0, or -ENOMEM, or
 * -ENODATA and a sentence if a condition can't be judged, because no device has the op or only one side has it, or the phase
 * is not in all of the runs.
 */
int comparison_judge(struct comparison *c, const struct condition *conditions, u32 n, struct problem *p);

/* Most repeats of one side. */
#define REPEATS_MAX 100

/* How many groups behind that of a whole are of its parts. */
u32 comparison_parts(const struct comparison *c, u32 whole);

void comparison_uninit(struct comparison *c);

/* Calls @tell for each whole of the other runs that has no partner in the baseline. */
void comparison_unpaired(const struct comparison *c,
			 void (*tell)(void *to, const struct run *run, const struct watch *watch), void *to);

#endif
