/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads a whole recording into a run, for report and compare. */
#ifndef CMD_LOAD_RUN_H
#define CMD_LOAD_RUN_H

#include "cmd/options.h"
#include "core/origin.h"
#include "report/run.h"
#include "util/problem.h"

/*
 * --from and --to, the part of each run to look at: the words as typed, which are checked for each run; NULL: not
 * given.
 */
struct window_words {
	const char *from, *to;
};

/* How to make runs of files. */
struct load_how {
	const char **files;	/* with room for all arguments */
	u32 n;
	struct window_words window;
	u32 level_phases;	/* 1: if a run has no marks, make each level that the findings see a phase */
	u64 max_bytes;		/* limit for all runs together and the replay of one */
	u32 merged;		/* see struct collect_how */
	bool takes_fio;		/* a file may also be fio's output, see report/fio.h */
	const void *given;	/* as in struct join */
	u64 given_len;
};

/* The options of commands that load recordings, for a struct load_how; max_bytes is 0 unless --max-memory is given. */
extern const struct option_row load_option_list[];

/*
 * Replays @file, as far as @how asks for, into @ret, which must be all 0; the caller has to uninit it
 * in any case. Returns 0, or a negative errno and a sentence that names the file: -ENODATA (no interval
 * in it), -E2BIG (more than max_bytes), -EIO (reading failed half-way), or the error of opening it
 * (-EBADMSG: a damaged recording, -EINVAL: no regular file, or nothing lies in the window).
 */
int load_run(const char *file, const struct load_how *how, struct run *ret, struct problem *p);

/* The exit status for a failure of load_run(): a missing file is an error of the command line. */
int load_status(int err);

struct runs {
	u32 n;
	struct run *r;
};

/* Takes a file for a struct load_how; see struct options. */
int load_take_file(void *how, const char *value, struct problem *p);

/*
 * Loads each of the files. If they don't fit in memory, more and more of their intervals are merged,
 * equally in all of them, and a message on stderr says so. Returns 0, or an errno and a sentence as
 * load_run() does; runs_free() either way.
 */
int load_runs(const struct load_how *how, const char *who, struct runs *ret, struct problem *p);
void runs_free(struct runs *runs);

#endif
