/* SPDX-License-Identifier: GPL-2.0-only */
/* An output file that appears complete or not at all: it is written under another name, then renamed. */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <stdio.h>

#include "util/problem.h"

struct output {
	FILE *f;		/* to write to */
	const char *file;	/* NULL: stdout */
	char *beside;		/* the name until it is complete */
};

/*
 * Begins to write to @file; NULL is stdout. Anything but a regular file (/dev/null, a pipe) is written
 * directly, except for block devices, which are refused. Once the temporary file exists, signals are
 * blocked, so that it is never left behind; writing the rest is short. In all other cases writing may
 * wait for a reader, so a signal ends us as it does any program. @who is the command's name in
 * messages. Returns 0, or a negative errno and a sentence.
 */
int output_begin(struct output *o, const char *file, const char *who, struct problem *p);

/*
 * Puts the file in place if @err, the result of writing it, is 0. Returns 0, also if stdout is a pipe
 * without a reader; or the errno of the first failure and a sentence, and then there is no file.
 */
int output_end(struct output *o, int err, struct problem *p);

/* Removes a file that was not put in place. Takes a struct that is all 0. */
void output_drop(struct output *o);

#endif
