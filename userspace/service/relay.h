/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What follows a service's capture is in another process. This is the link between them: a follower that sends
 * everything as messages (util/channel.h), and a receiver at the other end that passes it to others.
 *
 * The sender never waits. Intervals that the other end is too slow for are added up, so it gets fewer and longer ones.
 * No count is missing and no memory is taken: only the frames of one interval are kept, however long it is.
 */
#ifndef SERVICE_RELAY_H
#define SERVICE_RELAY_H

#include "service/frames_wire.h"
#include "util/channel.h"

enum relay_message {
	RELAY_RUN,		/* the run: at first, and when devices have come or gone */
	RELAY_INTERVAL,		/* its frames */
	RELAY_STOP,		/* a text: why there will be no more intervals */
	RELAY_MESSAGES,		/* kinds from here on are for other users */
};

/* --- the capture's end --------------------------------------------------------------------------- */

/* Bytes that may wait in the channel before intervals are added up. */
#define RELAY_HOLD (4u << 20)

struct relay;

/* @to is borrowed. Returns 0 or -ENOMEM. */
int relay_new(struct channel *to, struct relay **ret);
void relay_free(struct relay *r);	/* takes NULL */

/* It fails with -ENOMEM, or with the error of channel_post(). */
struct follower *relay_follower(struct relay *r);

/* Tells that there will be no more intervals. Fails as an interval does. */
int relay_stop(struct relay *r, const char *why);

/* --- the other end ------------------------------------------------------------------------------ */

#define RELAYED_MOST 2

struct relayed_config {
	u32 n;
	struct follower *followers[RELAYED_MOST];
	/* they end and begin again when devices come or go: else they see that by themselves */
	bool begins_again;
};

struct relayed;

/*
 * @cfg is borrowed. The first run begins. That parts have other owners does not make another run. Returns 0
 * or -ENOMEM.
 */
int relayed_new(const struct relayed_config *cfg, struct relayed **ret);
void relayed_free(struct relayed *r);	/* ends what has begun; takes NULL */

/*
 * Takes a message; RELAY_STOP means nothing to followers. Returns 0, -EBADMSG if it has not the length it should have,
 * or the error of a follower.
 */
int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes);

#endif
