// SPDX-License-Identifier: GPL-2.0-only
#include "util/array.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *sparse_calloc(size_t n, size_t size)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from, to;
	char *made = calloc(n, size);

	if (!made)
		return NULL;
	from = ((uintptr_t)made + page - 1) & -page;
	to = ((uintptr_t)made + n * size) & -page;
	/* Fails only where the kernel has no huge pages at all. */
	if (from < to)
		madvise((void *)from, to - from, MADV_NOHUGEPAGE);
	return made;
}
