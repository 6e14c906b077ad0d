/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes that never change once they are made, shared by counted references, of any thread. */
#ifndef UTIL_BLOB_H
#define UTIL_BLOB_H

#include <stdatomic.h>

#include "util/types.h"

struct blob {
	atomic_uint refs;
	size_t len;
	char *data;		/* of malloc() */
};

/* Takes @data over, also when there is no memory: then it is freed and NULL comes back. */
struct blob *blob_take(char *data, size_t len);
struct blob *blob_ref(struct blob *b);	/* takes NULL */
void blob_unref(struct blob *b);	/* takes NULL */

/* For callbacks that take a void pointer. */
void blob_release(void *b);

#endif
