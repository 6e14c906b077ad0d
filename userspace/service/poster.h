/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sink that posts on a board: each interval as JSON, made once for all readers; the devices
 * whenever they change; and losses.
 */
#ifndef SERVICE_POSTER_H
#define SERVICE_POSTER_H

#include "core/health.h"
#include "core/sink.h"
#include "service/board.h"
#include "util/blob.h"

/* Must outlive its sink. */
struct poster {
	struct sink_source source;
	struct board *board;
	double history_s;
	bool bins;			/* /api/snapshot has every bin, as with --bins */
	char boot[24];			/* of poster_init() */
	u64 start_mono_ns;
	u64 end_mono_ns;		/* of the interval that is posted next; 0: now */
	s64 start_wall_ns;
};

void poster_init(struct poster *p, struct board *board, double history_s, bool bins);

/*
 * The events of /api/stream, as JSON and in the form in which they are sent (server-sent events: "id",
 * "event", "data", an empty line). docs/serve.md describes their keys.
 */

struct event_interval {
	const char *boot;		/* distinguishes this process's numbers from another's */
	u64 number;
	double end_s;			/* since the start */
	const struct run_info *run;	/* the frames' run */
	const struct health *health;	/* of each frame; NULL: not known */
};

/* An interval: every whole in @frames, and every part that had IOs. NULL if there is no memory. */
struct blob *event_interval(const struct frames *frames, const struct event_interval *at);

struct event_run {
	const struct run_info *run;
	const struct frames *frames;	/* whose devices are described */
	s64 start_ns;			/* CLOCK_REALTIME */
	double history_s;
};

/* What intervals don't contain: where they come from, and their devices. NULL if there is no memory. */
struct blob *event_run(const struct event_run *e);

#endif
