// SPDX-License-Identifier: GPL-2.0-only
/* Takes the slow IOs of a recording, see reader.h. */
#include <errno.h>
#include <string.h>

#include "recording/reader.h"
#include "recording/schema.h"
#include "recording/sqlite.h"

#define LABEL_BYTES 32		/* of an error or a part */

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
static bool take_io(struct recording_reader *r, sqlite3_stmt *s, struct slow_io *io,
		    char ret_cgroup[RECORDING_CGROUP_BYTES])
{
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

int reader_take_slow(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	char cgroup[RECORDING_CGROUP_BYTES];
	struct slow_io io;
	int err;

	if (!take_io(r, s, &io, cgroup))
		return 1;
	r->slow_bytes += sizeof(io) + strlen(cgroup);
	if (r->slow_bytes > r->slow_bytes_most)
		return problem_set(p, -E2BIG, "%s: the slow IOs of interval %lld exceed their share of the memory limit: raise --max-memory",
				   r->file, r->id);
	io.cgroup = *cgroup ? strdup(cgroup) : NULL;
	err = *cgroup && !io.cgroup ? -ENOMEM : slow_ios_add(&r->slow, &io);
	return err ? problem_set(p, err, "%s: out of memory", r->file) : 0;
}

int reader_take_slow_found(struct recording_reader *r, sqlite3_stmt *s, struct problem *p)
{
	u64 found;
	u32 watch;

	(void)p;
	if (!column_watch(r, s, SLOW_FOUND_watch, &watch) || r->watches[watch].part ||
	    !column_u64(s, SLOW_FOUND_found, RECORDING_COUNT_MAX, &found) || found < r->slow.of[watch].found)
		return 1;
	r->slow.of[watch].found = found;
	return 0;
}
