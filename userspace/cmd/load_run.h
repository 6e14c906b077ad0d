/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording, or a script, read whole: what report and compare begin with. */
#ifndef CMD_LOAD_RUN_H
#define CMD_LOAD_RUN_H

#include "cmd/window.h"
#include "report/run.h"
#include "util/problem.h"

/*
 * Replays what @window asks for of @file into @ret, which is all 0 and the caller's to uninit, whatever happens; together with what plays it, it
 * takes @max_bytes at most. Returns 0, or a negative errno and a sentence that names the file: -ENODATA when it has no
 * interval, -E2BIG when it takes more, -EIO when reading fails half-way, or that of opening it (-EBADMSG: a damaged
 * recording, -EINVAL: a wrong script, or nothing lies in the window).
 */
int load_run(const char *file, const struct window_words *window, u64 max_bytes, struct run *ret, struct problem *p);

/* The exit status for its failures: a file that is not there or a wrong script is the command line's fault. */
int load_status(int err);

struct runs {
	u32 n;
	struct run *r;
};

/* Loads each of @files, all within @max_bytes. Returns 0, or an errno and sentence of the above; runs_free() either way. */
int load_runs(const char *const *files, u32 n, const struct window_words *window, u64 max_bytes, struct runs *ret,
	      struct problem *p);
void runs_free(struct runs *runs);

#endif
