/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes the members of a structure as bytes (util/wire.h), by the same list. Pure. */
#ifndef UTIL_WIRE_FIELDS_H
#define UTIL_WIRE_FIELDS_H

#include <stddef.h>

#include "util/wire.h"

enum wire_field_kind {
	WIRE_NUMBER,		/* bool, u32 or u64 */
	WIRE_SIGNED,		/* s64 */
	WIRE_DOUBLE,
	WIRE_TEXT,		/* char [], '\0' at its end */
};

struct wire_field {
	size_t offset, size;
	enum wire_field_kind kind;
};

#define WIRE_FIELD(type, name, kind) { offsetof(struct type, name), sizeof(((struct type *)0)->name), kind }

/*
 * Writes or reads all fields of the array @list. A value that does not fit its member fails the reader
 * (struct wire_in).
 */
#define WIRE_PUT_FIELDS(to, of, list) wire_put_fields(to, of, list, ARRAY_SIZE(list))
#define WIRE_GET_FIELDS(from, of, list) wire_get_fields(from, of, list, ARRAY_SIZE(list))

void wire_put_fields(struct wire_out *to, const void *of, const struct wire_field *list, size_t n);
void wire_get_fields(struct wire_in *from, void *of, const struct wire_field *list, size_t n);

#endif
