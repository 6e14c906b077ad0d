// SPDX-License-Identifier: GPL-2.0-only
#include "service/protobuf.h"

#include <string.h>

#include "util/utf8.h"

enum { VARINT, BYTES_8, LENGTH, BYTES_4 = 5 };

static void put_key(struct wire_out *to, u32 field, u32 type)
{
	wire_put_number(to, field << 3 | type);
}

void pb_number(struct wire_out *to, u32 field, u64 n)
{
	put_key(to, field, VARINT);
	wire_put_number(to, n);
}

u64 pb_zigzag(s64 n)
{
	return (u64)n << 1 ^ (u64)(n >> 63);
}

void pb_signed(struct wire_out *to, u32 field, s64 n)
{
	pb_number(to, field, pb_zigzag(n));
}

/* Numbers lie in memory as they are sent, with their lowest byte first. */
void pb_fixed(struct wire_out *to, u32 field, u64 n)
{
	put_key(to, field, BYTES_8);
	wire_put(to, &n, sizeof(n));
}

void pb_double(struct wire_out *to, u32 field, double value)
{
	put_key(to, field, BYTES_8);
	wire_put(to, &value, sizeof(value));
}

void pb_text(struct wire_out *to, u32 field, const char *text)
{
	char clean[3 * PB_TEXT + 1];

	utf8_clean(clean, sizeof(clean), text);
	put_key(to, field, LENGTH);
	wire_put_number(to, strlen(clean));
	wire_put(to, clean, strlen(clean));
}

size_t pb_begin(struct wire_out *to, u32 field)
{
	put_key(to, field, LENGTH);
	return to->len;
}

/* Puts the length, which is known only now, before them. */
void pb_end(struct wire_out *to, size_t begin)
{
	size_t len = to->len - begin, size;
	u8 number[10];

	wire_put_number(to, len);
	if (to->failed)
		return;
	size = to->len - begin - len;
	memcpy(number, to->data + begin + len, size);
	memmove(to->data + begin + size, to->data + begin, len);
	memcpy(to->data + begin, number, size);
}

bool pb_next(struct wire_in *from, struct pb_field *ret)
{
	static const u64 sizes[8] = { [BYTES_8] = 8, [BYTES_4] = 4 };
	u64 key, size;

	if (from->failed || from->at == from->end)
		return false;
	key = wire_get_number(from);
	*ret = (struct pb_field){ .field = key >> 3 };
	size = sizes[key & 7];
	if ((key & 7) == VARINT)
		ret->number = wire_get_number(from);
	else if ((key & 7) == LENGTH)
		size = wire_get_number(from);
	else if (!size)
		return false;
	if (from->failed || size > (u64)(from->end - from->at))
		return false;
	ret->bytes = (struct wire_in){ from->at, from->at + size, false };
	from->at += size;
	return true;
}
