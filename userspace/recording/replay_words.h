/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words of a replay script. Each function parses a whole word strictly. If the word is invalid, it
 * returns false (or NULL) and leaves the result alone. No word can cause an overflow.
 */
#ifndef RECORDING_REPLAY_WORDS_H
#define RECORDING_REPLAY_WORDS_H

#include "util/types.h"

/* Digits only, at most @max. */
bool word_number(const char *text, u64 max, u64 *ret);

/* "81.2" in a unit of @unit ns, from @text to @end: must be whole in ns, and at most a million seconds. */
bool word_decimal(const char *text, const char *end, u64 unit, u64 *ret);

/* "60us": the same, followed by its unit: ns, us, ms or s. */
bool word_latency(const char *text, u64 *ret);

/* "2026-11-21T07:35:00.000Z", years 1970 to 2200, up to nine digits of a second's fraction. */
bool word_time(const char *text, s64 *ret);

/* Finds @name among the @n names. Holes in @names (NULL) match nothing. */
bool word_index(const char *const *names, u32 n, const char *name, u32 *ret);

/* The value of "key=value". */
const char *word_value(const char *word, const char *key);

/*
 * Cuts the first word off @text, which must not begin with a blank, and unquotes it in place. NULL if a
 * quote is left open.
 */
char *word_cut(char **text);

#endif
