// SPDX-License-Identifier: GPL-2.0-only
#include "core/slow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/snapshot.h"
#include "util/array.h"

#define ROOM 8192		/* from here on, drop IOs beyond the limit before the list grows */
#define ROOM_MOST (1 << 18)	/* the list never gets larger */

int slow_ios_init(struct slow_ios *s, u32 n_watches, u32 most)
{
	*s = (struct slow_ios){ .most = most, .n_watches = n_watches, .of = calloc(n_watches, sizeof(*s->of)) };
	return s->of ? 0 : -ENOMEM;
}

static void drop(struct slow_io *io)
{
	part_keep(&io->part, NULL);
	free(io->cgroup);
}

static void drop_all(struct slow_ios *s)
{
	while (s->n)
		drop(&s->io[--s->n]);
}

void slow_ios_uninit(struct slow_ios *s)
{
	drop_all(s);
	free(s->io);
	free(s->of);
	*s = (struct slow_ios){ 0 };
}

void slow_ios_clear(struct slow_ios *s)
{
	drop_all(s);
	s->full = false;
	memset(s->of, 0, s->n_watches * sizeof(*s->of));
}

static int make_room(struct slow_ios *s)
{
	u32 room;

	if (s->n < s->room || s->full)
		return 0;
	if (s->room >= ROOM) {
		slow_ios_sort(s);
		if (s->n < s->room / 2)
			return 0;
	}
	/* Otherwise each new IO would sort the list again. */
	s->full = s->room >= ROOM_MOST;
	if (s->full)
		return 0;
	room = s->room ? 2 * s->room : 64;
	if (array_grow(&s->io, sizeof(*s->io), room))
		return s->n < s->room ? 0 : -ENOMEM;
	s->room = room;
	return 0;
}

int slow_ios_add(struct slow_ios *s, const struct slow_io *io)
{
	struct slow_io *to;
	int err = make_room(s);

	s->of[io->watch].found++;
	if (err || s->n == s->room)
		return err;
	to = &s->io[s->n];
	*to = *io;
	to->cgroup = io->cgroup ? strdup(io->cgroup) : NULL;
	if (io->cgroup && !to->cgroup)
		return -ENOMEM;
	s->n++;
	to->part = NULL;
	part_keep(&to->part, io->part);
	if (io->told.file_dev)
		snprintf(to->file_device, sizeof(to->file_device), "%u:%u", io->told.file_dev >> 20,
			 io->told.file_dev & 0xfffff);
	return 0;
}

int slow_ios_copy(struct slow_ios *to, u32 watch, const struct slow_ios *from, const struct slow_of *of)
{
	int err = 0;

	for (u32 i = 0; i < of->n; i++) {
		struct slow_io io = from->io[of->first + i];

		io.watch = watch;
		err = slow_ios_add(to, &io) ?: err;
	}
	to->of[watch].found += of->found - of->n;
	return err;
}

static int compare(const void *of_a, const void *of_b)
{
	const struct slow_io *a = of_a, *b = of_b;

	if (a->watch != b->watch)
		return a->watch < b->watch ? -1 : 1;
	if (!a->told.error != !b->told.error)
		return a->told.error ? -1 : 1;
	if (a->told.latency_ns != b->told.latency_ns)
		return a->told.latency_ns > b->told.latency_ns ? -1 : 1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

void slow_ios_sort(struct slow_ios *s)
{
	u32 kept = 0;

	if (s->n)
		qsort(s->io, s->n, sizeof(*s->io), compare);
	for (u32 i = 0; i < s->n_watches; i++)
		s->of[i].n = 0;
	for (u32 i = 0; i < s->n; i++) {
		struct slow_of *of = &s->of[s->io[i].watch];

		if (of->n == s->most) {
			drop(&s->io[i]);
			continue;
		}
		if (!of->n++)
			of->first = kept;
		s->io[kept++] = s->io[i];
	}
	s->n = kept;
}

#define OTHER 10

/*
 * include/linux/blk_types.h and blk_errors[] of block/blk-core.c; the numbers after these have changed between kernels.
 */
static const struct {
	const char *name;
	s32 of_errno;
} statuses[SLOW_ERRORS] = {
	[1] = { "not supported", -EOPNOTSUPP },
	[2] = { "timeout", -ETIMEDOUT },
	[3] = { "no space", -ENOSPC },
	[4] = { "transport", -ENOLINK },
	[5] = { "target", -EREMOTEIO },
	[6] = { "reservation conflict", -EBADE },
	[7] = { "medium", -ENODATA },
	[8] = { "protection", -EILSEQ },
	[9] = { "no memory", -ENOMEM },
	[OTHER] = { "I/O", -EIO },
};

s32 slow_error_named(const char *name)
{
	for (u32 i = 1; i < SLOW_ERRORS; i++)
		if (!strcmp(statuses[i].name, name))
			return i;
	return OTHER;
}

u32 slow_error_number(s32 error)
{
	if (error >= 0 && error < SLOW_ERRORS)
		return error;
	for (u32 i = 1; i < SLOW_ERRORS; i++)
		if (statuses[i].of_errno == error)
			return i;
	return OTHER;
}

const char *slow_error_name(u32 number)
{
	return statuses[number].name;
}

const char *slow_error(s32 error)
{
	return slow_error_name(slow_error_number(error));
}

const char *slow_part_label(enum blklat_by by, u8 number)
{
	return number ? part_numbered(by, number)->label : NULL;
}

const char *slow_pages_name(u8 pages)
{
	static const char *const names[BLKLAT_PAGES_KINDS] = {
		[BLKLAT_PAGES_DIRECT] = "direct", [BLKLAT_PAGES_FILE] = "file", [BLKLAT_PAGES_DEVICE] = "device",
	};

	return pages < BLKLAT_PAGES_KINDS ? names[pages] : NULL;
}

#define TIME_MOST (1ULL << 62)
#define FIELD(key, is, member, ...) { .name = #key, .kind = SLOW_KIND_##is, \
	.offset = offsetof(struct blklat_slow, member), .size = sizeof(((struct blklat_slow *)0)->member), __VA_ARGS__ }

