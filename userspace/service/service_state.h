/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of the service's loop; see service.h. */
#ifndef SERVICE_SERVICE_STATE_H
#define SERVICE_SERVICE_STATE_H

#include "service/service.h"
#include "util/clock.h"
#include "util/realtime.h"

#define SERVICE_SETTLE_NS (NSEC_PER_SEC / 5)	/* device events come in bursts */
#define SERVICE_LOOK_NS (10 * NSEC_PER_SEC)	/* if there are no events */
#define SERVICE_OUTGROWN_NS (60 * NSEC_PER_SEC)	/* time before an heir that failed to open is tried again */

struct service {
	const struct service_config *cfg;
	struct service_wait wait;
	struct scout *scout;		/* NULL: new devices are ignored */
	struct member *members;
	u32 n_members;
	struct member *heir;		/* of all of them, once it can take over */
	u32 heir_waited;
	bool join;			/* an heir is wanted */
	struct watch *watches;		/* of all members */
	struct frames frames;		/* shallow copies, of watches still there */
	struct slow_ios slow;		/* of the interval; most is 0 where slow IOs are not wanted */
	u32 *numbers;			/* [watch of a member]: its number among all */
	/* Members report slow IOs up to here (CLOCK_MONOTONIC), the heir later ones; UINT64_MAX: no heir takes over. */
	u64 slow_until_ns;
	u64 skipped_before;		/* unexplained, in captures that ended since the sinks were opened */
	u32 room;			/* of watches, frames and numbers */
	struct run_info info;
	struct sink *sinks[SERVICE_SINKS_MAX];
	bool stopped;
	bool ordinary;			/* the real-time priority was given up */
	struct realtime_share share;	/* of a CPU, taken by the loop */
	u64 start_ns, read_ns, look_ns, beat_ns;
	u64 early_ns;			/* of the next early look at the captures, see capture_early_look() */
	u64 outgrown_ns;		/* when to check again for outgrown devices; UINT64_MAX: never */
	char told[sizeof(((struct problem *)0)->text)];	/* the last failure, to be told only once */
};

/* Tells a failure, unless it is the one told last. */
void service_tell_failure(struct service *s, const struct problem *p);
void service_stop_watching(struct service *s, const char *why);

/* To be called right after an heir took over. */
void service_begin_slow(struct service *s);

/* --- service_members.c: which captures there are; these return 0, or a negative errno and a sentence --- */

u32 service_watches(const struct service *s);

/* Describes all members for the sinks, which are opened when there is a description for the first time. */
int service_members_changed(struct service *s, struct problem *p);
int service_add_member(struct service *s, struct member *m, struct problem *p);

/* Ends the members that have no device left. */
int service_drop_members(struct service *s, struct problem *p);
void service_end_member(struct service *s, struct member *m);
void service_close_sinks(struct service *s);

/* --- service_devices.c: how they change --- */

/* Has the scout look for devices that are not watched yet. */
void service_look(struct service *s);

/* If a device has outgrown its slots, has the scout open an heir with more room. */
void service_outgrown(struct service *s);

/* Takes what the scout found. Returns 0, or a negative errno and a sentence. */
int service_take_scouted(struct service *s, struct problem *p);

/*
 * To be called just before the members are read, as long as there is an heir; see capture_join().
 * Returns 0, or a negative errno and a sentence.
 */
int service_heir_read(struct service *s, struct problem *p);

/* To be called right after the members were read. Returns whether the heir is to take over once the interval is published. */
bool service_heir_begins(struct service *s);
int service_heir_takes_over(struct service *s, struct problem *p);

#endif
