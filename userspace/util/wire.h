/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A message from one process of the program to another one that it forked: plain values, one after the other, as they
 * lie in memory. A failure is remembered, so a caller can write or read many values and check once at the end.
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

void wire_put(struct wire_out *to, const void *value, size_t size);
void wire_put_number(struct wire_out *to, u64 n);	/* in as few bytes as it needs */
void wire_put_sparse(struct wire_out *to, const void *value, size_t size);	/* of words that are mostly 0 */
void wire_put_text(struct wire_out *to, const char *text);	/* NULL stays NULL */
void wire_out_free(struct wire_out *o);

/* The bytes left to read; borrowed. */
struct wire_in {
	const u8 *at, *end;
	bool failed;		/* the message is too short: values read are 0 */
};

void wire_get(struct wire_in *from, void *ret, size_t size);
u64 wire_get_number(struct wire_in *from);
void wire_get_sparse(struct wire_in *from, void *ret, size_t size);

/* A text, which belongs to the message. NULL if NULL was written, or on failure. */
const char *wire_get_text(struct wire_in *from);

/* The same in memory of its own. If there is none, the reader has failed. */
char *wire_dup_text(struct wire_in *from);

/* A number of items that follow, each of at least @size bytes. */
u32 wire_get_count(struct wire_in *from, size_t size);

/* Whether everything was read without a failure and no bytes are left. */
bool wire_ended(const struct wire_in *from);

#endif
