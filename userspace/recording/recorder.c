// SPDX-License-Identifier: GPL-2.0-only
#include "recording/recorder.h"

#include <errno.h>
#include <stdlib.h>

#include "recording/file.h"
#include "recording/marks.h"
#include "recording/ring.h"
#include "recording/rows.h"
#include "recording/sqlite.h"

struct recorder {
	struct sink sink;
	const struct run_info *run;
	struct recording_file file;
	struct recorded_ids ids;
	struct recording_rows rows;
	struct recording_ring ring;
	struct recording_marks marks;
	struct sink *also;
	s64 next;			/* number of the next interval; 0: the start is not written yet */
	int err;			/* of the first write that failed; nothing is written after that */
	bool finished;
	struct problem problem;
};

static const struct sink_ops recorder_ops;

static void recorder_free(struct recorder *r)
{
	sink_close(r->also);
	free(r);
}

static void recorder_uninit(struct recorder *r)
{
	recording_marks_close(&r->marks);
	recording_rows_uninit(&r->rows);
	recorded_ids_uninit(&r->ids);
}

/* The most slow IOs in an interval. */
static u64 slow_ios_most(const struct run_info *run)
{
	u64 wholes = 0;

	for (u32 i = 0; i < run->n_watches; i++)
		wholes += !run->watches[i].part;
	return wholes * run->slow_most;
}

static int begin(struct recorder *r, const struct recorder_config *cfg, struct problem *p)
{
	u64 least = ring_least_bytes(r->run->n_watches) + ring_slow_bytes(slow_ios_most(r->run));
	int rc = SQLITE_OK, err;

	if (cfg->max_bytes && cfg->max_bytes < least)
		return problem_set(p, -EINVAL, "%s: %llu bytes are too few for what is watched: at least %llu are "
				   "needed", cfg->file, cfg->max_bytes, least);
	if (recorded_ids_init(&r->ids, r->run))
		return problem_set(p, -ENOMEM, "%s: out of memory", cfg->file);
	err = cfg->in_memory ? recording_file_make_in_memory(&r->file, cfg->file, p) :
			       recording_file_make(&r->file, cfg->file, cfg->overwrite, p) ?:
			       recording_marks_open(&r->marks, cfg->file, p);
	err = err ?: recording_file_begin(&r->file, r->run, &r->ids, p);
	if (err)
		return err;
	if (cfg->lazy)
		rc = sqlite_run(r->file.db, "PRAGMA synchronous = NORMAL");
	if (!rc && cfg->max_bytes)
		rc = ring_init(&r->ring, r->file.db, cfg->max_bytes, r->run);
	/* The source may be a recording that has dropped intervals itself. */
	r->ring.levels.dropped = r->run->origin->dropped;
	if (!rc)
		rc = recording_rows_init(&r->rows, r->file.db, r->run, &r->ids);
	return rc ? recording_file_failed(&r->file, rc, p) : 0;
}

int recorder_open(const struct run_info *run, const struct recorder_config *cfg, struct sink **ret, struct problem *p)
{
	struct recorder *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		sink_close(cfg->also);
		return problem_set(p, -ENOMEM, "%s: out of memory", cfg->file);
	}
	r->sink.ops = &recorder_ops;
	r->run = run;
	r->file = recording_file_none;
	r->marks.fifo = -1;
	r->marks.source = run->origin;
	r->also = cfg->also;
	err = begin(r, cfg, p);
	if (!err) {
		*ret = &r->sink;
		return 0;
	}
	recorder_uninit(r);
	recording_file_remove(&r->file);
	recorder_free(r);
	return err;
}

static int write_rows(struct recorder *r, const struct frames *is, u32 tries)
{
	int rc = sqlite_run(r->file.db, "BEGIN IMMEDIATE") ?: ring_make_room(&r->ring, tries) ?:
		 recording_marks_write(&r->marks, r->file.db) ?: (r->marks.n ? ring_limit_marks(&r->ring) : SQLITE_OK);

	if (!rc && is)
		rc = recorder_write_watches(r->file.db, r->run, &r->ids);
	if (!rc && is && !r->next)
		rc = recording_rows_start(&r->rows, r->run, is);
	if (!rc && is)
		rc = recording_rows_interval(&r->rows, r->next + !r->next, r->run, is);
	if (!rc)
		rc = ring_check_room(&r->ring);
	return rc ?: sqlite_run(r->file.db, "COMMIT");
}

