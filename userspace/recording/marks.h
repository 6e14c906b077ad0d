/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder's end of the FIFO through which 'blklat mark' tells it what to note. Nothing here waits. */
#ifndef RECORDING_MARKS_H
#define RECORDING_MARKS_H

#include <sqlite3.h>

#include "recording/schema.h"
#include "util/problem.h"

struct recording_marks {
	int fifo;		/* -1: there is none */
	char *name;
};

/*
 * Makes the FIFO for the recording @file. Where the file system has none there is none, and nothing can be marked.
 * Returns 0, or a negative errno and a sentence.
 */
int recording_marks_open(struct recording_marks *m, const char *file, struct problem *p);

/*
 * Writes to @db what came since the last call, as a transaction of its own. When there are as many as a reader takes
 * the FIFO goes, so that the next 'blklat mark' knows. Returns what SQLite does.
 */
int recording_marks_take(struct recording_marks *m, sqlite3 *db);

/* Removes it. Takes one whose making failed. */
void recording_marks_close(struct recording_marks *m);

#endif
