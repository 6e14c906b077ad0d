/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_ARRAY_H
#define UTIL_ARRAY_H

#include <errno.h>
#include <stdlib.h>

#include "util/types.h"

/*
 * Grows a malloc()ed array to @room elements of @size bytes; @array is the address of the pointer to
 * it. Returns 0, or -ENOMEM and leaves the array as it was.
 */
static inline int array_grow(void *array, size_t size, u32 room)
{
	void **a = array, *more = reallocarray(*a, room, size);

	if (!more)
		return -ENOMEM;
	*a = more;
	return 0;
}

/* Makes room for one more element after @n; @room is how many fit. Returns as array_grow() does. */
static inline int array_more(void *array, size_t size, u32 n, u32 *room)
{
	u32 more = *room ? 2 * *room : 16;
	int err = n < *room ? 0 : array_grow(array, size, more);

	if (!err && n == *room)
		*room = more;
	return err;
}

/* The order of numbers, or of structs that begin with one, for qsort(). */
static inline int compare_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

static inline int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Like calloc(3), for a large table of which little is ever touched: it never gets huge pages. Where transparent huge
 * pages are set to "always", a single touched cell would make 2 MiB resident, and 32 or 512 MiB on arm64 with pages of
 * 16 or 64 KiB. Free it with free().
 */
void *sparse_calloc(size_t n, size_t size);

#endif
