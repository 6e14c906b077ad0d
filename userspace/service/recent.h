/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The messages of the last minutes (service/relay.h), so that somebody who is interested only now can still take
 * them.
 */
#ifndef SERVICE_RECENT_H
#define SERVICE_RECENT_H

#include "util/wire.h"

#define RECENT_BYTES (32u << 20)	/* the most that they take, however long they should be kept */

struct recent_message {
	struct recent_message *next;
	s64 ns;			/* by the clock that recent_add() was given */
	u32 kind;
	u32 len;
	u8 data[];
};

/* The oldest first. All 0: there is none. */
struct recent {
	struct recent_message *first, *last;
	size_t bytes;
};

/* Adds a copy. Returns 0 or -ENOMEM. */
int recent_add(struct recent *r, u32 kind, const struct wire_in *bytes, s64 ns);

/* Takes the oldest one off, to be freed by free(); there is one. */
struct recent_message *recent_take(struct recent *r);
void recent_drop(struct recent *r);
void recent_free(struct recent *r);

#endif
