/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values as bytes, for a reader of the same program on the same machine: numbers in as few bytes as
 * they take (LEB128, signed ones in zigzag), doubles as they lie in memory, texts with their length. A
 * failure is remembered, so a caller can write or read many values and check once at the end.
 */
#ifndef UTIL_WIRE_H
#define UTIL_WIRE_H

#include "util/types.h"

/* The bytes written so far; all 0: empty. */
struct wire_out {
	u8 *data;		/* of malloc() */
	size_t len, room;
	bool failed;		/* an allocation failed: the bytes are useless */
};

void wire_put(struct wire_out *to, u64 n);
void wire_put_signed(struct wire_out *to, s64 n);
void wire_put_double(struct wire_out *to, double d);
void wire_put_text(struct wire_out *to, const char *text);	/* NULL stays NULL */
void wire_out_free(struct wire_out *o);

/* The bytes left to read; borrowed. */
struct wire_in {
	const u8 *at, *end;
	bool failed;		/* the input is cut off or invalid: values read are 0 or "" */
};

u64 wire_get(struct wire_in *from);
s64 wire_get_signed(struct wire_in *from);
double wire_get_double(struct wire_in *from);

/* A number that may be at most @most. */
u64 wire_get_most(struct wire_in *from, u64 most);

/* The number of items that follow, each of which takes at least one byte. */
u32 wire_get_count(struct wire_in *from, u32 most);

/* A text that fits in @size bytes, with its terminating 0. */
void wire_get_text(struct wire_in *from, char *to, size_t size);

/* The same for a text of any length, from malloc(). NULL if NULL was written, or on failure. */
char *wire_dup_text(struct wire_in *from);

/* Whether everything was read without a failure and no bytes are left. */
bool wire_ended(const struct wire_in *from);

/* --- the members of a structure, read and written by the same list --- */

enum wire_field_kind {
	WIRE_NUMBER,		/* of 1, 2, 4 or 8 bytes */
	WIRE_BOOL,
	WIRE_SIGNED,		/* s32 or s64 */
	WIRE_DOUBLE,
	WIRE_TEXT,		/* char [], '\0' at its end */
};

struct wire_field {
	size_t offset, size;
	enum wire_field_kind kind;
};

#define WIRE_FIELD(type, name) { offsetof(struct type, name), sizeof(((struct type *)0)->name), \
	_Generic(((struct type *)0)->name, bool: WIRE_BOOL, s32: WIRE_SIGNED, s64: WIRE_SIGNED, double: WIRE_DOUBLE, \
		char *: WIRE_TEXT, default: WIRE_NUMBER) }

/*
 * Writes or reads all fields of the array @list. A value that does not fit its member fails the reader
 * (struct wire_in).
 */
#define WIRE_PUT_FIELDS(to, of, list) wire_put_fields(to, of, list, ARRAY_SIZE(list))
#define WIRE_GET_FIELDS(from, of, list) wire_get_fields(from, of, list, ARRAY_SIZE(list))

void wire_put_fields(struct wire_out *to, const void *of, const struct wire_field *list, size_t n);
void wire_get_fields(struct wire_in *from, void *of, const struct wire_field *list, size_t n);

#endif
