/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies a file. The copy has no name, so nobody else can reach it, and it is gone once it is closed. */
#ifndef RECORDING_PRIVATE_COPY_H
#define RECORDING_PRIVATE_COPY_H

#include "util/problem.h"

/*
 * Copies the regular file @from into a file in $TMPDIR, or /var/tmp; holes stay holes. The copy takes at most half of
 * the free space there. Returns 0, or a negative errno and a sentence with @name in it.
 */
int private_copy(int from, const char *name, int *ret_fd, struct problem *p);

/* The same into @to, on any file system. */
int private_copy_to(int from, int to, const char *name, struct problem *p);

#endif
