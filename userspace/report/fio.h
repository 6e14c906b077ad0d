/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What fio measured, from its output in JSON, as a run to compare with: one interval of one device, at stage device.
 * Completion latencies (clat), else total ones (lat); fio tells a bin by its middle, so each is at most 1/128 (0.8 %)
 * off.
 */
#ifndef REPORT_FIO_H
#define REPORT_FIO_H

#include "report/run.h"
#include "util/problem.h"

/* Whether a regular file is that. */
bool fio_is(const char *file);

/* Makes a run of all its jobs together, which has to be all 0. Returns 0, or a negative errno and a sentence. */
int fio_load(const char *file, struct run *ret, struct problem *p);

#endif
