/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings that follow each other, played as one run: those of a folder, or a single one. */
#ifndef CMD_JOIN_H
#define CMD_JOIN_H

#include "core/monitor.h"
#include "live/loop.h"

struct join {
	struct run_info info;		/* of the whole run; with its origin */

	const void *given;		/* the only file's bytes, @given_len, where they need not be read; NULL: else */
	u64 given_len;

	/* Private. */
	struct join_part *part;
	u32 n, at;			/* parts; the one that is played */
	struct origin origin;
	struct device_table devices;
	struct watch *watches;		/* of all parts */
	struct sink sink, *to;
	struct frames shown;
	struct snapshot now;		/* of these */
	struct watch_counts *counts;
	struct accounting *before, *last;	/* [watch] of the parts before this one; at the last interval */
	u64 skipped_before, unexplained_before;	/* program runs, of all watches together */
};

/*
 * Opens @files, which are in order; @name is theirs together. @b is what their memory is taken from, until they are
 * closed. Returns 0, or a negative errno and a sentence, as the replay engine does; -EINVAL also if they can't be
 * joined. join_close() has to be called in both cases; @ret is all 0, but for what is given.
 */
int join_open(struct join *ret, const char *const *files, u32 n, const char *name, struct budget *b,
	      struct problem *p);
void join_close(struct join *j);

/* Plays all of them into @sink, which gets one summary, without frames. Returns as loop_run() does. */
enum loop_end join_play(struct join *j, struct sink *sink, struct problem *p);

#endif
