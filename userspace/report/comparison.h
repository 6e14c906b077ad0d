/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compares runs with the first one, the baseline: finds which figures correspond, and the verdicts of
 * --fail-if. Pure.
 */
#ifndef REPORT_COMPARISON_H
#define REPORT_COMPARISON_H

#include "core/text_draw.h"
#include "report/condition.h"
#include "report/noise.h"
#include "report/run.h"
#include "util/problem.h"

/*
 * Which device of the baseline is compared with which one of the other runs, if their names differ:
 * --map nullb0=md0.
 */
#define DEVICE_MAPS_MAX 64

struct device_maps {
	u32 n;
	struct {
		char base[DEVICE_NAME_MAX], other[DEVICE_NAME_MAX];
	} m[DEVICE_MAPS_MAX];
};

/* Adds the pairs of "nullb0=md0,sda=md1". Returns 0, or -EINVAL and a sentence: no device may be in two pairs. */
int device_maps_take(struct device_maps *m, const char *value, struct problem *p);

/*
 * Checks that each pair has a device in the baseline and one in the others, with a stage in common.
 * Returns 0, or -EINVAL and a sentence.
 */
int device_maps_check(const struct device_maps *m, const struct run *base, const struct run *others, u32 n,
		      struct problem *p);

/* The name of the device that is paired with a device of the baseline; NULL: none is. */
const char *device_maps_other(const struct device_maps *m, const char *base);

/* Whether a device of the others is in a pair. */
bool device_maps_has_other(const struct device_maps *m, const char *other);

/* Two watches that are compared: indices into the runs' watches. */
struct pair {
	u32 base, other;
};

/*
 * Pairs the watches of two runs at the same stage. First come the devices that @maps pairs, which have
 * no other partner; then those that are the same drive, whatever their names; then devices of the same name. Then, if
 * each run has just one watch of a stage left, these two are paired (another drive, the same test). Last come the same
 * parts of paired watches. @ret has room for @base's watches. Returns how many pairs there are.
 */
u32 comparison_pairs(const struct run *base, const struct run *other, const struct device_maps *maps, struct pair *ret);

/* A run's figures for a group. */
struct compared {
	const struct run *run;
	const struct watch_run *watch;	/* NULL: the run has nothing to compare */
	const struct op_frame *o;	/* NULL likewise; may have no IOs, if another run has some */
	double ks;			/* distance from the baseline's distribution; negative: unknown */
	/*
	 * The mean that a whole's IOs would have if each part had the same share of them as in the
	 * baseline. It shows how much of a difference is not explained by another mix. Negative:
	 * unknown, as there are no parts, or a part with IOs in the baseline has none here.
	 */
	double mean_with_base_mix_ns;
};

/* One op of one device and stage, or of a part of it, in each run. */
struct compared_group {
	u32 op;
	const struct part *part;	/* NULL: the whole */
	struct compared *of;		/* [runs]; the first is the baseline's */
};

/* A condition applied to one device of one run. */
struct judgement {
	const struct condition *condition;
	struct judged judged;
	struct verdict verdict;
	struct noise noise;		/* only for repeats */
	struct problem sentence;	/* what was found */
};

struct compared_phase;

struct comparison {
	const struct run *runs;		/* borrowed */
	const struct device_maps *maps;	/* same */
	u32 n_runs;
	/* the first n_base repeat the baseline, the rest the other side; 0: no repeats */
	u32 n_base;
	int *beside;			/* [run][watch of the baseline]: its partner; -1: none */
	u32 n_groups;
	/*
	 * The groups with IOs in any run, in the order of the baseline's watches, then by op. Each is
	 * followed by its parts, if the baseline and another run have them.
	 */
	struct compared_group *groups;
	u32 n_judgements;
	struct judgement *judgements;
	u32 n_phases;
	struct compared_phase *phases;	/* those that all runs have */
	bool any_holds;
};

/*
 * Compares @runs with the first of them. If @n_base is not 0, the first @n_base runs are repeats of the
 * baseline. @maps pairs devices of the baseline with devices of the others. Returns 0 or -ENOMEM.
 */
