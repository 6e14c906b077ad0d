// SPDX-License-Identifier: GPL-2.0-only
#include "util/blob.h"

#include <stdlib.h>

struct blob *blob_take(char *data, size_t len)
{
	struct blob *b = malloc(sizeof(*b));

	if (!b) {
		free(data);
		return NULL;
	}
	atomic_init(&b->refs, 1);
	b->len = len;
	b->data = data;
	return b;
}

struct blob *blob_ref(struct blob *b)
{
	if (b)
		atomic_fetch_add(&b->refs, 1);
	return b;
}

void blob_unref(struct blob *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
		return;
	free(b->data);
	free(b);
}

void blob_release(void *b)
{
	blob_unref(b);
}
