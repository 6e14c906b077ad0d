/* SPDX-License-Identifier: GPL-2.0-only */
/* A phase as a run of its own, so that code for runs works on phases. Pure. */
#ifndef REPORT_PHASE_RUN_H
#define REPORT_PHASE_RUN_H

#include "report/run.h"

/*
 * Makes a run that has only the intervals of @r's phase @p, which must have some. It borrows from @r,
 * and has no heat. Nothing may be added to it. Free it with phase_run_free() instead of run_uninit().
 * Returns 0 or -ENOMEM.
 */
int phase_run_make(const struct run *r, const struct phase *p, struct run *ret);
void phase_run_free(struct run *r);

#endif
