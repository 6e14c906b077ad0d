// SPDX-License-Identifier: GPL-2.0-only
#include "service/cache.h"

#include "service/encoding.h"

void cache_clear(struct cache *c)
{
	for (u32 i = 0; i < CACHE_KINDS; i++) {
		blob_unref(c->plain[i]);
		blob_unref(c->gzip[i]);
		c->plain[i] = c->gzip[i] = NULL;
	}
}

void cache_at(struct cache *c, u64 number)
{
	if (c->number != number)
		cache_clear(c);
	c->number = number;
}

struct blob *cache_get(struct cache *c, u32 kind, bool gzip, struct blob *(*make)(void *into, u32 kind), void *into)
{
	if (!c->plain[kind])
		c->plain[kind] = make(into, kind);
	if (gzip && c->plain[kind] && !c->gzip[kind])
		c->gzip[kind] = encoding_gzip(c->plain[kind]);
	return blob_ref(gzip ? c->gzip[kind] : c->plain[kind]);
}
