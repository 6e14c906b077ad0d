// SPDX-License-Identifier: GPL-2.0-only
/* Writes slow IOs as rows, see rows.h. */
#include <string.h>

#include "recording/rows.h"
#include "recording/schema.h"
#include "recording/sqlite.h"
#include "util/utf8.h"

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
static u32 watch_of(const struct run_info *run, u32 whole, const struct slow_io *io)
{
	for (u32 i = whole + 1; io->part && i < run->n_watches && run->watches[i].part; i++)
		if (run->watches[i].part == io->part)
			return i;
	return whole;
}

static int put_slow(struct recording_rows *r, s64 id, const struct run_info *run, u32 whole, const struct slow_io *io)
{
	struct sqlite_value *values = VALUES([SLOW_interval] = NUMBER(id), [SLOW_n] = NUMBER(r->n_slow++),
					     [SLOW_end_wall_ns] = NUMBER(io->end_ns));
	u32 watch;
	int rc = recording_rows_id(r, run, watch_of(run, whole, io), &watch);

	if (rc)
		return rc;
	values[SLOW_watch] = NUMBER(watch);
	for (u32 i = 0; i < SLOW_FIELDS; i++) {
		const struct slow_value v = slow_value(io, &slow_io_fields[i]);
		bool text = v.text && slow_io_fields[i].kind != SLOW_KIND_OP;

		values[SLOW_latency_ns + i] = !v.known ? NONE : text ? TEXT(v.text) : NUMBER(v.n);
	}
	values[SLOW_cgroup] = TEXT(end_of(io->cgroup));
	return sqlite_put_row(r->slow, values);
}

static int put_found(struct recording_rows *r, s64 id, u32 watch, u64 found)
{
	return sqlite_put_row(r->slow_found,
			      VALUES([SLOW_FOUND_interval] = NUMBER(id), [SLOW_FOUND_watch] = NUMBER(watch),
				     [SLOW_FOUND_found] = NUMBER(found)));
}

int recording_rows_slow(struct recording_rows *r, s64 id, const struct run_info *run, const struct frames *is)
{
	int rc = SQLITE_OK;

	for (u32 i = 0; !rc && i < is->n; i++) {
		const struct slow_of *of = is->f[i].slow;
		u32 whole = is->f[i].watch - run->watches;

		for (u32 n = 0; !rc && of && n < of->n; n++)
			rc = put_slow(r, id, run, whole, &is->slow->io[of->first + n]);
		if (!rc && of && of->found)
			rc = put_found(r, id, r->known->watches[whole], of->found);
	}
	return rc;
}
