/* SPDX-License-Identifier: GPL-2.0-only */
/* A point in time as a user types it when looking at a run. */
#ifndef UTIL_MOMENT_H
#define UTIL_MOMENT_H

#include "util/types.h"

struct moment {
	enum {
		MOMENT_SINCE_START,	/* ns: since the run's start */
		MOMENT_WALL,		/* ns: CLOCK_REALTIME */
		MOMENT_OF_DAY,		/* ns: since midnight, UTC */
	} kind;
	s64 ns;
};

/*
 * Parses a time since the run's start (20, 1.5, 90s, 2m, 1h, 250ms); a time of day in UTC (14:03,
 * 14:03:20.5); or an ISO date and time (2026-11-21T14:03:20), in UTC unless it has an offset (+02:00).
 * Returns false, and leaves @ret alone, if it is none of these.
 */
bool moment_parse(const char *word, struct moment *ret);

/*
 * Nanoseconds since the start of a run, at @start_ns (CLOCK_REALTIME). A time of day means its first
 * occurrence from one hour before the start on.
 */
s64 moment_since(const struct moment *m, s64 start_ns);

#endif
