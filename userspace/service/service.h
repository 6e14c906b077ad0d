/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop of a service. Unlike that of live/loop.h it never ends by itself, and goes on when there is nothing to
 * watch.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "core/monitor.h"
#include "service/relay.h"
#include "util/realtime.h"

struct service_hooks {
	/* The real-time priority was given up. The service goes on. */
	void (*failed)(void *into, const struct problem *p);
	/* There will be no more intervals. The service keeps running to report that. */
	void (*stopped)(void *into, const char *why);
	void (*reload)(void *into);	/* SIGHUP */
	void (*beat)(void *into);	/* at least every beat_ns while the loop is alive */
	/* Link @i gets no more intervals, because of @err, or since its process has ended (0). The service goes on. */
	void (*ended)(void *into, u32 i, int err);
	void *into;
};

/* What follows in a process of its own. */
struct service_link {
	struct relay *relay;		/* NULL: there is none */
	int lifeline;			/* readable when the process has ended */
};
#define SERVICE_LINKS 3

struct service_config {
	double interval_s;
	const struct percentiles *percentiles;
	const struct monitor_config *monitor;
	u64 beat_ns;			/* 0: no beat is wanted */
	bool realtime;			/* the loop has a real-time priority, unless it takes too much of a CPU */
	const char *version;
	struct service_hooks hooks;
	struct service_link links[SERVICE_LINKS];
	u32 first;			/* the link that the service ends with */
};

struct service {
	const struct service_config *cfg;
	int signals;			/* a signalfd */
	int uevents;			/* -1: not available */
	int lifelines[SERVICE_LINKS];	/* of the links' processes; -1: none, or it has ended */
	u32 ended;			/* which of these */
	enum monitor_news news;
	struct monitor monitor;
	struct run_info info;
	bool follows[SERVICE_LINKS];	/* the link has begun */
	bool stopped;
	bool ordinary;			/* the real-time priority was given up */
	struct realtime_share share;	/* of a CPU, taken by the loop */
	u64 start_ns, read_ns, drain_ns, beat_ns, replayed_ns;
};

/*
 * Opens the capture, if there is anything to watch, and begins the run of all links. @cfg is borrowed. Returns 0, or
 * a negative errno and a sentence; service_close() after either.
 */
int service_open(struct service *s, const struct service_config *cfg, struct problem *p);

/*
 * Runs until SIGINT, SIGTERM or the end of the first link, and then returns 0; or a negative errno and a
 * sentence if reading or that link failed.
 */
int service_run(struct service *s, struct problem *p);
void service_close(struct service *s);	/* takes a struct that is all 0 */

/* Blocks the signals that service_run() takes. Must be called before any thread is started. */
void service_signals_block(void);

#endif
