/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits for the events of a service between its intervals. */
#ifndef SERVICE_WAIT_H
#define SERVICE_WAIT_H

#include <signal.h>

#include "util/types.h"

enum service_event {
	EVENT_TIME,		/* the deadline has come */
	EVENT_END,		/* SIGINT, SIGTERM, or the lifeline has ended */
	EVENT_RELOAD,		/* SIGHUP */
	EVENT_DEVICES,		/* the kernel reported block devices */
	EVENT_SCOUT,		/* a look is done */
};

struct service_wait {
	int signals;		/* a signalfd */
	int uevents;		/* -1: not available */
	int scout;		/* -1: none */
	int lifeline;		/* -1: none */
	bool gone;		/* with EVENT_DEVICES: one may have gone, see uevents_take() */
};

int service_wait_init(struct service_wait *w, int lifeline, bool uevents);
void service_wait_uninit(struct service_wait *w);

/* Blocks the signals that service_wait() takes, in the calling thread. */
void service_wait_block(void);

/* The signals among them that end the service. */
void service_wait_signals_of_end(sigset_t *ret);

/*
 * Waits until @deadline_ns (CLOCK_MONOTONIC) for the first of these events. An end goes before
 * everything else.
 */
enum service_event service_wait(struct service_wait *w, u64 deadline_ns);

#endif