/*
 * Writes the marks that wait, and interval @is unless it is NULL, in one transaction. If the ring has no room for it,
 * tries again after dropping more of the old intervals.
 */
static int write_transaction(struct recorder *r, const struct frames *is)
{
	const struct ring_levels before = r->ring.levels;
	const struct recorded_ids known = r->ids;
	int rc = SQLITE_FULL, err = 0;

	for (u32 tries = 0; rc == SQLITE_FULL && tries <= (r->ring.db ? RING_TRIES : 0); tries++) {
		rc = write_rows(r, is, tries);
		if (!rc)
			break;
		/* Must come before the rollback, which would overwrite the error. */
		err = recording_file_failed(&r->file, rc, &r->problem);
		r->ring.levels = before;
		recorded_ids_forget(&r->ids, &known, r->run);
		if (!sqlite3_get_autocommit(r->file.db))
			sqlite_run(r->file.db, "ROLLBACK");
	}
	if (rc)
		return err;
	r->marks.n = 0;
	if (!is)
		return 0;
	r->next += !r->next;
	if (r->ring.db)
		ring_add(&r->ring, r->next);
	r->next++;
	return 0;
}

/* Writes the marks up to @until_ns, and interval @is unless it is NULL. No more marks than a file holds delay it. */
static int write_until(struct recorder *r, u64 until_ns, const struct frames *is)
{
	u32 times = RECORDING_MARKS_MAX / RECORDING_MARKS_AT_ONCE;
	int err = 0;

	while (!err && times-- && recording_marks_take(&r->marks, until_ns))
		err = write_transaction(r, NULL);
	return err || (!is && !r->marks.n) ? err : write_transaction(r, is);
}

/* If the reader of the other sink's pipe goes away, the recording goes on. */
static int also_result(struct recorder *r, int err)
{
	if (err != -EPIPE)
		return err;
	r->also->ops->close(r->also);
	r->also = NULL;
	return 0;
}

static int recorder_interval(struct sink *s, const struct frames *is)
{
	struct recorder *r = (struct recorder *)s;

	if (!r->err)
		r->err = recording_file_check(&r->file, &r->problem);
	if (!r->err)
		r->err = write_until(r, is->now->mono_ns, is);
	if (r->err)
		return r->err;
	return r->also ? also_result(r, r->also->ops->interval(r->also, is)) : 0;
}

/* Writes the last marks, takes no more, and makes it one plain file; but once. */
static int finish(struct recorder *r)
{
	if (r->err || r->finished)
		return r->err;
	r->finished = true;
	r->err = recording_file_check(&r->file, &r->problem) ?: write_until(r, UINT64_MAX, NULL);
	recording_marks_close(&r->marks);
	if (!r->err)
		r->err = recording_file_finish(&r->file, &r->problem);
	return r->err;
}

static int recorder_summary(struct sink *s, const struct frames *run)
{
	struct recorder *r = (struct recorder *)s;

	if (finish(r))
		return r->err;
	return r->also ? also_result(r, r->also->ops->summary(r->also, run)) : 0;
}

static void recorder_close(struct sink *s)
{
	struct recorder *r = (struct recorder *)s;

	finish(r);
	recorder_uninit(r);
	recording_file_close(&r->file);
	recorder_free(r);
}

void recorder_problem(const struct sink *s, struct problem *p)
{
	const struct recorder *r = (const struct recorder *)s;

	if (r->err)
		*p = r->problem;
}

int recorder_bytes(struct sink *s, char **ret, size_t *ret_len, struct problem *p)
{
	struct recorder *r = (struct recorder *)s;

	if (r->err)
		*p = r->problem;
	return r->err ?: recording_file_bytes(&r->file, ret, ret_len, p);
}

u64 recorder_intervals(const struct sink *s)
{
	const struct recorder *r = (const struct recorder *)s;
	int rc;
	s64 rows = sqlite_number(r->file.db, "SELECT count(*) FROM interval", &rc);

	/* The first row is the start, which is no interval. */
	return rows > 0 ? rows - 1 : 0;
}

static const struct sink_ops recorder_ops = {
	.interval = recorder_interval,
	.summary = recorder_summary,
	.close = recorder_close,
};
