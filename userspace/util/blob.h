/* SPDX-License-Identifier: GPL-2.0-only */
/* Immutable bytes, shared by reference count within one thread. */
#ifndef UTIL_BLOB_H
#define UTIL_BLOB_H

#include "util/types.h"

struct blob {
	u32 refs;
	size_t len;
	char *data;		/* of malloc() */
};

/* Takes ownership of @data. If there is no memory for the blob, frees @data and returns NULL. */
struct blob *blob_take(char *data, size_t len);
struct blob *blob_ref(struct blob *b);	/* takes NULL */
void blob_unref(struct blob *b);	/* takes NULL */

/* The release function for callbacks that take a void pointer. */
void blob_release(void *b);

#endif