const struct slow_field slow_io_fields[SLOW_FIELDS] = {
	FIELD(latency_ns, NUMBER, latency_ns, .most = TIME_MOST),
	FIELD(queue_ns, NOT_0, queue_ns, .most = TIME_MOST),
	FIELD(device_ns, NOT_0, device_ns, .most = TIME_MOST),
	FIELD(op, OP, op, .most = BLKLAT_OPS - 1),
	FIELD(bytes, NUMBER, bytes, .most = UINT32_MAX),
	FIELD(sector, NUMBER, sector, .known = BLKLAT_SLOW_SECTOR, .most = 1ULL << 55),
	FIELD(error, ERROR, error),
	FIELD(hw_queue, NUMBER, hw_queue, .known = BLKLAT_SLOW_QUEUE, .most = UINT16_MAX),
	FIELD(start_cpu, NUMBER, start_cpu, .known = BLKLAT_SLOW_START_CPU, .most = UINT16_MAX),
	FIELD(end_cpu, NUMBER, end_cpu, .most = UINT16_MAX),
	FIELD(pid, NUMBER, submitter, .known = BLKLAT_SLOW_SUBMITTER, .most = UINT32_MAX),
	FIELD(comm, TEXT, comm, .known = BLKLAT_SLOW_SUBMITTER),
	FIELD(kernel_thread, BOOL, known, .known = BLKLAT_SLOW_SUBMITTER, .of = BLKLAT_SLOW_KERNEL_THREAD, .most = 1),
	FIELD(cgroup, CGROUP, cgroup),
	FIELD(depth, NOT_0, depth, .most = UINT32_MAX),
	FIELD(beside, PART, beside, .of = BLKLAT_BY_BESIDE),
	FIELD(flags, PART, flags, .of = BLKLAT_BY_FLAGS),
	FIELD(pages, PAGES, pages),
	FIELD(file_device, DEVICE, file_dev),
	FIELD(inode, NOT_0, inode, .most = INT64_MAX),
	FIELD(file, TEXT, names, .known = BLKLAT_SLOW_FILE),
};

const struct slow_field *slow_field_named(const char *name)
{
	for (u32 i = 0; i < SLOW_FIELDS; i++)
		if (!strcmp(slow_io_fields[i].name, name))
			return &slow_io_fields[i];
	return NULL;
}

/* Numbers lie in memory with their lowest byte first. */
static u64 number_of(const struct slow_io *io, const struct slow_field *f)
{
	u64 n = 0;

	memcpy(&n, (const char *)&io->told + f->offset, f->size < sizeof(n) ? f->size : sizeof(n));
	return n;
}

static const char *text_of(const struct slow_io *io, const struct slow_field *f, u64 n)
{
	switch (f->kind) {
	case SLOW_KIND_OP:
		return op_names[n];
	case SLOW_KIND_ERROR:
		return slow_error(n);
	case SLOW_KIND_PART:
		return slow_part_label(f->of, n);
	case SLOW_KIND_TEXT:
		return (const char *)&io->told + f->offset;
	case SLOW_KIND_CGROUP:
		return io->cgroup;
	case SLOW_KIND_PAGES:
		return slow_pages_name(n);
	case SLOW_KIND_DEVICE:
		return io->file_device[0] ? io->file_device : NULL;
	default:
		return NULL;
	}
}

struct slow_value slow_value(const struct slow_io *io, const struct slow_field *f)
{
	struct slow_value v = { .n = number_of(io, f) };

	if (f->known && !(io->told.known & f->known))
		return (struct slow_value){ 0 };
	if (f->kind == SLOW_KIND_BOOL)
		v.n = !!(v.n & f->of);
	v.text = text_of(io, f, v.n);
	v.known = f->kind == SLOW_KIND_NOT_0 ? v.n : f->kind <= SLOW_KIND_BOOL || v.text;
	return v;
}
