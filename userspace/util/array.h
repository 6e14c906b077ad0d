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

#endif
