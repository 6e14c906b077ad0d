/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink: where frames go. Every hook is required. Sinks write to the stream they are given and
 * never look at an engine; a failed write is a negative errno.
 */
#ifndef SINK_H
#define SINK_H

#include <stdio.h>

#include "core/frame.h"
#include "core/origin.h"

/* What is true for the whole run. Borrowed by the sink until its close returns. */
struct run_info {
	const char *version;
	const char *engine;
	const struct watch *watches;
	u32 n_watches;
	const struct device_table *devices;	/* that the watches' devices are in */
	const struct origin *origin;	/* NULL where nothing is known but the above */
	u32 cpus;			/* slack of the accounting, see account() */
	u32 scale;
	u64 memory_bytes;
	double interval_s;		/* as asked */
	struct percentiles percentiles;
};

struct prometheus;
struct poster;
struct relay;

struct sink_config {
	FILE *out;
	bool bins;			/* json, csv: every bin too */
	bool colour;
	bool utf8;
	int columns;			/* width of the terminal, 80 when it is none */
	struct prometheus *prometheus;	/* of service/prometheus.h: the totals to add to; other sinks ignore it */
	struct poster *poster;		/* of service/sink.h: where to post; the same */
	struct relay *relay;		/* of service/relay.h: whom to tell; the same */
};

struct sink {
	const struct sink_ops *ops;
};

struct sink_ops {
	const char *name;		/* as --format takes it */
	/* Returns 0 or a negative errno. Both arguments outlive the sink. */
	int (*open)(const struct run_info *run, const struct sink_config *cfg, struct sink **ret);
	/* One interval of every watch, idle ones too. Flushes, so that a pipe sees it at once. */
	int (*interval)(struct sink *s, const struct frames *interval);
	/* The whole run, once, after the last interval (machine formats write nothing here). */
	int (*summary)(struct sink *s, const struct frames *run);
	void (*close)(struct sink *s);	/* takes NULL */
};

extern const struct sink_ops sink_text;
extern const struct sink_ops sink_json;
extern const struct sink_ops sink_csv;

extern const struct sink_ops *const sink_formats[];	/* ended by NULL */

#endif
