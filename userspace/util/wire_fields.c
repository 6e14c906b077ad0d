// SPDX-License-Identifier: GPL-2.0-only
#include "util/wire_fields.h"

static u64 load_number(const void *at, size_t size)
{
	if (size == sizeof(bool))
		return *(const bool *)at;
	return size == sizeof(u32) ? *(const u32 *)at : *(const u64 *)at;
}

void wire_put_fields(struct wire_out *to, const void *of, const struct wire_field *list, size_t n)
{
	for (; n; n--, list++) {
		const void *at = (const char *)of + list->offset;

		if (list->kind == WIRE_TEXT)
			wire_put_text(to, at);
		else if (list->kind == WIRE_DOUBLE)
			wire_put_double(to, *(const double *)at);
		else if (list->kind == WIRE_SIGNED)
			wire_put_signed(to, *(const s64 *)at);
		else
			wire_put(to, load_number(at, list->size));
	}
}

static void get_number(struct wire_in *from, void *at, size_t size)
{
	if (size == sizeof(bool))
		*(bool *)at = wire_get_most(from, 1);
	else if (size == sizeof(u32))
		*(u32 *)at = wire_get_most(from, UINT32_MAX);
	else
		*(u64 *)at = wire_get(from);
}

void wire_get_fields(struct wire_in *from, void *of, const struct wire_field *list, size_t n)
{
	for (; n; n--, list++) {
		void *at = (char *)of + list->offset;

		if (list->kind == WIRE_TEXT)
			wire_get_text(from, at, list->size);
		else if (list->kind == WIRE_DOUBLE)
			*(double *)at = wire_get_double(from);
		else if (list->kind == WIRE_SIGNED)
			*(s64 *)at = wire_get_signed(from);
		else
			get_number(from, at, list->size);
	}
}
