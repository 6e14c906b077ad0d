/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder of the hours, of an incident, or of the last minutes in memory. */
#ifndef CMD_SERVE_RECORDER_H
#define CMD_SERVE_RECORDER_H

#include "cmd/serve.h"
#include "recording/archive.h"
#include "service/recent.h"

enum archiver_kind {
	ARCHIVER_HOURS,
	ARCHIVER_INCIDENTS,
	ARCHIVER_MEMORY,	/* one recording of all; of @cfg only the origin counts */
};

/* For a file's name, and a sentence. */
struct incident {
	s64 wall_ns;		/* 0: there is none */
	char reason[ARCHIVE_NAME];
	struct problem why;
};

struct archiver_file {
	struct sink *sink;		/* NULL: it is not open */
	struct run_info run;
	struct origin origin;
	char *path;
};

struct archiver {
	const struct serve_recorder_config *cfg;
	struct relayed relayed;		/* that it gets; all 0 if it gets intervals */
	const struct run_info *run;	/* NULL: none has begun */
	struct archiver_file fine, coarse;
	/* CLOCK_REALTIME, when they begin, and that by their names; 0: they are not open */
	s64 begins_ns, second_ns;
	bool full;			/* its file has its share of the space, or can't be written */
	enum archiver_kind kind;
	struct incident incident;	/* that is kept */
	bool only_remembers;		/* what was counted by the end of an interval */
	struct base *base;		/* [watch] */
	u64 skipped;			/* before they began */
	struct frames shown;		/* an interval, as it is written */
	struct watch_counts *counts;
	struct held held;		/* intervals that become one of the coarse file's */
	struct last *last;		/* [n_last], also while nothing can be written */
	u32 n_last;
	u64 last_skipped;
	u64 retry_ns;			/* CLOCK_MONOTONIC; 0: the last interval was written */
};

/* @cfg is borrowed. */
void archiver_init(struct archiver *r, const struct serve_recorder_config *cfg, enum archiver_kind kind);
void archiver_uninit(struct archiver *r);	/* takes a struct that is all 0 */

/* Takes a message, or all that are kept, as relayed_take() does; 0 also if it is another run. */
int archiver_take(struct archiver *r, u32 kind, struct wire_in *bytes);
int archiver_play(struct archiver *r, const struct recent *from);

/* What that does: begins a run, which stays until the next one has begun, and takes an interval. Return the same. */
int archiver_run(struct archiver *r, const struct run_info *run);
int archiver_add(struct archiver *r, const struct frames *fs);

/*
 * What comes from now on belongs to @incident, which is copied. Where there is none, its file ends, and intervals are
 * dropped.
 */
void archiver_begin(struct archiver *r, const struct incident *incident);

/*
 * The recording in memory, since devices came or went last: bytes of malloc(). Returns 0, or a negative errno and a
 * sentence; -ENODATA: it has no interval.
 */
int archiver_bytes(struct archiver *r, char **ret, size_t *ret_len, struct problem *p);

/* Most memory that a run of what it records needs, besides its intervals. */
u64 archiver_run_bytes(const struct archiver *r);

#endif
