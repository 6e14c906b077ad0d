/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What follows a service's capture is in another process. This is the link between them: a sender of messages
 * (util/channel.h), and a receiver at the other end.
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
	struct channel channel;
	const struct run_info *run;
	struct wire_out sent;		/* the watches that the other end knows */
	struct watch *watches;		/* a copy of these, as the run's may move; their devices may have gone */
	struct held held;		/* intervals of these that have not been sent */
};

/* Takes ownership of @fd, a connected socket. */
void relay_init(struct relay *r, int fd);
void relay_uninit(struct relay *r);	/* first sends what is held */

/* These return 0, -ENOMEM or the error of channel_post(). @run is borrowed, and may change as devices come and go. */
int relay_begin(struct relay *r, const struct run_info *run);
int relay_interval(struct relay *r, const struct frames *fs);

/* Tells that there will be no more intervals. */
int relay_stop(struct relay *r, const char *why);

/* --- the other end ------------------------------------------------------------------------------ */

/* Its owner sets the first one; the rest is 0. */
struct relayed {
	bool keeps_run;			/* it is no other run if parts have other owners */
	struct wired_run run, before;	/* the run before it stays until the next one */
	struct frames frames;		/* of the last interval */
	struct slow_ios slow;		/* of these */
	struct snapshot now;		/* if it is sent */
};

void relayed_uninit(struct relayed *r);		/* takes a struct that is all 0 */

/*
 * Takes a message; RELAY_STOP means nothing here. Returns 0, 1 if it is another run, with frames that are all 0, or
 * -ENOMEM, or -EBADMSG if it has not the length it should have.
 */
int relayed_take(struct relayed *r, u32 kind, struct wire_in *bytes);

#endif
