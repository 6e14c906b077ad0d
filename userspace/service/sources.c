// SPDX-License-Identifier: GPL-2.0-only
#include "service/server_state.h"

#include <netinet/in.h>
#include <string.h>

#define KNOWN_NS (600 * NSEC_PER_SEC)
#define FORGIVEN_NS (NSEC_PER_SEC / 8)

static void key_of(const struct sockaddr *from, unsigned char key[16])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	memset(key, 0, 16);
	if (from->sa_family == AF_INET) {
		memset(key + 10, 0xff, 2);
		memcpy(key + 12, &((const struct sockaddr_in *)from)->sin_addr, 4);
	} else if (from->sa_family == AF_INET6) {
		memcpy(key, &v6->sin6_addr, IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) ? 16 : 8);
	}
}

bool source_known(const struct source *o, u64 now_ns)
{
	return o->scraped_ns && now_ns < o->scraped_ns + KNOWN_NS;
}

/* Whether @a should be forgotten rather than @b. */
static bool matters_less(const struct source *a, const struct source *b, u64 now_ns)
{
	bool known = source_known(a, now_ns);

	return known != source_known(b, now_ns) ? !known : a->seen_ns < b->seen_ns;
}

struct source *sources_get(struct sources *all, const struct sockaddr *from, u64 now_ns)
{
	struct source *worst = NULL;
	unsigned char key[16];

	key_of(from, key);
	for (struct source *o = all->o; o < all->o + SOURCES; o++) {
		if (o->seen_ns && !memcmp(o->key, key, sizeof(key))) {
			o->seen_ns = now_ns;
			return o;
		}
		if (!o->connections && (!worst || matters_less(o, worst, now_ns)))
			worst = o;
	}
	if (!worst)
		return NULL;
	*worst = (struct source){ .seen_ns = now_ns };
	memcpy(worst->key, key, sizeof(key));
	return worst;
}

void source_failed(struct source *o, u64 now_ns)
{
	o->paid_ns = (o->paid_ns > now_ns ? o->paid_ns : now_ns) + FORGIVEN_NS;
}

u64 source_until_ns(const struct source *o, u64 now_ns)
{
	u64 allowed_ns = now_ns + (SOURCE_FAILURES - 1) * FORGIVEN_NS;

	return o->paid_ns > allowed_ns ? now_ns + o->paid_ns - allowed_ns : 0;
}
