/* SPDX-License-Identifier: GPL-2.0-only */
/* A phase as a run of its own, so that whatever is said of runs can be said of phases. Pure. */
#ifndef REPORT_PHASE_RUN_H
#define REPORT_PHASE_RUN_H

#include "report/run.h"

/*
 * A run that has only the intervals of @r's phase @p, which has some. It borrows from @r, and has no heat. Nothing may be
 * added to it; phase_run_free() instead of run_uninit(). Returns 0 or -ENOMEM.
 */
int phase_run_make(const struct run *r, const struct phase *p, struct run *ret);
void phase_run_free(struct run *r);

#endif
