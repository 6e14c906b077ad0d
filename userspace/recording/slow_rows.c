// SPDX-License-Identifier: GPL-2.0-only
/* Writes slow IOs as rows, see rows.h. */
#include <string.h>

#include "recording/rows.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/utf8.h"

static int put_text(sqlite3_stmt *s, int column, const char *text)
{
	return sqlite3_bind_text(s, sqlite_parameter(column), text, -1, SQLITE_STATIC);
}

/* The end of a path that is too long, as the end says most. */
static const char *end_of(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	if (len < RECORDING_CGROUP_BYTES)
		return path;
	path += len - (RECORDING_CGROUP_BYTES - 1);
	while (*path && !utf8_begins(*path))
		path++;
	return path;
}

/* The watch whose part the IO is in, or the whole. */
static u32 watch_of(const struct run_info *run, const struct slow_io *io)
{
	for (u32 i = io->watch + 1; io->part && i < run->n_watches && run->watches[i].part; i++)
		if (run->watches[i].part == io->part)
			return i;
	return io->watch;
}

static int put_slow(struct recording_rows *r, s64 id, const struct run_info *run, const struct slow_io *io)
{
	const struct blklat_slow *t = &io->told;
	bool sent = t->known & BLKLAT_SLOW_SUBMITTER;
	sqlite3_stmt *s = r->slow;
	u32 watch;
	int rc = recording_rows_id(r, run, watch_of(run, io), &watch);

	if (rc)
		return rc;
	sqlite_put(s, SLOW_interval, id);
	sqlite_put(s, SLOW_n, r->n_slow++);
	sqlite_put(s, SLOW_watch, watch);
	sqlite_put(s, SLOW_end_wall_ns, io->end_ns);
	sqlite_put(s, SLOW_latency_ns, t->latency_ns);
	sqlite_put_known(s, SLOW_queue_ns, t->queue_ns, t->queue_ns);
	sqlite_put_known(s, SLOW_device_ns, t->device_ns, t->device_ns);
	sqlite_put(s, SLOW_op, t->op);
	sqlite_put(s, SLOW_bytes, t->bytes);
	sqlite_put_known(s, SLOW_sector, t->known & BLKLAT_SLOW_SECTOR, t->sector);
	sqlite_put_known(s, SLOW_hw_queue, t->known & BLKLAT_SLOW_QUEUE, t->hw_queue);
	sqlite_put_known(s, SLOW_start_cpu, t->known & BLKLAT_SLOW_START_CPU, t->start_cpu);
	sqlite_put(s, SLOW_end_cpu, t->end_cpu);
	sqlite_put_known(s, SLOW_pid, sent, t->submitter);
	sqlite_put_known(s, SLOW_kernel_thread, sent, !!(t->known & BLKLAT_SLOW_KERNEL_THREAD));
	sqlite_put_known(s, SLOW_depth, t->depth, t->depth);
	return put_text(s, SLOW_error, slow_error(t->error)) ?: put_text(s, SLOW_comm, sent ? t->comm : NULL) ?:
	       put_text(s, SLOW_cgroup, end_of(io->cgroup)) ?:
	       put_text(s, SLOW_beside, slow_part_label(BLKLAT_BY_BESIDE, t->beside)) ?:
	       put_text(s, SLOW_flags, slow_part_label(BLKLAT_BY_FLAGS, t->flags)) ?: sqlite_step_done(s);
}

static int put_found(struct recording_rows *r, s64 id, u32 watch, u64 found)
{
	sqlite3_stmt *s = r->slow_found;

	sqlite_put(s, SLOW_FOUND_interval, id);
	sqlite_put(s, SLOW_FOUND_watch, watch);
	sqlite_put(s, SLOW_FOUND_found, found);
	return sqlite_step_done(s);
}

int recording_rows_slow(struct recording_rows *r, s64 id, const struct run_info *run, const struct slow_ios *slow)
{
	int rc = SQLITE_OK;

	for (u32 i = 0; !rc && i < slow->n; i++)
		rc = put_slow(r, id, run, &slow->io[i]);
	for (u32 i = 0; !rc && i < slow->n_watches; i++)
		if (slow->of[i].found)
			rc = put_found(r, id, r->known->watches[i], slow->of[i].found);
	return rc;
}
