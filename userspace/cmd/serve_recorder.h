/* SPDX-License-Identifier: GPL-2.0-only */
/* The recorder of the hours, of an incident, or of the last minutes in memory. */
#ifndef CMD_SERVE_RECORDER_H
#define CMD_SERVE_RECORDER_H

#include "cmd/serve.h"
#include "recording/archive.h"
#include "service/recent.h"

struct archiver;

enum archiver_kind {
	ARCHIVER_HOURS,
	ARCHIVER_INCIDENTS,
	ARCHIVER_MEMORY,	/* one recording of all; of @cfg only the origin counts */
};

/* @cfg is borrowed. Returns 0 or -ENOMEM. */
int archiver_new(const struct serve_recorder_config *cfg, enum archiver_kind kind, struct archiver **ret);
void archiver_free(struct archiver *r);		/* takes NULL */
struct follower *archiver_follower(struct archiver *r);

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

/*
 * The recording in memory, since devices came or went last: bytes of malloc(). Returns 0, or a negative errno and a
 * sentence; -ENODATA: it has no interval.
 */
int archiver_bytes(struct archiver *r, char **ret, size_t *ret_len, struct problem *p);

/* Most memory that a run of what it records needs, besides its intervals. */
u64 archiver_run_bytes(const struct archiver *r);

/* An archiver that gets messages. When devices come or go, it begins anew. */
struct player {
	struct archiver *archiver;
	struct relayed_config to;
	struct relayed *relayed;
};

/* Returns 0 or -ENOMEM. Call player_uninit() either way; it takes one that is all 0. */
int player_init(struct player *p, const struct serve_recorder_config *cfg, enum archiver_kind kind);
void player_uninit(struct player *p);

/* Returns 0 or an error as relayed_take() does. */
int player_play(struct player *p, const struct recent *from);

#endif
