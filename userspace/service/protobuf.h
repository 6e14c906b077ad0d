/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire format of protobuf (protobuf.dev, "Encoding"), field by field, as messages are appended to a text of bytes.
 * Its failure is remembered there.
 */
#ifndef SERVICE_PROTOBUF_H
#define SERVICE_PROTOBUF_H

#include "util/wire.h"

void pb_number(struct wire_out *to, u32 field, u64 n);		/* uint32, uint64, int64, an enum, a bool */
void pb_signed(struct wire_out *to, u32 field, s64 n);		/* sint32, sint64 */
void pb_fixed(struct wire_out *to, u32 field, u64 n);		/* fixed64 */
void pb_double(struct wire_out *to, u32 field, double value);
void pb_text(struct wire_out *to, u32 field, const char *text);	/* in valid UTF-8, of at most PB_TEXT bytes */
#define PB_TEXT 256

/* A message, or packed numbers, within another one: what is written up to pb_end() of what pb_begin() returned. */
size_t pb_begin(struct wire_out *to, u32 field);
void pb_end(struct wire_out *to, size_t begin);

u64 pb_zigzag(s64 n);	/* how a sint is packed */

/* A field as it was read: a number, or the bytes of a text or of a message. */
struct pb_field {
	u32 field;
	u64 number;
	struct wire_in bytes;
};

/* Reads the next one. Returns false at the end, or if what follows is none. */
bool pb_next(struct wire_in *from, struct pb_field *ret);

#endif
