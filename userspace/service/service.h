/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop of a service. Unlike that of live/loop.h it never ends by itself, and devices come and go meanwhile.
 *
 * A device that appears gets a capture of its own. Open captures are not touched, so they miss no IO. Every capture
 * costs each IO a little. So when there are more than SERVICE_MEMBERS_MAX, all are joined: one capture of everything is
 * opened, and takes over at the end of an interval in which the IOs that were in flight when it was opened have ended
 * (or 10 intervals later). Its counts continue theirs, see capture_join(). The same is done when a device has more tags
 * than slots, or there is no memory for a capture beside the others.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <signal.h>

#include "core/sink.h"
#include "service/scout.h"
#include "util/types.h"

#define SERVICE_MEMBERS_MAX 4
#define SERVICE_SINKS_MAX 4

struct service_hooks {
	void (*gone)(void *into, const struct device *d, bool replaced);
	void (*came)(void *into, const struct device *d);
	void (*joined)(void *into, u64 gap_ns);		/* time whose IOs may be missing; 0: none are */
	/* Looking for devices, or opening a capture, failed. The service goes on. */
	void (*failed)(void *into, const struct problem *p);
	/* There will be no more intervals. The service keeps running to report that. */
	void (*stopped)(void *into, const char *why);
	void (*reload)(void *into);	/* SIGHUP */
	void (*beat)(void *into);	/* at least every beat_ns while the loop is alive */
	/* How long reading the counters took; called before the interval's sinks. */
	void (*drained)(void *into, u64 ns);
	void *into;
};

struct service_config {
	double interval_s;
	const struct percentiles *percentiles;
	const struct scout_config *scout;	/* also opens the first capture */
	bool follow;			/* also watch devices that appear later */
	u64 beat_ns;			/* 0: no beat is wanted */
	int lifeline;			/* readable when the other process has ended; -1: none */
	bool realtime;			/* the loop has a real-time priority, unless it takes too much of a CPU */
	const char *version;
	struct service_hooks hooks;
	u32 n_sinks;
	struct sink_source *sinks[SERVICE_SINKS_MAX];
};

struct service;

/* Blocks the signals that service_run() takes. Must be called before any thread is started. */
void service_signals_block(void);

/*
 * Opens the first capture, if there is anything to watch, and the sinks. @cfg is borrowed. Returns 0, or a
 * negative errno and a sentence.
 */
int service_open(const struct service_config *cfg, struct service **ret, struct problem *p);

/*
 * Runs until SIGINT, SIGTERM or the end of the lifeline, and then returns 0; or a negative errno and a
 * sentence if reading or a sink failed.
 */
int service_run(struct service *s, struct problem *p);
void service_close(struct service *s);	/* takes NULL */

/* --- waits for the events of a service between its intervals --- */

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

/* Waits until @deadline_ns (CLOCK_MONOTONIC) for the first of these events. An end goes before everything else. */
enum service_event service_wait(struct service_wait *w, u64 deadline_ns);

#endif
