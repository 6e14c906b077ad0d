/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Strict parsers for option values: the whole text must be a valid value. Each takes the option's name
 * ("--interval") for its sentence. It returns 0; or -EINVAL and a sentence that says what the value
 * must be, and leaves the result as it was.
 */
#ifndef UTIL_PARSE_H
#define UTIL_PARSE_H

#include "util/problem.h"
#include "util/types.h"

/*
 * A decimal number such as "20" or "99.9" at the beginning of @s, with at most 9 digits after the point.
 * Returns where it ends, or NULL if there is no number or it has too many digits.
 */
const char *parse_decimal(const char *s, double *ret);

/* "1", "0.5", "250ms", "2m", "1h": 1 ms to a day. */
int parse_seconds(const char *option, const char *value, double *ret, struct problem *p);

/* "90m", "24h", "7d": a minute to a year. */
int parse_age(const char *option, const char *value, double *ret, struct problem *p);

/* A latency, "500us" or "10ms": 1 us to a day. The unit is required, as few people think of latencies in seconds. */
int parse_latency(const char *option, const char *value, u64 *ret_ns, struct problem *p);

/* A whole number from 1. */
int parse_count(const char *option, const char *value, u64 *ret, struct problem *p);

/* "1048576", "64M", "1.5G", "512KiB": bytes from 1, the units are powers of 1024 (K, M, G, T). */
int parse_size(const char *option, const char *value, u64 *ret, struct problem *p);

/* One digit, 0 to @max. */
int parse_level(const char *option, const char *value, int max, int *ret, struct problem *p);

/* "auto" (gives -1) or 0 to @max. */
int parse_scale(const char *option, const char *value, int max, int *ret, struct problem *p);

/* One of @n names. Gives its index. */
int parse_name(const char *option, const char *value, const char *const *names, u32 n, u32 *ret, struct problem *p);

/* "device,queue": a list of names, at most 32 of them; gives bit i for name i. */
int parse_names(const char *option, const char *value, const char *const *names, u32 n, u32 *ret, struct problem *p);

/* The name that is most similar to what was typed; NULL: @typed does not look like a misspelling of any. */
struct nearest {
	const char *typed, *name;
	u32 far;
};

/* Looks at one more name, which is borrowed. Begin with only @typed set. */
void nearest_look(struct nearest *n, const char *name);

/* --- a point in time as a user types it when looking at a run --- */

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
