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
#define LABEL_BYTES 32		/* of an error or a part */

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

/* Sets a field that is known. Returns false if it can't have this value. */
static bool set_field(struct blklat_slow *t, const struct slow_field *f, u64 n, const char *text)
{
	const struct part *part;

	t->known |= f->known;
	switch (f->kind) {
	case SLOW_KIND_BOOL:
		t->known |= n ? f->of : 0;
		return true;
	case SLOW_KIND_CGROUP:
		return true;
	case SLOW_KIND_ERROR:
		n = slow_error_named(text);
		break;
	case SLOW_KIND_PART:
		part = part_find(by_names[f->of], text);
		n = part ? part->number : 0;
		break;
	default:
		break;
	}
	memcpy((char *)t + f->offset, f->kind == SLOW_KIND_TEXT ? text : (const char *)&n, f->size);
	return n || (f->kind != SLOW_KIND_NOT_0 && f->kind != SLOW_KIND_PART);
}

/* @text has room for a cgroup's path. @unknown: the bits of blklat_slow.known whose fields are NULL. */
static bool take_field(sqlite3_stmt *s, u32 i, struct blklat_slow *t, char *text, u8 *unknown)
{
	const struct slow_field *f = &slow_io_fields[i];
	size_t room = f->kind == SLOW_KIND_CGROUP ? RECORDING_CGROUP_BYTES :
		      f->kind == SLOW_KIND_TEXT ? f->size : LABEL_BYTES;
	int column = SLOW_latency_ns + i;
	u64 n = 0;

	if (sqlite3_column_type(s, column) == SQLITE_NULL) {
		*unknown |= f->known;
		return f->known || (f->kind != SLOW_KIND_NUMBER && f->kind != SLOW_KIND_OP);
	}
	if (f->kind <= SLOW_KIND_BOOL ? !column_u64(s, column, f->most, &n) : !column_text(s, column, text, room))
		return false;
	return set_field(t, f, n, text);
}

/* Takes an IO, except for its cgroup, which the caller gets in @ret_cgroup if there is one, else "". */
static bool take_io(struct recording_reader *r, struct slow_io *io, char ret_cgroup[RECORDING_CGROUP_BYTES])
{
	sqlite3_stmt *s = r->slow_rows;
	char text[RECORDING_CGROUP_BYTES] = "";
	u8 unknown = 0;

	*io = (struct slow_io){ 0 };
	*ret_cgroup = '\0';
	if (!column_watch(r, s, SLOW_watch, &io->watch) || !column_wall_ns(s, SLOW_end_wall_ns, &io->end_ns))
		return false;
	for (u32 i = 0; i < SLOW_FIELDS; i++) {
		bool cgroup = slow_io_fields[i].kind == SLOW_KIND_CGROUP;

		if (!take_field(s, i, &io->told, cgroup ? ret_cgroup : text, &unknown))
			return false;
	}
	io->part = r->watches[io->watch].part;
	while (r->watches[io->watch].part)
		io->watch--;
	return !(io->told.known & unknown);
}

static int take_slow(struct recording_reader *r, struct problem *p)
{
	char cgroup[RECORDING_CGROUP_BYTES];
	struct slow_io io;
	int err;

	if (!take_io(r, &io, cgroup))
		return reader_damaged(r, p, "a slow IO of interval %lld is invalid", r->id);
	r->slow_bytes += sizeof(io) + strlen(cgroup);
	if (r->slow_bytes > r->slow_bytes_most)
		return problem_set(p, -E2BIG, "%s: the slow IOs of interval %lld take more memory than they may: raise --max-memory",
				   r->file, r->id);
	io.cgroup = *cgroup ? strdup(cgroup) : NULL;
	err = *cgroup && !io.cgroup ? -ENOMEM : slow_ios_add(&r->slow, &io);
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
