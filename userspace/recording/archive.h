/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A folder of recordings that follow each other in time: what they are called, which there are, which go. Each stretch of time may
 * have two, one with each interval and a small one with longer intervals, which stays when the first has to go.
 */
#ifndef RECORDING_ARCHIVE_H
#define RECORDING_ARCHIVE_H

#include "util/problem.h"
#include "util/types.h"

#define ARCHIVE_NAME 40		/* room for a name */
#define ARCHIVE_COARSE_S 10	/* the longer intervals */

/* The name of a recording that begins at @wall_ns (CLOCK_REALTIME), to the second: "2026-11-27T15-00-00Z.blklat", or "...Z-10s.blklat". */
void archive_name(char ret[ARCHIVE_NAME], s64 wall_ns, bool coarse);

struct archive_file {
	char name[ARCHIVE_NAME];
	s64 begins_ns;		/* by its name */
	bool coarse;
	u64 bytes;		/* on the disk, with the files beside it */
};

/* Reads a recording's name; false: it is none of these, and nobody may delete the file. */
bool archive_parse(const char *name, struct archive_file *ret);

struct archive {
	struct archive_file *file;	/* by time, and each coarse one behind its other */
	u32 n;
};

/* Reads what is in @folder. Returns 0, or a negative errno and a sentence. archive_free() takes one that is all 0. */
int archive_read(struct archive *a, const char *folder, struct problem *p);
void archive_free(struct archive *a);

/* Leaves out the coarse ones of stretches that are there in full. */
void archive_finest(struct archive *a);

struct archive_limits {
	u64 keep_ns;		/* files go once their successors are older than this */
	u64 max_bytes;		/* of all files */
};

/*
 * Deletes the oldest files in @folder until the limits hold at @now_ns (CLOCK_REALTIME): those that are not coarse first, down to
 * a quarter of all. Those that begin at @current_ns, which are being recorded, stay, and *@ret is their size. Returns 0, or a
 * negative errno and a sentence.
 */
int archive_trim(const char *folder, const struct archive_limits *limits, s64 now_ns, s64 current_ns, u64 *ret, struct problem *p);

#endif
