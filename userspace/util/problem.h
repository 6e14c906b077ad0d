/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An error message for the user: what failed, why, and what to do. It is made where the reason is known
 * and printed once, by cmd/ or main.c. One line, no full stop, no "error:".
 */
#ifndef UTIL_PROBLEM_H
#define UTIL_PROBLEM_H

struct problem {
	char text[512];
};

/* Writes the sentence and returns @err, so that one can 'return problem_set(p, -EINVAL, ...)'. */
__attribute__((format(printf, 3, 4)))
int problem_set(struct problem *p, int err, const char *format, ...);

#endif
