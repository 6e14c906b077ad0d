/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a run comes from: what a recording contains besides its figures. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H

#include "util/types.h"

/* An event that the user noted. */
struct mark {
	u64 mono_ns;		/* CLOCK_MONOTONIC of the machine that was recorded, as in struct snapshot */
	s64 wall_ns;		/* CLOCK_REALTIME */
	char *text;
};

/* Texts are never NULL; "" when unknown. */
struct origin {
	char *file;		/* as the user named it; "" for a live run */
	char *label;		/* --label */
	char *host;
	char *kernel;		/* release */
	char *version;		/* of the blklat program that captured */
	char *command;		/* the command line that captured, words quoted as for a shell */
	u64 start_mono_ns;	/* of the first snapshot */
	s64 start_wall_ns;
	double interval_s;	/* as asked for */
	u64 idle_gap_ns;	/* 0: pauses were not looked for */
	u64 dropped;		/* earlier intervals that a recording of limited size has discarded */
	bool finished;		/* false: it is being recorded, or was cut off */
	u32 n_marks;
	struct mark *marks;	/* by time */
};

/* Makes a deep copy; a text that is NULL becomes "". Returns 0 or -ENOMEM. */
int origin_copy(struct origin *to, const struct origin *from);

/* When a mark was set, in seconds since the run's start. */
double mark_s(const struct origin *o, const struct mark *m);

/* Frees what it points to. Works on an origin that is all 0. */
void origin_uninit(struct origin *o);

#endif
