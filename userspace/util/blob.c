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
	b->refs = 1;
	b->len = len;
	b->data = data;
	return b;
}

struct blob *blob_ref(struct blob *b)
{
	if (b)
		b->refs++;
	return b;
}

void blob_unref(struct blob *b)
{
	if (!b || --b->refs)
		return;
	free(b->data);
	free(b);
}

void blob_release(void *b)
{
	blob_unref(b);
}
