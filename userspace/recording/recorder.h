/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sink that makes a recording: an SQLite file, see docs/recording.md. Each interval is a transaction, which has
 * reached the disk when the call returns. After a power cut or SIGKILL at most the last one is missing.
 */
#ifndef RECORDING_RECORDER_H
#define RECORDING_RECORDER_H

#include "core/sink.h"
#include "util/problem.h"

struct recorder_config {
	const char *file;	/* must not exist, unless @overwrite */
	bool overwrite;
	bool in_memory;		/* it is no file, and @file its name in messages: see recorder_bytes() */
	/*
	 * Limit for the file and its log (-wal) together; 0: none. When it is reached, the oldest intervals
	 * are merged into longer ones, then dropped.
	 */
	u64 max_bytes;
	/* an interval need not have reached the disk, so a power cut may take the last minutes; SIGKILL does not */
	bool lazy;
	struct sink *also;	/* another sink for the same intervals, or NULL; closed in any case */
};

/*
 * Makes the file and begins. @run, with its origin and devices, has to outlive the sink; @cfg need not. Returns 0, or a
 * negative errno and a sentence, and then leaves nothing behind: -EEXIST (the file exists, without @overwrite), -EBUSY
 * (it is being recorded), -EINVAL (not a regular file, or the limit is too low), or the error of making the file.
 *
 * The sink's hooks: interval and summary return the first error, of the file or of the other sink. If the other sink's
 * pipe lost its reader, that sink is closed and the recording goes on. After a failed write nothing more is written,
 * and the file stays readable up to there. summary, or else close, makes the recording one plain file, which takes
 * nothing more.
 */
int recorder_open(const struct run_info *run, const struct recorder_config *cfg, struct sink **ret, struct problem *p);

/* Why a call of the sink failed; leaves @p alone if it was the other sink that failed. */
void recorder_problem(const struct sink *s, struct problem *p);

/* The number of intervals that the file holds now; 0 if it can't be read. */
u64 recorder_intervals(const struct sink *s);

/*
 * A recording in memory, finished, as bytes of malloc(); nothing can be added any more. Returns 0, or a negative
 * errno and a sentence.
 */
int recorder_bytes(struct sink *s, char **ret, size_t *ret_len, struct problem *p);

/* Deletes a recording and what is beside it. Returns 0 or a negative errno. */
int recording_delete(const char *name);

#endif
