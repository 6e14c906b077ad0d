/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of options, read strictly: the whole text must be one, or the sentence says what it must be.
 * Every parser takes the option's name ("--interval") for the sentence, and returns 0, or -EINVAL and
 * the sentence, leaving the result as it was.
 */
#ifndef UTIL_PARSE_H
#define UTIL_PARSE_H

#include "util/problem.h"
#include "util/types.h"

/*
 * A decimal number such as "20" or "99.9" at the beginning of @s, at most 9 digits behind the point. Returns where
 * it ends, or NULL when there is none or it has too many digits.
 */
const char *parse_decimal(const char *s, double *ret);

/* "1", "0.5", "250ms", "2m", "1h": 1 ms to a day. */
int parse_seconds(const char *option, const char *value, double *ret, struct problem *p);

/* The same, also in "us", from 1 us: a latency. */
int parse_latency(const char *option, const char *value, u64 *ret_ns, struct problem *p);

/* A whole number from 1. */
int parse_count(const char *option, const char *value, u64 *ret, struct problem *p);

/* "1048576", "64M", "1.5G", "512KiB": bytes from 1, the units are powers of 1024 (K, M, G, T). */
int parse_size(const char *option, const char *value, u64 *ret, struct problem *p);

/* 0 to @max, of one digit. */
int parse_level(const char *option, const char *value, int max, int *ret, struct problem *p);

/* "auto" (gives -1) or 0 to @max. */
int parse_scale(const char *option, const char *value, int max, int *ret, struct problem *p);

/* One of @n names; the nearest is suggested. Gives its index. */
int parse_name(const char *option, const char *value, const char *const *names, u32 n, u32 *ret,
	       struct problem *p);

/* "device,queue": a list of names, at most 32 of them; gives bit i for name i. */
int parse_names(const char *option, const char *value, const char *const *names, u32 n, u32 *ret,
		struct problem *p);

/*
 * How many letters to insert, remove, replace or swap with their neighbour make @b of @a (optimal
 * string alignment). Names are compared by their first 63 letters.
 */
u32 edit_distance(const char *a, const char *b);

/* True when @distance is small enough, for a name of @value's length, that it may be a slip. */
bool edit_is_slip(const char *value, u32 distance);

#endif
