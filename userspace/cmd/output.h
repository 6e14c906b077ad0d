/* SPDX-License-Identifier: GPL-2.0-only */
/* What commands write to: stdout, a terminal, a file. */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <stdio.h>

#include "core/snapshot.h"
#include "core/text_draw.h"
#include "util/json.h"
#include "util/problem.h"

/* A file that appears complete or not at all: it is written under another name, then renamed. */
struct output {
	FILE *f;		/* to write to */
	const char *file;	/* NULL: stdout */
	char *unfinished;	/* the name until it is complete */
};

/*
 * Begins to write to @file; NULL is stdout. Anything but a regular file (/dev/null, a pipe) is written directly,
 * except for block devices, which are refused. A signal ends us as it does any program, and removes the temporary
 * file. Returns 0, or a negative errno and a sentence.
 */
int output_begin(struct output *o, const char *file, struct problem *p);

/*
 * Puts the file in place if @err, the result of writing it, is 0. Returns 0, also if stdout is a pipe
 * without a reader; or the errno of the first failure and a sentence, and then there is no file.
 */
int output_end(struct output *o, int err, struct problem *p);

/* Removes a file that was not put in place. Takes a struct that is all 0. */
void output_drop(struct output *o);

/* --- commands that print once on stdout --- */

/* A string, or null for "". */
struct json_object *json_name(const char *text);

/* An array with the names of the stages in a bit set. */
struct json_object *json_stages(u32 stages);

/* Prints @o as one line on stdout and releases it. Returns 0 or -ENOMEM. */
int json_print(struct json_object *o);

/* The width of the terminal @fd; 80 if it is not a terminal. */
u32 terminal_columns(int fd);

/* How to format text for @out, which is stdout or stderr. */
struct look terminal_look(FILE *out);

/*
 * Flushes stdout. Returns STATUS_DONE, also if a pipe's reader went away; or prints why the output is
 * incomplete and returns STATUS_FAILED.
 */
int finish_output(const char *who);

/*
 * A recording should not be written to a device that it measures. Whether writing @file, which need not exist yet,
 * reaches a watched device or a disk below one. If so, returns true and a sentence to warn with. If that can't be found
 * out (a network file system, an overlay), returns false.
 */
bool placement_disturbs(const struct device_table *t, const struct watch *w, u32 n, const char *file,
			struct problem *p);

#endif
