/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers for the current interval, made at the first request for them: many requests within one
 * interval cost little more than one.
 */
#ifndef SERVICE_CACHE_H
#define SERVICE_CACHE_H

#include "util/blob.h"

enum { CACHE_SNAPSHOT, CACHE_METRICS, CACHE_KINDS = CACHE_METRICS + 3 };

struct cache {
	u64 number;				/* of the interval */
	struct blob *plain[CACHE_KINDS], *gzip[CACHE_KINDS];
};

/* Sets the current interval, and forgets the answers of any other. */
void cache_at(struct cache *c, u64 number);

/*
 * Returns a reference to the answer @kind of the current interval, compressed or not. If it does not
 * exist yet, @make is called and returns the uncompressed answer or NULL. NULL if there is no memory.
 */
struct blob *cache_get(struct cache *c, u32 kind, bool gzip, struct blob *(*make)(void *into, u32 kind), void *into);

void cache_clear(struct cache *c);

#endif
