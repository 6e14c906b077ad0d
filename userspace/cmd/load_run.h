/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording, or a script, read whole: what report and compare begin with. */
#ifndef CMD_LOAD_RUN_H
#define CMD_LOAD_RUN_H

#include "cmd/options.h"
#include "cmd/window.h"
#include "report/run.h"
#include "util/problem.h"

/* What a run is to be made of a file. */
struct load_how {
	struct window_words window;
	bool level_phases;	/* of a run without marks, a phase for each level that the findings see */
	u64 max_bytes;		/* most that all runs take, together with what plays one */
	u32 merged;		/* see struct collect_how */
};

/* Options of the commands that load recordings; max_bytes is 0 unless --max-memory is given. */
extern const struct argp_option load_option_list[];

/* Is it one of these? Then load_take() takes it. Returns 0, or a negative errno and a sentence. */
bool load_is_option(int key);
int load_take(struct load_how *how, int key, const char *value, struct problem *p);

/*
 * Replays what @how asks for of @file into @ret, which is all 0 and the caller's to uninit, whatever happens. Returns 0, or a negative errno and a sentence that names the file: -ENODATA when it has no
 * interval, -E2BIG when it takes more, -EIO when reading fails half-way, or that of opening it (-EBADMSG: a damaged
 * recording, -EINVAL: a wrong script, or nothing lies in the window).
 */
int load_run(const char *file, const struct load_how *how, struct run *ret, struct problem *p);

/* The exit status for its failures: a file that is not there or a wrong script is the command line's fault. */
int load_status(int err);

struct runs {
	u32 n;
	struct run *r;
};

/*
 * Loads each of @files. Where they don't fit, more and more of their intervals are merged, of all alike, and that is told on
 * stderr. Returns 0, or an errno and sentence of the above; runs_free() either way.
 */
int load_runs(const char *const *files, u32 n, const struct load_how *how, const char *who, struct runs *ret, struct problem *p);
void runs_free(struct runs *runs);

#endif
