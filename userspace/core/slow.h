/* SPDX-License-Identifier: GPL-2.0-only */
/* Slow and failed IOs, one by one: which are wanted, and those of an interval. */
#ifndef CORE_SLOW_H
#define CORE_SLOW_H

#include "blklat/parts.h"
#include "blklat/slow.h"
#include "core/part.h"

#define SLOW_DEVICE_BYTES 16
#define SLOW_MOST 100		/* slow_wanted.most unless the user says otherwise */

struct slow_wanted {
	bool wanted;
	u64 from_ns;		/* an IO that takes at least this long is slow; 0: decide by the percentile */
	double q;		/* the percentile, of the last SLOW_INTERVALS intervals, see slow_limits_follow() */
	u32 most;		/* most for a watch and interval: failed IOs first, then the slowest */
	bool no_owners;		/* report neither process nor cgroup */
};

struct slow_io {
	struct blklat_slow told;	/* its watch is not used */
	u32 watch;		/* number of the whole in the run */
	const struct part *part;	/* the part that it is in, kept in a list; NULL: the whole has no parts */
	s64 end_ns;		/* CLOCK_REALTIME */
	char file_device[SLOW_DEVICE_BYTES];	/* "8:1", of told.file_dev; "": not known */
	char *cgroup;		/* cgroup charged for it, malloc'ed; NULL: unknown, or gone */
};

/* The slow IOs of one interval. */
struct slow_ios {
	u32 most;
	u32 n_watches;
	u32 n, room;
	bool full;		/* further IOs are only counted */
	struct slow_io *io;	/* once sorted: by watch, then failed IOs first, then the slowest */
	struct slow_of {
		u32 first, n;
		u64 found;	/* including those that are not among the @n */
	} *of;			/* [watch], of wholes */
};

/* Returns 0 or -ENOMEM. slow_ios_uninit() also works on a list that is all 0. */
int slow_ios_init(struct slow_ios *s, u32 n_watches, u32 most);
void slow_ios_uninit(struct slow_ios *s);

void slow_ios_clear(struct slow_ios *s);

/*
 * Adds an IO, with a copy of its cgroup, and counts it as found. Sets its file_device. Returns 0, or -ENOMEM if the IO
 * was only counted. If the list is already very large, the IO is also only counted.
 */
int slow_ios_add(struct slow_ios *s, const struct slow_io *io);

/* Adds copies of the IOs of @of in @from to @to, as those of @watch. Returns 0 or -ENOMEM. */
int slow_ios_copy(struct slow_ios *to, u32 watch, const struct slow_ios *from, const struct slow_of *of);

/* Sorts the list, and drops IOs beyond the limit. */
void slow_ios_sort(struct slow_ios *s);

/*
 * The name of an IO's error, like the kernel's own names of a blk_status_t: "medium", "timeout", "transport", ...;
 * "I/O" for the status that says no more, and for those whose numbers differ between kernels. NULL for 0. Before
 * Linux 5.16 tracepoints have an errno instead; each status has its own (blk_status_to_errno()).
 */
const char *slow_error(s32 error);

/* Errors as numbers, so that they can be counted: 0 is no error; all others are below SLOW_ERRORS and have a name. */
#define SLOW_ERRORS 11
u32 slow_error_number(s32 error);
const char *slow_error_name(u32 number);

/* The blk_status_t with this name; that of "I/O" if there is none. */
s32 slow_error_named(const char *name);

/*
 * The label of a part that an IO has as a number, whatever divides its watch: blklat_slow.beside by beside, .flags by
 * flags. "flush", "metadata"; NULL for 0.
 */
const char *slow_part_label(enum blklat_by by, u8 number);

/* What the memory of an IO is, as pages: "file", "direct"; NULL for 0, and out of range. */
const char *slow_pages_name(u8 pages);

/* --- its fields --- */

enum slow_kind {
	SLOW_KIND_NUMBER,
	SLOW_KIND_NOT_0,	/* 0: not known */
	SLOW_KIND_OP,
	SLOW_KIND_BOOL,		/* a bit of blklat_slow.known */
	SLOW_KIND_ERROR,
	SLOW_KIND_PART,		/* a part's number, see slow_part_label() */
	SLOW_KIND_TEXT,		/* of blklat_slow */
	SLOW_KIND_CGROUP,	/* slow_io.cgroup */
	SLOW_KIND_PAGES,	/* enum blklat_pages */
	SLOW_KIND_DEVICE,	/* slow_io.file_device */
};

/* A field, under the name that it has in JSON and in recordings. */
struct slow_field {
	const char *name;
	enum slow_kind kind;
	u32 offset, size;	/* in struct blklat_slow */
	u8 known;		/* the bit of blklat_slow.known that it needs; 0: none, or its kind says */
	u8 of;			/* a bool's bit, or what a part is a part by */
	u64 most;		/* limit of a number */
};

/* In the order of a recording's columns. Does not include when, on which watch and in which part an IO completed. */
#define SLOW_FIELDS 21
extern const struct slow_field slow_io_fields[SLOW_FIELDS];

/* The field of this name; NULL: there is none. */
const struct slow_field *slow_field_named(const char *name);

struct slow_value {
	bool known;		/* else the rest is 0 */
	u64 n;
	const char *text;	/* NULL: it is a number or a bool */
};
struct slow_value slow_value(const struct slow_io *io, const struct slow_field *f);

#endif
