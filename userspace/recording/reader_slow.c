// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the slow IOs of a recording, see reader.h. Like all rows they must come in strictly ascending
 * order, and may hold anything.
 */
#include <errno.h>
#include <string.h>

#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"

#define NUMBER_MAX (1ULL << 62)

static int next_slow(struct recording_reader *r, struct problem *p)
{
	int rc = sqlite3_step(r->slow_rows);
	u64 interval, n;

	r->slow_left = rc == SQLITE_ROW;
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return reader_failed(r, rc, p);
	if (!column_u64(r->slow_rows, SLOW_interval, NUMBER_MAX, &interval) || !column_u64(r->slow_rows, SLOW_n, NUMBER_MAX, &n))
		return reader_damaged(r, p, "a slow IO has no number");
	if ((s64)interval < r->slow_interval || ((s64)interval == r->slow_interval && (s64)n <= r->slow_n))
		return reader_damaged(r, p, "its slow IOs are out of order");
	r->slow_interval = interval;
	r->slow_n = n;
	return 0;
}

static int next_found(struct recording_reader *r, struct problem *p)
{
	int rc = sqlite3_step(r->slow_found);
	u64 interval, watch;
	s64 key;

	r->found_left = rc == SQLITE_ROW;
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return reader_failed(r, rc, p);
	if (!column_u64(r->slow_found, SLOW_FOUND_interval, 1ULL << 44, &interval) ||
	    !column_u64(r->slow_found, SLOW_FOUND_watch, BLKLAT_MAX_WATCHES - 1, &watch))
		return reader_damaged(r, p, "a count of slow IOs has no watch");
	key = interval << 16 | watch;
	if (key <= r->found_key)
		return reader_damaged(r, p, "its counts of slow IOs are out of order");
	r->found_key = key;
	return 0;
}

int reader_begin_slow(struct recording_reader *r, struct problem *p)
{
	int err = 0, rc;

	if (!r->slow_most)
		return 0;
	for (u32 i = 0; !err && recording_slow_tables[i].name; i++)
		err = reader_check_table(r, &recording_slow_tables[i], p);
	if (err)
		return err;
	if (slow_ios_init(&r->slow, r->n_watches, r->slow_most))
		return problem_set(p, -ENOMEM, "%s: no memory", r->file);
	rc = sqlite3_prepare_v2(r->db, "SELECT " SQL_NAMES(slow) " FROM slow ORDER BY interval, n", -1, &r->slow_rows, NULL) ?:
	     sqlite3_prepare_v2(r->db, "SELECT " SQL_NAMES(slow_found) " FROM slow_found ORDER BY interval, watch", -1,
				&r->slow_found, NULL);
	r->slow_interval = r->slow_n = r->found_key = -1;
	return rc ? reader_failed(r, rc, p) : next_slow(r, p) ?: next_found(r, p);
}

void reader_close_slow(struct recording_reader *r)
{
	sqlite3_finalize(r->slow_rows);
	sqlite3_finalize(r->slow_found);
	slow_ios_uninit(&r->slow);
}

/* Reads a column that may be NULL; @ret_known: it is not NULL. Returns false if its value is invalid. */
static bool column_known(sqlite3_stmt *s, int i, u64 max, u64 *ret, bool *ret_known)
{
	*ret = 0;
	*ret_known = sqlite3_column_type(s, i) != SQLITE_NULL;
	return !*ret_known || column_u64(s, i, max, ret);
}

static bool take_latencies(sqlite3_stmt *s, struct blklat_slow *t)
{
	bool known;

	return column_u64(s, SLOW_latency_ns, RECORDING_TOTAL_MAX, &t->latency_ns) &&
	       column_known(s, SLOW_queue_ns, RECORDING_TOTAL_MAX, &t->queue_ns, &known) &&
	       column_known(s, SLOW_device_ns, RECORDING_TOTAL_MAX, &t->device_ns, &known);
}

static bool take_place(sqlite3_stmt *s, struct blklat_slow *t)
{
	u64 op, bytes, hw_queue, start_cpu, end_cpu;
	bool known[3];

	if (!column_u64(s, SLOW_op, BLKLAT_OPS - 1, &op) || !column_u64(s, SLOW_bytes, UINT32_MAX, &bytes) ||
	    !column_known(s, SLOW_sector, 1ULL << 55, &t->sector, &known[0]) ||
	    !column_known(s, SLOW_hw_queue, UINT16_MAX, &hw_queue, &known[1]) ||
	    !column_known(s, SLOW_start_cpu, UINT16_MAX, &start_cpu, &known[2]) || !column_u64(s, SLOW_end_cpu, UINT16_MAX, &end_cpu))
		return false;
	t->op = op;
	t->bytes = bytes;
	t->hw_queue = hw_queue;
	t->start_cpu = start_cpu;
	t->end_cpu = end_cpu;
	t->known |= known[0] * BLKLAT_SLOW_SECTOR | known[1] * BLKLAT_SLOW_QUEUE | known[2] * BLKLAT_SLOW_START_CPU;
	return true;
}

static bool column_text_or_null(sqlite3_stmt *s, int i, char *ret, size_t room, bool *ret_known)
{
	*ret = '\0';
	*ret_known = sqlite3_column_type(s, i) != SQLITE_NULL;
	return !*ret_known || column_text(s, i, ret, room);
}

