/* SPDX-License-Identifier: GPL-2.0-only */
/* In the process that records: the recorder, of the hours or of an incident, and what finds incidents. */
#ifndef CMD_SERVE_RECORDER_H
#define CMD_SERVE_RECORDER_H

#include "cmd/serve.h"
#include "recording/archive.h"
#include "service/recent.h"

/* --- serve_recorder.c --- */

struct archiver;

enum archiver_kind {
	ARCHIVER_HOURS,
	ARCHIVER_INCIDENTS,
	ARCHIVER_MEMORY,	/* one recording of all; of @cfg only the origin counts */
};

/* @cfg is borrowed. Returns 0 or -ENOMEM. */
int archiver_new(const struct serve_recorder_config *cfg, enum archiver_kind kind, struct archiver **ret);
void archiver_free(struct archiver *r);		/* after its sink; takes NULL */
struct sink_source *archiver_source(struct archiver *r);

/* For a file's name, and a sentence. */
struct incident {
	s64 wall_ns;		/* 0: there is none */
	char reason[ARCHIVE_NAME];
	struct problem why;
};

/*
 * What comes from now on belongs to @incident, which is copied. Where there is none, its file ends, and intervals are
 * dropped.
 */
void archiver_begin(struct archiver *r, const struct incident *incident);

/* Whether its file has its share of the space, or can't be written. */
bool archiver_is_full(const struct archiver *r);

/* Intervals are only remembered for what was counted by their end. */
void archiver_only_remembers(struct archiver *r, bool yes);

/*
 * The recording in memory, since devices came or went last: bytes of malloc(). Returns 0, or a negative errno and a
 * sentence; -ENODATA: it has no interval.
 */
int archiver_bytes(struct archiver *r, char **ret, size_t *ret_len, struct problem *p);

/* Most memory that a run of what it records needs, besides its intervals. */
u64 archiver_run_bytes(const struct archiver *r);

/* --- serve_incidents.c --- */

struct incidents;

/* Those that cfg->keep_if finds. @cfg is borrowed. Returns 0 or -ENOMEM. */
int incidents_new(const struct serve_recorder_config *cfg, struct incidents **ret);
void incidents_free(struct incidents *k);	/* takes NULL */

/* Its sink judges intervals: first this, */
struct sink_source *incidents_source(struct incidents *k);

/* then each message as it came is passed to this one. Returns 0 or an error as relayed_take() does. */
int incidents_take(struct incidents *k, u32 kind, const struct wire_in *bytes);

#endif
