/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of /api/stream, as their JSON and as what is sent (server-sent events: "id", "event", "data",
 * an empty line). docs/serve.md has their keys.
 */
#ifndef SERVICE_EVENT_H
#define SERVICE_EVENT_H

#include "core/health.h"
#include "core/sink.h"
#include "util/blob.h"

struct event_interval {
	const char *boot;		/* tells this process's numbers from another's */
	u64 number;
	double end_s;			/* since the start */
	const struct run_info *run;	/* of which the frames are */
	const struct health *health;	/* of each frame; NULL: not known */
};

/* An interval of every watch in @frames, of parts those that had IOs. NULL when there is no memory. */
struct blob *event_interval(const struct frames *frames, const struct event_interval *at);

struct event_run {
	const struct run_info *run;
	const struct frames *frames;	/* whose devices are described */
	s64 start_ns;			/* CLOCK_REALTIME */
	double history_s;
};

/* What an interval does not tell: where it comes from, and its devices. NULL when there is no memory. */
struct blob *event_run(const struct event_run *e);

#endif
