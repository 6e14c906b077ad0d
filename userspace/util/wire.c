// SPDX-License-Identifier: GPL-2.0-only
#include "util/wire.h"

#include <stdlib.h>
#include <string.h>

void wire_put(struct wire_out *to, const void *value, size_t size)
{
	size_t room = 2 * to->room + size + 256;

	if (!to->failed && to->room - to->len < size) {
		u8 *data = realloc(to->data, room);

		to->failed = !data;
		to->data = data ?: to->data;
		to->room = data ? room : to->room;
	}
	if (to->failed || !size)
		return;
	memcpy(to->data + to->len, value, size);
	to->len += size;
}

/* With its end; the size 0 stands for NULL. */
void wire_put_text(struct wire_out *to, const char *text)
{
	u32 size = text ? strlen(text) + 1 : 0;

	wire_put(to, &size, sizeof(size));
	wire_put(to, text, size);
}

void wire_out_free(struct wire_out *o)
{
	free(o->data);
	*o = (struct wire_out){ 0 };
}

/* The next @size bytes, or NULL. */
static const void *take(struct wire_in *from, size_t size)
{
	const u8 *at = from->at;

	if (from->failed || size > (size_t)(from->end - from->at)) {
		from->failed = true;
		return NULL;
	}
	from->at += size;
	return at;
}

void wire_get(struct wire_in *from, void *ret, size_t size)
{
	const void *at = take(from, size);

	if (!at)
		memset(ret, 0, size);
	else if (size)
		memcpy(ret, at, size);
}

const char *wire_get_text(struct wire_in *from)
{
	u32 size = wire_get_count(from, 1);

	return size ? take(from, size) : NULL;
}

char *wire_dup_text(struct wire_in *from)
{
	const char *text = wire_get_text(from);
	char *copy = text ? strdup(text) : NULL;

	from->failed |= text && !copy;
	return copy;
}

u32 wire_get_count(struct wire_in *from, size_t size)
{
	u32 n;

	wire_get(from, &n, sizeof(n));
	if (n <= (size_t)(from->end - from->at) / size)
		return n;
	from->failed = true;
	return 0;
}

bool wire_ended(const struct wire_in *from)
{
	return !from->failed && from->at == from->end;
}
