/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop of a service: as live/loop.h's, but it never ends by itself, and devices come and go meanwhile.
 *
 * A device that appears gets a capture of its own, beside those that are open: they are not touched, so
 * that no IO of theirs is missed. Once there are more than SERVICE_MEMBERS_MAX, since every capture costs
 * each IO a little, all are joined: one capture of everything is opened, and takes over at an
 * interval's end when what was in flight at its opening has ended (or 10 intervals later). Its counts go on from theirs, see
 * capture_join(). Only where its resolution is another one the sinks are others, and what ends between the last read of the old
 * and the first of the new is in neither: the user is told. The same is done when a device has more tags than there are
 * slots for.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "core/sink.h"
#include "service/scout.h"

#define SERVICE_MEMBERS_MAX 4
#define SERVICE_SINKS_MAX 4

struct service_hooks {
	void (*gone)(void *into, const struct device *d, bool replaced);
	void (*came)(void *into, const struct device *d);
	void (*joined)(void *into, u64 gap_ns);		/* IOs that ended within it may be missing; 0: none is missing */
	/* Something failed, but the service goes on: looking for devices, or opening a capture. */
	void (*failed)(void *into, const struct problem *p);
	/* There will be no more intervals; the service goes on in order to report that. */
	void (*stopped)(void *into, const char *why);
	void (*reload)(void *into);	/* SIGHUP */
	void (*beat)(void *into);	/* at least each beat_ns, as long as the loop lives */
	/* How long a read of the counters took; before the interval's sinks. */
	void (*drained)(void *into, u64 ns);
	void *into;
};

struct service_config {
	double interval_s;
	const struct percentiles *percentiles;
	const struct scout_config *scout;	/* also opens the first capture */
	bool follow;			/* devices that appear are picked up; false: only those present at the beginning are watched */
	u64 beat_ns;			/* 0: no beat is wanted */
	int lifeline;			/* readable when the other process has ended; -1: none */
	bool realtime;			/* the loop has a real-time priority, and gives it up if it takes much of a CPU */
	const char *version;
	struct service_hooks hooks;
	u32 n_sinks;
	struct sink_source *sinks[SERVICE_SINKS_MAX];
};

struct service;

/* Blocks the signals that service_run() takes: before any thread is started. */
void service_signals_block(void);

/*
 * Opens the first capture, if there is anything to watch, and the sinks. @cfg is borrowed. Returns 0, or a
 * negative errno and a sentence.
 */
int service_open(const struct service_config *cfg, struct service **ret, struct problem *p);

/* Until SIGINT or SIGTERM, or the lifeline's end: returns 0. Or a negative errno and a sentence when reading or a sink failed. */
int service_run(struct service *s, struct problem *p);
void service_close(struct service *s);	/* takes NULL */

#endif
