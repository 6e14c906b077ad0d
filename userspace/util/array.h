/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UTIL_ARRAY_H
#define UTIL_ARRAY_H

#include <errno.h>
#include <stdlib.h>

#include "util/types.h"

/*
 * Makes an array of malloc(), whose pointer is at @array, one of @room elements of @size bytes. Returns 0, or -ENOMEM and the array
 * is as it was.
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
