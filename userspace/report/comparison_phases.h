/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares the phases of several runs: each phase is compared as the runs are. Pure. */
#ifndef REPORT_COMPARISON_PHASES_H
#define REPORT_COMPARISON_PHASES_H

#include "report/comparison.h"

/*
 * A phase that all runs have. If there are several of the same name, the first is compared with the
 * first, and so on.
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
void comparison_phases_unpaired(const struct comparison *c, void (*tell)(void *to, const struct run *run, const struct phase *p),
				void *to);

#endif
