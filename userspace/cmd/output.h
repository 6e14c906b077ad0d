/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that appears whole or not at all: written beside, then put in place. */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <stdio.h>

#include "util/problem.h"

struct output {
	FILE *f;		/* to write to */
	const char *file;	/* NULL: stdout */
	char *beside;		/* the name until it is whole */
};

/*
 * Begins to write to @file; NULL is stdout, and what is not a regular file (/dev/null, a pipe) is written as it is, but for
 * block devices, which are refused. Signals are blocked from the moment on in which there is a file beside: the rest is
 * short, and nothing is left behind. All else may wait for a reader, and a signal ends us as it does any program. @who is
 * what messages call the command. Returns 0, or a negative errno and a sentence.
 */
int output_begin(struct output *o, const char *file, const char *who, struct problem *p);

/*
 * Puts the file in place, if @err (what writing it came to) is 0. Returns 0, also when stdout is a pipe
 * that nobody reads any more, or the errno of the first failure and a sentence; then there is no file.
 */
int output_end(struct output *o, int err, struct problem *p);

/* Drops what was not put in place. Takes one that is all 0. */
void output_drop(struct output *o);

#endif
