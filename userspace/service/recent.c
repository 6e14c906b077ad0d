// SPDX-License-Identifier: GPL-2.0-only
#include "service/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "service/relay.h"

static size_t size_of(const struct recent_message *m)
{
	return sizeof(*m) + m->len;
}

int recent_add(struct recent *r, u32 kind, const struct wire_in *bytes, s64 ns)
{
	u32 len = bytes->end - bytes->at;
	struct recent_message *m = malloc(sizeof(*m) + len);

	if (!m)
		return -ENOMEM;
	*m = (struct recent_message){ .ns = ns, .kind = kind, .len = len };
	memcpy(m->data, bytes->at, len);
	if (r->last)
		r->last->next = m;
	else
		r->first = m;
	r->last = m;
	r->bytes += size_of(m);
	return 0;
}

static void drop_first(struct recent *r)
{
	struct recent_message *m = r->first;

	r->first = m->next;
	if (!r->first)
		r->last = NULL;
	r->bytes -= size_of(m);
	r->gap |= m->kind == RELAY_INTERVAL;
	if (m->kind == RELAY_RUN) {
		free(r->run);
		r->run = m;
	} else {
		free(m);
	}
}

static bool is_old(const struct recent *r, s64 since_ns)
{
	const struct recent_message *m = r->first;

	return r->bytes > RECENT_BYTES || m->kind == RELAY_RUN || (m->next && m->next->ns < since_ns);
}

void recent_trim(struct recent *r, s64 since_ns)
{
	while (r->first && is_old(r, since_ns))
		drop_first(r);
}

void recent_clear(struct recent *r)
{
	while (r->first)
		drop_first(r);
	free(r->run);
	*r = (struct recent){ 0 };
}
