// SPDX-License-Identifier: GPL-2.0-only
#include "util/wire.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_BITS 7
#define MORE (1 << GROUP_BITS)
#define LONGEST 10		/* bytes of 64 bits */

static u8 *room_for(struct wire_out *to, size_t more)
{
	if (to->failed)
		return NULL;
	if (to->room - to->len < more) {
		size_t room = 2 * to->room + more + 256;
		u8 *data = realloc(to->data, room);

		if (!data) {
			to->failed = true;
			return NULL;
		}
		to->data = data;
		to->room = room;
	}
	return to->data + to->len;
}

void wire_put(struct wire_out *to, u64 n)
{
	u8 *at = room_for(to, LONGEST);

	if (!at)
		return;
	for (; n >= MORE; n >>= GROUP_BITS)
		*at++ = (n & (MORE - 1)) | MORE;
	*at++ = n;
	to->len = at - to->data;
}

void wire_put_signed(struct wire_out *to, s64 n)
{
	wire_put(to, n < 0 ? 2 * ~(u64)n + 1 : 2 * (u64)n);
}

static void put_raw(struct wire_out *to, const void *data, size_t len)
{
	u8 *at = room_for(to, len);

	if (!at || !len)
		return;
	memcpy(at, data, len);
	to->len += len;
}

void wire_put_double(struct wire_out *to, double d)
{
	put_raw(to, &d, sizeof(d));
}

/* 0 stands for NULL, so the length is written plus one. */
void wire_put_text(struct wire_out *to, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	wire_put(to, text ? len + 1 : 0);
	put_raw(to, text, len);
}

void wire_out_free(struct wire_out *o)
{
	free(o->data);
	*o = (struct wire_out){ 0 };
}

static void fail(struct wire_in *from)
{
	from->failed = true;
	from->at = from->end;
}

u64 wire_get(struct wire_in *from)
{
	u64 n = 0;

	for (u32 shift = 0; shift < 64 && from->at < from->end; shift += GROUP_BITS) {
		u8 byte = *from->at++;
		u64 group = byte & (MORE - 1);

		/* The tenth byte has one bit left. */
		if (shift == 63 && group > 1)
			break;
		n |= group << shift;
		if (!(byte & MORE))
			return n;
	}
	fail(from);
	return 0;
}

s64 wire_get_signed(struct wire_in *from)
{
	u64 n = wire_get(from);

	return n % 2 ? ~(n / 2) : n / 2;
}

/* The next @len bytes, or NULL. */
static const u8 *take(struct wire_in *from, u64 len)
{
	const u8 *at = from->at;

	if (from->failed || len > (u64)(from->end - from->at)) {
		fail(from);
		return NULL;
	}
	from->at += len;
	return at;
}

double wire_get_double(struct wire_in *from)
{
	double d = 0;
	const u8 *at = take(from, sizeof(d));

	if (at)
		memcpy(&d, at, sizeof(d));
	return d;
}

u64 wire_get_most(struct wire_in *from, u64 most)
{
	u64 n = wire_get(from);

	if (n > most) {
		fail(from);
		return 0;
	}
	return n;
}

u32 wire_get_count(struct wire_in *from, u32 most)
{
	u64 left = from->end - from->at;

	return wire_get_most(from, left < most ? left : most);
}

void wire_get_text(struct wire_in *from, char *to, size_t size)
{
	u64 n = wire_get_most(from, size);
	const u8 *at = take(from, n ? n - 1 : 0);

	to[0] = '\0';
	if (!at || !n)
		return;
	memcpy(to, at, n - 1);
	to[n - 1] = '\0';
}

char *wire_dup_text(struct wire_in *from)
{
	u64 n = wire_get(from);
	const u8 *at = take(from, n ? n - 1 : 0);
	char *text = at && n ? malloc(n) : NULL;

	if (!text) {
		if (n)
			fail(from);
		return NULL;
	}
	memcpy(text, at, n - 1);
	text[n - 1] = '\0';
	return text;
}

bool wire_ended(const struct wire_in *from)
{
	return !from->failed && from->at == from->end;
}

/* Numbers lie in memory with their lowest byte first. */
static void put_field(struct wire_out *to, const void *at, const struct wire_field *f)
{
	u64 n = 0;

	if (f->kind == WIRE_TEXT)
		return wire_put_text(to, at);
	memcpy(&n, at, f->size);
	if (f->kind == WIRE_DOUBLE)
		wire_put_double(to, *(const double *)at);
	else if (f->kind == WIRE_SIGNED)
		wire_put_signed(to, f->size == sizeof(s32) ? (s32)n : (s64)n);
	else
		wire_put(to, n);
}

static void get_field(struct wire_in *from, void *at, const struct wire_field *f)
{
	s64 n;

	if (f->kind == WIRE_TEXT)
		return wire_get_text(from, at, f->size);
	if (f->kind == WIRE_DOUBLE) {
		*(double *)at = wire_get_double(from);
		return;
	}
	if (f->kind == WIRE_SIGNED)
		n = wire_get_signed(from);
	else
		n = wire_get_most(from, f->kind == WIRE_BOOL ? 1 : UINT64_MAX >> (64 - 8 * f->size));
	if (f->kind == WIRE_SIGNED && f->size == sizeof(s32) && n != (s32)n)
		fail(from);
	memcpy(at, &n, f->size);
}

void wire_put_fields(struct wire_out *to, const void *of, const struct wire_field *list, size_t n)
{
	for (; n; n--, list++)
		put_field(to, (const char *)of + list->offset, list);
}

void wire_get_fields(struct wire_in *from, void *of, const struct wire_field *list, size_t n)
{
	for (; n; n--, list++)
		get_field(from, (char *)of + list->offset, list);
}
