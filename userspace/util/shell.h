/* SPDX-License-Identifier: GPL-2.0-only */
/* Words in the form in which one types them in a shell. */
#ifndef UTIL_SHELL_H
#define UTIL_SHELL_H

/*
 * Makes of @words, ended by NULL, a line that a shell splits into these words again: quoted where
 * needed. Whatever bytes they hold, the line is UTF-8 without control characters (bash's $'...' is used
 * for these). The caller frees it. NULL: out of memory.
 */
char *shell_line(char *const *words);

#endif
