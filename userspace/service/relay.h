/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sinks of a service are in another process than its captures. This is the link between them: a sink that passes
 * everything on as messages (util/channel.h), and a receiver at the other end that gives the same to other sinks.
 *
 * The sink never waits. Intervals that the other end is too slow for are added up, so it gets fewer and longer ones. No
 * count is missing and no memory is taken: only the frames of one interval are kept, however long it is.
 */
#ifndef SERVICE_RELAY_H
#define SERVICE_RELAY_H

#include "service/frames_wire.h"
#include "service/run_wire.h"
#include "util/channel.h"

enum relay_message {
	RELAY_OPEN,		/* a run: new sinks from now on */
	RELAY_RUN,		/* a new run for the same sinks: devices came or went */
	RELAY_INTERVAL,		/* when it ended, what reading took, frames */
	RELAY_STOP,		/* why there will be no more intervals */
	RELAY_MESSAGES,		/* kinds from here on are for others */
};

/* --- the captures' end -------------------------------------------------------------------------- */

/* Bytes that may wait in the channel before intervals are added up. */
#define RELAY_HOLD (4u << 20)

struct relay;

/* @to is borrowed. Returns 0 or -ENOMEM. */
int relay_new(struct channel *to, struct relay **ret);
void relay_free(struct relay *r);	/* after its sink; takes NULL */

/* Where its intervals come from. One fails with -ENOMEM, or with what channel_post() returns. */
struct sink_source *relay_source(struct relay *r);

/* A read of the counters took so long: goes with the next interval. */
void relay_drained(struct relay *r, u64 ns);

/* There will be no more intervals. Returns as an interval does. */
int relay_stop(struct relay *r, const char *why);

/* --- the other end ------------------------------------------------------------------------------ */

#define RELAYED_SINKS_MAX 2

struct relayed_config {
	u32 n_sinks;
	struct sink_source *sinks[RELAYED_SINKS_MAX];
	/* Before an interval's sinks: it ended at @mono_ns, it stands for @reads of the counters, which took @drain_ns. */
	void (*interval)(void *into, u64 mono_ns, u64 reads, u64 drain_ns);
	void (*stopped)(void *into, const char *why);
	void *into;
};

struct relayed;

/* @cfg is borrowed. Returns 0 or -ENOMEM. */
int relayed_new(const struct relayed_config *cfg, struct relayed **ret);
void relayed_free(struct relayed *r);	/* closes the sinks; takes NULL */

/* Takes a message in. Returns 0, -EBADMSG when it is none, or what a sink returned. */
int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes);

#endif
