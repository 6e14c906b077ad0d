/* SPDX-License-Identifier: GPL-2.0-only */
/* The resources that the system lets a process have. */
#ifndef UTIL_LIMITS_H
#define UTIL_LIMITS_H

#include "util/types.h"

/*
 * Raises the soft limit of open files to the hard one. The soft limit is kept low for programs that
 * call select(2), which this one does not. Child processes would inherit the raised limit, so they are
 * given the former one (live/child.c).
 */
void limits_raise_files(void);

/* How much memory a file may make us take unless the user says otherwise: half of all memory, at most 4 GiB. */
u64 limits_memory(void);

#endif
