// SPDX-License-Identifier: GPL-2.0-only
#include "util/limits.h"

#include <sys/resource.h>

void limits_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	/* Where it may not be raised there are as many files as before. */
	setrlimit(RLIMIT_NOFILE, &files);
}
