/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A folder of recordings that follow each other in time: what they are called, which there are, which go. Each
 * stretch of time may have two, one with each interval and a small one with longer intervals, which stays when the
 * first has to go. Beside them are incidents: stretches of time that are there once more, and kept for longer.
 */
#ifndef RECORDING_ARCHIVE_H
#define RECORDING_ARCHIVE_H

#include "util/problem.h"
#include "util/types.h"

#define ARCHIVE_NAME 96		/* room for a name */
#define ARCHIVE_COARSE_S 10	/* the longer intervals */
#define ARCHIVE_INCIDENTS 20	/* so many stay */
#define ARCHIVE_INCIDENTS_SHARE 4	/* and they take one in so many of all bytes at most */

/*
 * The name of a recording that begins at @wall_ns (CLOCK_REALTIME), to the second: "2026-11-27T15-00-00Z.blklat", or
 * "...Z-10s.blklat".
 */
void archive_name(char ret[ARCHIVE_NAME], s64 wall_ns, bool coarse);

/*
 * That of an incident: "incident-2026-11-27T15-03-05Z-nvme0n1-slow.blklat". What of @reason may not be in a name
 * becomes "_".
 */
void archive_incident_name(char ret[ARCHIVE_NAME], s64 wall_ns, const char *reason);

struct archive_file {
	char name[ARCHIVE_NAME];
	s64 begins_ns;		/* by its name; of an incident: when it happened */
	bool coarse, incident;
	u64 bytes;		/* on the disk, with the files beside it */
};

/* Reads a recording's name; false: it is none of these, and nobody may delete the file. */
bool archive_parse(const char *name, struct archive_file *ret);

struct archive {
	struct archive_file *file;	/* by time, and each coarse one behind its other; incidents behind all others */
	u32 n;
};

/* Reads what is in @folder. Returns 0, or a negative errno and a sentence. archive_free() takes one that is all 0. */
int archive_read(struct archive *a, const char *folder, struct problem *p);
void archive_free(struct archive *a);

/* Leaves out incidents, and the coarse ones of stretches that are there in full. */
void archive_finest(struct archive *a);

struct archive_limits {
	u64 keep_ns;		/* files go once their successors are older than this */
	u64 max_bytes;		/* of all files */
};

struct archive_sizes {
	u64 all, current;	/* current: of those that are being recorded */
};

/*
 * Deletes the oldest files in @folder until the limits hold at @now_ns (CLOCK_REALTIME): first incidents, of which
 * the last one stays; then those that are not coarse, down to a quarter of all. Those that begin at @current_ns,
 * which are being recorded, stay. Returns 0, or a negative errno and a sentence.
 */
int archive_trim(const char *folder, const struct archive_limits *limits, s64 now_ns, s64 current_ns,
		 struct archive_sizes *ret, struct problem *p);

#endif
