// SPDX-License-Identifier: GPL-2.0-only
#include "util/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#define MEMORY_MAX_BYTES (4ULL << 30)

void limits_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	/* If raising it is not allowed, the old limit stays. */
	setrlimit(RLIMIT_NOFILE, &files);
}

u64 limits_memory(void)
{
	u64 half = (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;

	return half < MEMORY_MAX_BYTES ? half : MEMORY_MAX_BYTES;
}
