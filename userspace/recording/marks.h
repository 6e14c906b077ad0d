/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks on their way from 'blklat mark' to the recorder: through a FIFO beside its file, which only the recorder's user
 * and root may open. Nothing here waits.
 */
#ifndef RECORDING_MARKS_H
#define RECORDING_MARKS_H

#include "util/moment.h"
#include "util/problem.h"

#define RECORDING_MARK_END "-mark"	/* of the FIFO's name, after the file's */

struct sqlite3;

/* The recorder's end. */
struct recording_marks {
	int fifo;		/* -1: there is none */
	char *name;
};

/*
 * Makes the FIFO for the recording @file. On a file system without FIFOs it succeeds without one, and nothing can be
 * marked. Returns 0, or a negative errno and a sentence.
 */
int recording_marks_open(struct recording_marks *m, const char *file, struct problem *p);

/*
 * Writes the marks that came since the last call to @db, in a transaction of its own. Once there are as many as a reader
 * takes, the FIFO is removed: that tells the next 'blklat mark'. Returns what SQLite does.
 */
int recording_marks_take(struct recording_marks *m, struct sqlite3 *db);

/* Removes the FIFO. @m may be one whose opening failed. */
void recording_marks_close(struct recording_marks *m);

/*
 * The other end: has the recorder of @file note an event, as of the time of the call. It stands in the file when the
 * interval has ended. Never waits. Returns 0, or a negative errno and a sentence: -EINVAL (no text, too long), -ENXIO
 * (nobody records it, or no marks are taken), -EAGAIN (too many at once), -EBADMSG (no recording), or what failed.
 */
int recording_mark(const char *file, const char *text, struct problem *p);

/*
 * Adds a mark to @file, which nobody records any more, at a time within it. The file is replaced by a copy with the mark.
 * Returns 0, or a negative errno and a sentence: -EINVAL (not within it, or no text), -EBUSY (it is being recorded), -EEXIST
 * (it was cut off, and a log lies beside it), those of a reader, or what failed.
 */
int recording_mark_at(const char *file, const struct moment *at, const char *text, struct problem *p);

/* Copies a mark's text, cleaned; @clean has room for RECORDING_MARK_BYTES. Returns 0, or -EINVAL and a sentence. */
int recording_mark_text(const char *text, char *clean, struct problem *p);

#endif
