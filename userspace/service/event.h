/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events of /api/stream, as JSON and in the form in which they are sent (server-sent events: "id",
 * "event", "data", an empty line). docs/serve.md describes their keys.
 */
#ifndef SERVICE_EVENT_H
#define SERVICE_EVENT_H

#include "core/health.h"
#include "core/sink.h"
#include "util/blob.h"

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
