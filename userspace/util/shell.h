/* SPDX-License-Identifier: GPL-2.0-only */
/* Quotes words as one would type them in a shell. */
#ifndef UTIL_SHELL_H
#define UTIL_SHELL_H

/*
 * Makes one line of @words, which end with NULL: quoted where needed, so that a shell splits it into the same words.
 * Whatever bytes they hold, the line is UTF-8 without control characters (which become bash's $'...'). The caller frees
 * it. NULL: out of memory.
 */
char *shell_line(char *const *words);

#endif
