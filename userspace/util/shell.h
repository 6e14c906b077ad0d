/* SPDX-License-Identifier: GPL-2.0-only */
/* Words as they are typed to a shell. */
#ifndef UTIL_SHELL_H
#define UTIL_SHELL_H

/*
 * @words, ended by NULL, as a line that a shell reads as these words: quoted where it is needed, and
 * whatever they hold a line of UTF-8 without control characters (then with bash's $'...'). The caller
 * frees it. NULL: out of memory.
 */
char *shell_line(char *const *words);

#endif