int comparison_make(const struct run *runs, u32 n, u32 n_base, const struct device_maps *maps, struct comparison *ret);

/* The same without the phases. */
int comparison_without_phases(const struct run *runs, u32 n, u32 n_base, const struct device_maps *maps,
			      struct comparison *ret);

/* What a watch of the baseline is compared with in a run; NULL: nothing. */
const struct watch_run *comparison_partner(const struct comparison *c, u32 run, u32 watch);

/* The name of the device that a group's device is compared with if @maps pairs them, else NULL. */
const char *comparison_mapped(const struct comparison *c, const struct compared_group *g);

/*
 * Judges each run but the baseline (or a single run itself) by @conditions, on each device and stage that has the op,
 * as a whole. A condition that names a phase is judged in each phase of that name. For repeats it judges medians; KS is
 * then the median of the others' distances from the baseline's first run. @conditions must outlive the comparison.
 * Returns 0, or -ENOMEM, or -ENODATA and a sentence if a condition can't be judged: no device has the op, only one side
 * has it, or the phase is not in all runs.
 */
int comparison_judge(struct comparison *c, const struct condition *conditions, u32 n, struct problem *p);

/* Limit of the repeats of one side. */
#define REPEATS_MAX 100

/* How many groups behind a whole's group belong to its parts. */
u32 comparison_parts(const struct comparison *c, u32 whole);

void comparison_uninit(struct comparison *c);

/* Calls @tell for each whole of the other runs that has no partner in the baseline. */
void comparison_unpaired(const struct comparison *c,
			 void (*tell)(void *to, const struct run *run, const struct watch *watch), void *to);

/* --- compares the phases of several runs: each phase is compared as the runs are --- */

/*
 * A phase that all runs have. If there are several of the same name, the first is compared with the first, and so on.
 */
struct compared_phase {
	const char *name;
	struct run *runs;		/* phase_run_make() of each */
	struct comparison c;		/* of these */
};

/* Adds the phases that all runs of @c have, in the baseline's order. Returns 0 or -ENOMEM. */
int comparison_phases_make(struct comparison *c);
void comparison_phases_uninit(struct comparison *c);

/* Calls @tell for each phase that has figures but is not in all runs. */
void comparison_phases_unpaired(const struct comparison *c,
				void (*tell)(void *to, const struct run *run, const struct phase *p), void *to);

/* Each prints a comparison to look->out, of which the caller checks write errors. Returns 0 or -ENOMEM. */

/* A table at most look->columns wide, with the shape of each distribution. */
int comparison_text(const struct comparison *c, const struct look *look);

/* One object on one line; its keys are described in blklat(8). */
int comparison_json(const struct comparison *c, const struct look *look);

/* The same rows as tables, one for each op, as GitHub draws them. */
int comparison_markdown(const struct comparison *c, const struct look *look);

/* The columns that all formats have between the name and KS. */
struct comparison_cell {
	const char *name;		/* "IOPS", "p99" */
	const char *key;		/* in JSON: "iops", "p99" */
	bool is_rate;			/* more is better; else it is a latency */
	double q;			/* of a percentile; 1: the maximum */
	size_t offset;			/* of any other figure in struct op_frame */
	const char *(*text)(char text[32], double value);
};
#define COMPARISON_CELLS 9
extern const struct comparison_cell comparison_cells[];

/* The value in a column; negative if there is no IO (@o may be NULL). */
double comparison_value(const struct comparison_cell *cell, const struct op_frame *o);

/* For repeats: the values of both sides of a group in a column. */
struct noise comparison_noise(const struct comparison *c, const struct compared_group *g,
			      const struct comparison_cell *cell);

/* "x 1.10", "x 932", "x 2.32k", "1/2.32k": in 7 characters up to 999 G. */
const char *ratio_text(char text[32], double ratio);

/* "+10.2%" for 1.102; "-" if negative; from a factor of eleven on as a ratio. */
const char *change_text(char text[32], double ratio);

#endif
