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

/* 7 bits a byte, the least significant first; the top bit is set when another byte follows. */
void wire_put_number(struct wire_out *to, u64 n)
{
	u8 bytes[10];
	u32 len = 0;

	for (; n >= 0x80; n >>= 7)
		bytes[len++] = n | 0x80;
	bytes[len++] = n;
	wire_put(to, bytes, len);
}

#define SPARSE_WORDS 64

/* A bit for each word that is not 0, and then these. */
void wire_put_sparse(struct wire_out *to, const void *value, size_t size)
{
	for (size_t at = 0; at < size; at += SPARSE_WORDS * sizeof(u64)) {
		u64 words[SPARSE_WORDS] = { 0 }, used = 0;
		u32 n = 0;

		memcpy(words, (const u8 *)value + at, size - at < sizeof(words) ? size - at : sizeof(words));
		for (u32 i = 0; i < SPARSE_WORDS; i++) {
			used |= (u64)!!words[i] << i;
			words[n] = words[i];
			n += !!words[i];
		}
		wire_put(to, &used, sizeof(used));
		wire_put(to, words, n * sizeof(u64));
	}
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

u64 wire_get_number(struct wire_in *from)
{
	u64 n = 0;
	u8 byte = 0x80;

	for (u32 shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		wire_get(from, &byte, 1);
		n |= (u64)(byte & 0x7f) << shift;
	}
	return n;
}

void wire_get_sparse(struct wire_in *from, void *ret, size_t size)
{
	for (size_t at = 0; at < size; at += SPARSE_WORDS * sizeof(u64)) {
		u64 words[SPARSE_WORDS] = { 0 }, used;

		wire_get(from, &used, sizeof(used));
		for (u32 i = 0; i < SPARSE_WORDS; i++)
			if (used >> i & 1)
				wire_get(from, &words[i], sizeof(u64));
		memcpy((u8 *)ret + at, words, size - at < sizeof(words) ? size - at : sizeof(words));
	}
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
