/* SPDX-License-Identifier: GPL-2.0-only */
/* --from and --to: the part of each run that report and compare look at. */
#ifndef CMD_WINDOW_H
#define CMD_WINDOW_H

#include "core/origin.h"
#include "report/run.h"
#include "util/problem.h"

/* The words as typed, which are checked for each run; NULL: not given. */
struct window_words {
	const char *from, *to;
};

/*
 * Finds the window that @words mean in a run of @origin, in seconds since its start. Each word is a
 * number of seconds (20, 1.5, 90s, 2m, 1h, 250ms); a time of day or an ISO date and time, in UTC unless
 * it has an offset; or a mark's text. A time of day means its first occurrence from one hour before the
 * run's start on. Returns 0, or -EINVAL and a sentence.
 */
int window_find(const struct window_words *words, const struct origin *origin, struct asked_window *ret, struct problem *p);

#endif
