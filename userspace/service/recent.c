// SPDX-License-Identifier: GPL-2.0-only
#include "service/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

struct recent_message *recent_take(struct recent *r)
{
	struct recent_message *m = r->first;

	r->first = m->next;
	if (!r->first)
		r->last = NULL;
	r->bytes -= size_of(m);
	return m;
}

void recent_drop(struct recent *r)
{
	free(recent_take(r));
}

void recent_free(struct recent *r)
{
	while (r->first)
		recent_drop(r);
}
