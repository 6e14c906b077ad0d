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
#include "service/held.h"
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

struct relay {
	struct follower follower;	/* fails with -ENOMEM, or with the error of channel_post() */
	struct channel channel;
	const struct run_info *run;	/* that began last */
	struct wire_out sent;		/* the watches that the other end knows */
	struct wired_run copy;		/* of what it knows, since devices may go away while intervals are held */
	struct held held;		/* intervals that have not been sent, of the copy's watches */
};

/* Takes ownership of @fd, a connected socket. */
void relay_init(struct relay *r, int fd);
void relay_uninit(struct relay *r);

/* Tells that there will be no more intervals. Fails as an interval does. */
int relay_stop(struct relay *r, const char *why);

/* --- the other end ------------------------------------------------------------------------------ */

#define RELAYED_MOST 2

/*
 * Its owner sets the first three; the rest is 0. The first run begins the followers. That parts have other owners does
 * not make another run.
 */
struct relayed {
	u32 n;
	struct follower *followers[RELAYED_MOST];
	/* they end and begin again when devices come or go: else they see that by themselves */
	bool begins_again;
	u32 begun;			/* followers */
	struct wired_run run;
	struct frames frames;
	struct slow_ios slow;		/* of these */
	struct snapshot now;		/* if it is sent */
};

void relayed_uninit(struct relayed *r);		/* ends what has begun; takes a struct that is all 0 */

/*
 * Takes a message; RELAY_STOP means nothing to followers. Returns 0, -EBADMSG if it has not the length it should have,
 * or the error of a follower.
 */
int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes);

#endif
