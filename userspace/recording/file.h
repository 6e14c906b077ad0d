/* SPDX-License-Identifier: GPL-2.0-only */
/* The file of a recorder: makes and locks it, opens it as a database, and closes it as one plain file. */
#ifndef RECORDING_FILE_H
#define RECORDING_FILE_H

#include <sqlite3.h>

#include "core/sink.h"
#include "util/problem.h"

struct recorded_ids;

struct recording_file {
	char *name;
	int lock;		/* holds flock(LOCK_EX): it is being recorded */
	sqlite3 *db;
};

extern const struct recording_file recording_file_none;	/* the state before recording_file_make() */

/*
 * The first makes the file; the second makes its tables and writes the facts about the whole run. Both
 * return as recorder_open() does. If one fails, @f still has to be passed to recording_file_remove().
 */
int recording_file_make(struct recording_file *f, const char *name, bool overwrite, struct problem *p);
/* @name: for messages */
int recording_file_make_in_memory(struct recording_file *f, const char *name, struct problem *p);
int recording_file_begin(struct recording_file *f, const struct run_info *run, struct recorded_ids *ids,
			 struct problem *p);

/* To be called before an interval is written. Returns 0, or -ENOENT and a sentence: the file was deleted. */
int recording_file_check(const struct recording_file *f, struct problem *p);

/* Sets the sentence for the failure @rc of SQLite; returns its errno. */
int recording_file_failed(const struct recording_file *f, int rc, struct problem *p);

/* A finished file as bytes of malloc(). Returns 0, or a negative errno and a sentence. */
int recording_file_bytes(struct recording_file *f, char **ret, size_t *ret_len, struct problem *p);

/*
 * Makes it one plain file, which nothing is added to. Returns 0, or a negative errno and a sentence; what was recorded
 * can be read all the same.
 */
int recording_file_finish(struct recording_file *f, struct problem *p);
void recording_file_close(struct recording_file *f);	/* takes an @f that could not be made, too */

/* Closes the file and deletes it, if it was made. */
void recording_file_remove(struct recording_file *f);

/* Writes the facts about the whole run. Returns an SQLite result. */
int recorder_write_facts(sqlite3 *db, const struct run_info *run, struct recorded_ids *ids);

#endif
