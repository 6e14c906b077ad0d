/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink: where frames go. Every hook is required. Sinks write to the stream they are given and never look at an
 * engine; a failed write is a negative errno. Each kind of sink has its own function that opens it.
 */
#ifndef CORE_SINK_H
#define CORE_SINK_H

#include "core/frame.h"
#include "core/origin.h"

/* What holds for the whole run. Borrowed by the sink until its close returns. */
struct run_info {
	const char *version;
	const char *engine;
	/*
	 * A frame's watch is in this list, always in the same place. Watches that come later are added behind the
	 * others, up to most_watches.
	 */
	const struct watch *watches;
	u32 n_watches, most_watches;
	const struct device_table *devices;	/* contains the watches' devices */
	const struct origin *origin;	/* NULL: nothing is known besides the above */
	u32 slow_most;			/* the most slow IOs reported for a watch and interval; 0: none */
	bool glanced;			/* as in struct capture */
	u32 cpus;			/* slack of the accounting, see accounting_make() */
	u32 scale;
	u64 memory_bytes;
	double interval_s;		/* as asked for */
	struct percentiles percentiles;
};

/* For arrays with an element for each watch; most elements are never touched, see sparse_calloc(). */
static inline u32 run_most_watches(const struct run_info *run)
{
	return run->most_watches > run->n_watches ? run->most_watches : run->n_watches;
}

struct sink {
	const struct sink_ops *ops;
};

struct sink_ops {
	/* Takes one interval of every watch, idle ones too. Flushes, so that the reader of a pipe sees it at once. */
	int (*interval)(struct sink *s, const struct frames *interval);
	/* The whole run, once, after the last interval. */
	int (*summary)(struct sink *s, const struct frames *run);
	void (*close)(struct sink *s);
};

/* Takes NULL. */
void sink_close(struct sink *s);

struct capture;

/*
 * Makes a sink's run_info from an open capture. @interval_s is the interval asked for; a recording's own takes
 * precedence. Pointers are borrowed from @c. The caller fills in the version and the percentiles.
 */
struct run_info run_info_of(const struct capture *c, double interval_s);

#endif