static bool take_sender(sqlite3_stmt *s, struct blklat_slow *t)
{
	bool named, sent, told, thread = false;
	u64 pid, is_thread;

	if (!column_known(s, SLOW_pid, UINT32_MAX, &pid, &sent) || !column_known(s, SLOW_kernel_thread, 1, &is_thread, &told) ||
	    !column_text_or_null(s, SLOW_comm, t->comm, sizeof(t->comm), &named) || sent != told || sent != named)
		return false;
	thread = is_thread;
	t->submitter = pid;
	t->known |= sent * BLKLAT_SLOW_SUBMITTER | thread * BLKLAT_SLOW_KERNEL_THREAD;
	return true;
}

/* Reads a part's label as its number: 0 if it is NULL. */
static bool column_part(sqlite3_stmt *s, int i, enum blklat_by by, u8 *ret)
{
	char label[32];
	bool known;

	if (!column_text_or_null(s, i, label, sizeof(label), &known))
		return false;
	*ret = slow_part_number(by, label);
	return known == !!*ret;
}

/* The depth includes the IO itself, so it is never 0. */
static bool take_neighbours(sqlite3_stmt *s, struct blklat_slow *t)
{
	bool known;
	u64 depth;

	if (!column_known(s, SLOW_depth, UINT32_MAX, &depth, &known) || known != !!depth)
		return false;
	t->depth = depth;
	return column_part(s, SLOW_beside, BLKLAT_BY_BESIDE, &t->beside) && column_part(s, SLOW_flags, BLKLAT_BY_FLAGS, &t->flags);
}

/* Takes an IO, except for its cgroup, which the caller gets in @ret_cgroup if there is one. */
static bool take_io(struct recording_reader *r, struct slow_io *io, char ret_cgroup[RECORDING_CGROUP_BYTES], bool *ret_charged)
{
	sqlite3_stmt *s = r->slow_rows;
	char error[32];
	bool failed;

	*io = (struct slow_io){ 0 };
	if (!column_watch(r, s, SLOW_watch, &io->watch) || !column_wall_ns(s, SLOW_end_wall_ns, &io->end_ns) || !take_latencies(s, &io->told) ||
	    !take_place(s, &io->told) || !take_sender(s, &io->told) || !column_text_or_null(s, SLOW_error, error, sizeof(error), &failed) ||
	    !column_text_or_null(s, SLOW_cgroup, ret_cgroup, RECORDING_CGROUP_BYTES, ret_charged) ||
	    !take_neighbours(s, &io->told))
		return false;
	io->told.error = failed ? slow_error_named(error) : 0;
	io->part = r->watches[io->watch].part;
	while (r->watches[io->watch].part)
		io->watch--;
	return true;
}

static int take_slow(struct recording_reader *r, struct problem *p)
{
	char cgroup[RECORDING_CGROUP_BYTES];
	struct slow_io io;
	bool charged;
	int err;

	if (!take_io(r, &io, cgroup, &charged))
		return reader_damaged(r, p, "a slow IO of interval %lld is invalid", r->id);
	r->slow_bytes += sizeof(io) + (charged ? strlen(cgroup) : 0);
	if (r->slow_bytes > r->slow_bytes_most)
		return problem_set(p, -E2BIG, "%s: the slow IOs of interval %lld take more memory than they may: raise --max-memory",
				   r->file, r->id);
	io.cgroup = charged ? strdup(cgroup) : NULL;
	err = charged && !io.cgroup ? -ENOMEM : slow_ios_add(&r->slow, &io);
	return err ? problem_set(p, err, "out of memory") : next_slow(r, p);
}

static int take_found(struct recording_reader *r)
{
	u64 found;
	u32 watch;

	if (!column_watch(r, r->slow_found, SLOW_FOUND_watch, &watch) || r->watches[watch].part ||
	    !column_u64(r->slow_found, SLOW_FOUND_found, RECORDING_COUNT_MAX, &found) || found < r->slow.of[watch].found)
		return -EBADMSG;
	r->slow.of[watch].found = found;
	return 0;
}

int reader_take_slow(struct recording_reader *r, struct problem *p)
{
	int err = 0;

	if (!r->slow_most)
		return 0;
	slow_ios_clear(&r->slow);
	r->slow_bytes = 0;
	while (!err && r->slow_left && r->slow_interval == r->id)
		err = take_slow(r, p);
	while (!err && r->found_left && r->found_key >> 16 == r->id)
		err = take_found(r) ? reader_damaged(r, p, "the slow IOs of interval %lld do not match its count", r->id) : next_found(r, p);
	slow_ios_sort(&r->slow);
	if (!err && ((r->slow_left && r->slow_interval < r->id) || (r->found_left && r->found_key >> 16 < r->id)))
		err = reader_damaged(r, p, "it has slow IOs before interval %lld that belong to no interval", r->id);
	return err;
}

int reader_end_slow(struct recording_reader *r, struct problem *p)
{
	if (r->slow_left || r->found_left)
		return reader_damaged(r, p, "it has slow IOs after interval %lld that belong to no interval", r->id);
	return 0;
}
