/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passes marks from 'blklat mark' to the recorder, through a FIFO next to its file, which only the
 * recorder's user and root may open. Nothing here blocks.
 */
#ifndef RECORDING_MARKS_H
#define RECORDING_MARKS_H

#include "core/origin.h"
#include "recording/schema.h"
#include "util/parse.h"
#include "util/problem.h"

#define RECORDING_MARK_END "-mark"	/* end of the FIFO's name, after the file's */
#define RECORDING_MARKS_AT_ONCE 16	/* in one transaction: a few pages, which a limited file has free */

struct sqlite3;

/* One mark in the FIFO. It has no padding, which would leak arbitrary bytes. */
struct mark_message {
	u64 mono_ns;
	s64 wall_ns;
	char text[RECORDING_MARK_BYTES + 8];	/* ended by 0 */
};

/* The recorder's end. */
struct recording_marks {
	int fifo;		/* -1: there is none */
	char *name;
	const struct origin *source;	/* a recording that is recorded again has marks itself */
	u32 next;			/* of these */
	struct mark_message waiting[RECORDING_MARKS_AT_ONCE];
	u32 n;
};

/*
 * Makes the FIFO for the recording @file. On a file system without FIFOs it succeeds without one, and nothing can be
 * marked. Returns 0, or a negative errno and a sentence.
 */
int recording_marks_open(struct recording_marks *m, const char *file, struct problem *p);

/*
 * Has the marks wait that have come, and those of the source up to @until_ns. Returns whether there may be more than
 * can wait at once.
 */
bool recording_marks_take(struct recording_marks *m, u64 until_ns);

/*
 * Writes the marks that wait, within the caller's transaction; they wait until the caller sets @m->n to 0. When the
 * file holds as many marks as a reader accepts, the FIFO is removed, which tells the next 'blklat mark'. Returns an
 * SQLite result.
 */
int recording_marks_write(struct recording_marks *m, struct sqlite3 *db);

/* Removes the FIFO. Takes an @m whose opening failed, too. */
void recording_marks_close(struct recording_marks *m);

/*
 * The other end: has the recorder of @file note an event at the time of the call. It is in the file once the interval
 * has ended. @text is one line of at most RECORDING_MARK_BYTES. Never blocks. Returns 0, or a negative errno and a
 * sentence: -ENXIO (the file is not being recorded, or takes no more marks), -EAGAIN (too many at once), -EBADMSG
 * (not a recording), or another error.
 */
int recording_mark(const char *file, const char *text, struct problem *p);

/*
 * Adds a mark to @file, a recording that has ended, at a time within it. The file is replaced by a copy with the mark.
 * Returns 0, or a negative errno and a sentence: -EINVAL (not within the recording), -EBUSY (it is being recorded),
 * -EEXIST (the recorder was killed, and left a log), an error of the reader, or another error.
 */
int recording_mark_at(const char *file, const struct moment *at, const char *text, struct problem *p);

#endif
