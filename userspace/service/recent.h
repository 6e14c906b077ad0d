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
	struct recent_message *run;	/* RELAY_RUN of the first, if that has been trimmed; NULL: it has not */
	bool gap;			/* of the first interval only the counts at its end matter */
};

/* Adds a copy. Returns 0 or -ENOMEM. */
int recent_add(struct recent *r, u32 kind, const struct wire_in *bytes, s64 ns);

/*
 * Drops what is from before @since_ns, or too much; but one interval more stays: what was counted until then is known
 * from it.
 */
void recent_trim(struct recent *r, s64 since_ns);

void recent_clear(struct recent *r);	/* drops all */

#endif
