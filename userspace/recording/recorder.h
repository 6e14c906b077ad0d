/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sink of a recording: an SQLite file, see docs/recording.md. Each interval is a transaction that is
 * on the disk when its call returns; after a power cut or SIGKILL at most the last one is missing.
 */
#ifndef RECORDING_RECORDER_H
#define RECORDING_RECORDER_H

#include "core/sink.h"
#include "util/problem.h"

struct recorder_config {
	const char *file;	/* must not exist, unless @overwrite */
	bool overwrite;
	/*
	 * Most that the file and the log beside it (-wal) take; 0: no limit. When it is reached the oldest
	 * intervals are merged to coarser time, then dropped.
	 */
	u64 max_bytes;
	struct sink *also;	/* to show meanwhile what is recorded, or NULL; the recording's to close, also if it fails to open */
};

/*
 * Makes the file and begins; @run, with its origin and devices, outlives the sink, @cfg need not. Returns 0,
 * or a negative errno and a sentence, with nothing left behind: -EEXIST (and not to be overwritten), -EBUSY
 * (it is being recorded), -EINVAL (no regular file, a limit too low), or what making it failed with.
 *
 * The hooks of the sink: interval and summary return what failed first, writing or the other sink
 * (but when only the reader of its pipe went away, that sink is closed and the recording goes on); a
 * recording that failed once stays as it is, readable up to there. close ends it: one plain file.
 */
int recorder_open(const struct run_info *run, const struct recorder_config *cfg, struct sink **ret,
		  struct problem *p);

/* Sets @p to why a call of the sink failed, unless that was the other sink. */
void recorder_problem(const struct sink *s, struct problem *p);

/* How many intervals the file holds now; 0 where it can't be asked. */
u64 recorder_intervals(const struct sink *s);

#endif
