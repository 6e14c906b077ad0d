/* SPDX-License-Identifier: GPL-2.0-only */
/* Slow IOs, and those that failed, each by itself: what is wanted of them, and what an interval had. */
#ifndef CORE_SLOW_H
#define CORE_SLOW_H

#include "blklat/slow.h"
#include "core/part.h"

#define SLOW_MOST 100		/* of a device and stage in an interval, unless the user says otherwise */

struct slow_wanted {
	bool wanted;
	u64 from_ns;		/* an IO that took so long is slow; 0: one above the percentile */
	double q;		/* of the last SLOW_INTERVALS intervals, see slow_limits.h */
	u32 most;		/* of a watch and interval: those that failed come first, then the slowest */
	bool no_owners;		/* neither process nor cgroup */
};

struct slow_io {
	struct blklat_slow told;	/* but its watch */
	u32 watch;		/* number of the whole's in the run */
	const struct part *part;	/* that it is in; NULL: the whole has none */
	s64 end_ns;		/* CLOCK_REALTIME */
	char *cgroup;		/* path of who is charged for it, malloc'ed; NULL: not known, or gone */
};

/* Those of one interval. */
struct slow_ios {
	u32 most;
	u32 n_watches;
	u32 n, room;
	bool full;		/* no more are held, only counted */
	struct slow_io *io;	/* once sorted: by watch, and as slow_wanted.most says */
	struct slow_of {
		u32 first, n;
		u64 found;	/* with those that are not among the @n */
	} *of;			/* [watch], of wholes */
};

/* Returns 0 or -ENOMEM. slow_ios_uninit() takes one that is all 0. */
int slow_ios_init(struct slow_ios *s, u32 n_watches, u32 most);
void slow_ios_uninit(struct slow_ios *s);

void slow_ios_clear(struct slow_ios *s);

/*
 * Adds one, whose cgroup is the list's from here on, and counts it as found. Returns 0; or -ENOMEM, and it is no more than counted, as
 * are those for which a list that has grown very large has no room.
 */
int slow_ios_add(struct slow_ios *s, const struct slow_io *io);

/* Some of a list: those that ended behind @after_ns (0: any) and up to @until_ns (CLOCK_MONOTONIC), and as many found as it did not keep, if @dropped. */
struct slow_span {
	u64 after_ns, until_ns;
	bool dropped;
};
#define SLOW_ALL ((struct slow_span){ 0, UINT64_MAX, true })

/* Adds those of @from to @to, whose number of a watch is @numbers' of @from's. @from is empty then. Returns 0 or -ENOMEM. */
int slow_ios_move(struct slow_ios *to, struct slow_ios *from, const u32 *numbers, struct slow_span span);

/* The same of copies, of all of @from. */
int slow_ios_copy(struct slow_ios *to, const struct slow_ios *from, const u32 *numbers);

/* Puts them in order, and leaves out what is too many. */
void slow_ios_sort(struct slow_ios *s);

/*
 * The name of what an IO failed with, as the kernel's own names of a blk_status_t are: "medium", "timeout", "transport", ...;
 * "I/O" for the one that says no more, and for those whose numbers kernels do not agree on. 0 is NULL. Before Linux 5.16
 * tracepoints have an errno instead, of which each status has its own (blk_status_to_errno()).
 */
const char *slow_error(s32 error);

/* The same as numbers, so that they can be counted: 0 is none, all others are below SLOW_ERRORS and have a name. */
#define SLOW_ERRORS 11
u32 slow_error_number(s32 error);
const char *slow_error_name(u32 number);

/* A blk_status_t that has that name; that of "I/O" for any other. */
s32 slow_error_named(const char *name);

#endif
