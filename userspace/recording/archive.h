/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of recordings that follow each other in time: what they are called, which there are, which go. */
#ifndef RECORDING_ARCHIVE_H
#define RECORDING_ARCHIVE_H

#include "util/problem.h"
#include "util/types.h"

#define ARCHIVE_NAME 32		/* room for a name */

/* The name of a recording that begins at @wall_ns (CLOCK_REALTIME), to the second: "2026-11-27T15-00-00Z.blklat". */
void archive_name(char ret[ARCHIVE_NAME], s64 wall_ns);

/* When a recording of this name begins; false: it is no such name, and nobody may delete the file. */
bool archive_begins(const char *name, s64 *ret_wall_ns);

struct archive_file {
	char name[ARCHIVE_NAME];
	s64 begins_ns;		/* by its name */
	u64 bytes;		/* on the disk, with the files beside it */
};

struct archive {
	struct archive_file *file;	/* by time */
	u32 n;
};

/* Reads what is in @folder. Returns 0, or a negative errno and a sentence. archive_free() takes one that is all 0. */
int archive_read(struct archive *a, const char *folder, struct problem *p);
void archive_free(struct archive *a);

struct archive_limits {
	u64 keep_ns;		/* a file goes once its successor is older than this */
	u64 max_bytes;		/* of all files */
};

/*
 * Deletes the oldest files in @folder until the limits hold at @now_ns (CLOCK_REALTIME); @current, which is being recorded,
 * stays, and *@ret is its size. Returns 0, or a negative errno and a sentence.
 */
int archive_trim(const char *folder, const struct archive_limits *limits, s64 now_ns, const char *current, u64 *ret,
		 struct problem *p);

/* Deletes a file and those beside it. Returns the same; that it is not there is no failure. */
int archive_delete(const char *folder, const char *name, struct problem *p);

#endif
