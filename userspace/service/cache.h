/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers of the present interval, made when they are first asked for: many who ask within one interval
 * cost little more than one.
 */
#ifndef SERVICE_CACHE_H
#define SERVICE_CACHE_H

#include "util/blob.h"

enum { CACHE_SNAPSHOT, CACHE_METRICS, CACHE_KINDS = CACHE_METRICS + 3 };

struct cache {
	u64 number;				/* of the interval */
	struct blob *plain[CACHE_KINDS], *gzip[CACHE_KINDS];
};

/* Forgets what is of another interval. */
void cache_at(struct cache *c, u64 number);

/*
 * A reference to the answer @kind of the present interval, compressed or not; @make, called if it is not
 * there yet, gives the plain one or NULL. NULL when there is no memory.
 */
struct blob *cache_get(struct cache *c, u32 kind, bool gzip, struct blob *(*make)(void *into, u32 kind), void *into);

void cache_clear(struct cache *c);

#endif
