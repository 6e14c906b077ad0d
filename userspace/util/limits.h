/* SPDX-License-Identifier: GPL-2.0-only */
/* What the system lets a process have. */
#ifndef UTIL_LIMITS_H
#define UTIL_LIMITS_H

#include "util/types.h"

/*
 * Raises the soft limit of open files to the hard one. The soft one is low for programs that call select(2), which
 * this is not; it is handed down to what is started, so that gets the former one back (live/child.c).
 */
void limits_raise_files(void);

/* What a file may make us take unless the user says otherwise: half of the memory, at most 4 GiB. */
u64 limits_memory(void);

#endif
